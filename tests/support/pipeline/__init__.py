"""The pipeline's SQL on a small engine, and what its tables must hold: the law."""
