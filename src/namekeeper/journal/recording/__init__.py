"""The event loop's half of the journal: from changes, activity and checkpoints to entries of the queue."""

__all__: list[str] = []
