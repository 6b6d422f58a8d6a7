"""The history of a name server out of the tables of the pipeline: read once, later runs are not seen."""

import threading

from namekeeper.answers.from_facts import steps_from_facts
from namekeeper.answers.row_versions import RowVersions
from namekeeper.clock import Clock, SystemClock
from namekeeper.console.histories import Followed, HistoryLock
from namekeeper.pipeline.answers.queries import AnswerTables
from namekeeper.pipeline.answers.recorded import recorded_everything
from namekeeper.pipeline.answers.topics import knowledge
from namekeeper.pipeline.errors import PipelineError

__all__ = ["WarehouseHistory", "warehouse_histories"]

_STEPS_AT_ONCE = 500
"""So many steps are applied before whoever asks gets an answer."""
_AGAIN_MS = 30_000
"""How long after a failure it is tried again."""


def warehouse_histories(tables: AnswerTables, clock: Clock | None = None) -> list["WarehouseHistory"]:
    """The histories of all name servers in a warehouse.

    Args:
        tables: its tables; asked by one thread at a time.
        clock: tells the present.

    Raises:
        PipelineError: the tables can't be read.
    """
    asking = threading.Lock()
    return [
        WarehouseHistory(row["namesrv"], row["knows_up_to"], tables, asking, clock or SystemClock())
        for row in knowledge(tables, 0)
    ]


class WarehouseHistory:
    """The history of a name server as the tables have it.

    Args:
        namesrv: its id.
        knows_up_to: wall ms of its last record.
        tables: the open tables of the warehouse.
        asking: held while they are asked.
        clock: tells the present.
    """

    def __init__(
        self, namesrv: str, knows_up_to: int, tables: AnswerTables, asking: threading.Lock, clock: Clock
    ) -> None:
        self.followed = Followed(RowVersions(namesrv))
        self._knows_up_to = knows_up_to
        self._tables: AnswerTables | None = tables
        self._asking = asking
        self._clock = clock
        self._next_ms: int | None = None

    def begin(self, _lock: HistoryLock, /) -> bool:
        """Show nothing: its tables are read in one go."""
        return False

    def read(self, lock: HistoryLock) -> bool:
        """Read everything, if that was not done; returns whether anything that is shown has changed.

        Args:
            lock: held while the history is changed; it is let go in between.
        """
        now_ms = self._clock.now().mono_ms
        if self._tables is None or (self._next_ms is not None and now_ms < self._next_ms):
            return False
        versions = self.followed.versions
        try:
            with self._asking:
                rows = recorded_everything(self._tables, versions.namesrv)
        except PipelineError as error:
            self._next_ms = now_ms + _AGAIN_MS
            self.followed.problem = str(error)
            return True
        steps = steps_from_facts(rows, versions.namesrv)
        for first in range(0, len(steps), _STEPS_AT_ONCE):
            with lock:
                for step in steps[first : first + _STEPS_AT_ONCE]:
                    versions.take(step)
                self.followed.progress = (first, len(steps))
        with lock:
            versions.extend(self._knows_up_to)
            self.followed.progress = (1, 1)
            self.followed.problem = ""
        self._tables = None
        return True
