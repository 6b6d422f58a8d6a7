"""Incidents out of journals."""
