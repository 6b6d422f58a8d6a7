"""Journal folders and segments, made of records."""
