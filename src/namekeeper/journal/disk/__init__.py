"""The files of a journal: folder and lock, segments, recovery after a crash, retention, the writer."""

__all__: list[str] = []
