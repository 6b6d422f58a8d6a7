"""Keeps the changes of a server's first second: its journal is still being imported, and gets them then."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.model.now import Now
from namekeeper.route.events import Cause, Change, TopicQueuesChanged

if TYPE_CHECKING:
    from namekeeper.journal.recording.recorder import Recorder

__all__ = ["Beginning"]

MAX_NOTES = 10_000
"""Changes that may wait until the journal is loaded, which takes less than a second; it takes 0.2 s to pass
them on. A fleet that comes back makes some hundreds."""
MAX_NOTED_ROWS = 1_000_000
"""Topic rows in these changes; each takes some 64 bytes."""


class Beginning(Struct):
    """The state when the server began to listen, and the changes until the journal was loaded."""

    now: Now
    snapshot: Snapshot
    notes: "list[Callable[[Recorder], None]]" = field(default_factory=list)
    rows: int = 0
    lost: int = 0
    """Number of changes beyond the limit: none after the first of them is kept; a checkpoint records their
    result."""

    def change(self, change: Change, now: Now) -> None:
        """Keep a change.

        Restored routes are always kept: the next restart needs them. They are there from the beginning: until
        they are, the port is closed.
        """
        must = change.cause is Cause.RESTORED
        now = self.now if must else now
        rows = 0 if must else sum(len(e.after) for e in change.events if isinstance(e, TopicQueuesChanged))
        is_full = len(self.notes) >= MAX_NOTES or self.rows + rows > MAX_NOTED_ROWS
        if not must and (self.lost or is_full):
            self.lost += 1
            return
        self.rows += rows
        self.notes.append(lambda recorder: recorder.record(change, now))

    def count(self, note: "Callable[[Recorder], None]") -> None:
        """Keep something that is only counted, if there is room."""
        if len(self.notes) < MAX_NOTES // 2:
            self.notes.append(note)

    def pass_on(self, recorder: "Recorder") -> None:
        """Record what happened."""
        recorder.begin(self.now, self.snapshot)
        for note in self.notes:
            note(recorder)
        self.notes.clear()
        if self.lost:
            recorder.lose(self.lost)
