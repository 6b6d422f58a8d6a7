"""Tests of the pipeline without Spark."""
