"""The observer: follows name servers that are not ours by read requests, and keeps a journal of each."""

__all__: list[str] = []
