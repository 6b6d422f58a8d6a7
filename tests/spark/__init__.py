"""Tests that need a SparkSession: few and fat, one session for all of them."""
