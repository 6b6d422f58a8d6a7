"""Reads what people read: Markdown, comments, names."""
