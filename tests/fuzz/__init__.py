"""Bounded fuzzing of every parser: `python -m tests.fuzz`.

The contract of a parser is a value or its documented error, nothing else, in bounded time.
"""
