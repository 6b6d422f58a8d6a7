"""The prose check: `python -m tests.prose` (docs/decisions/0028)."""
