"""The broker's side measured: what a large registration costs, and what a large fleet takes."""
