"""The history of name servers from the pipeline's facts, as their journals would give it.

A fact is a record, or a row of one, as docs/reference/warehouse.md says. Facts hold complete changes only,
and the pipeline has already found the losses and the complete checkpoints, so no record is needed only for
its position. The tables here have the names of the pipeline's queries, in `pipeline/answers/sql`:

- for times: `server_start_or_stop`, `loss`, `complete_checkpoint`, `name_server_boot`,
  `hidden_time`;
- rows of state kinds, of changes and of complete checkpoints: `recorded_` and the name of the kind.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import NamekeeperError
from namekeeper.history.rows import Rows
from namekeeper.history.sources.source import Present, Steps
from namekeeper.journal.contract.record import STATE_KINDS, Record, ServerStarted
from namekeeper.journal.contract.stated import kind_name
from namekeeper.journal.contract.table_row import record_of
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step, Stopped

__all__ = ["AskPart", "Row", "Tables", "WarehouseSource", "steps_from_facts"]

Row = Mapping[str, Any]
Tables = Mapping[str, Iterable[Row]]
"""Name of a table -> its rows; a missing table has none."""
AskPart = Callable[[str, str | None, int, int], tuple[Tables, tuple[int, int]]]
"""Returns the facts of a name server about a name (None: all) from the last complete checkpoint before a time
on, up to another (wall ms); and boot and seq of the start of this checkpoint, (0, 0): all."""

_Positioned = tuple[int, int, int, Step]
"""(boot, position, order at this position, step)."""
_AGAIN_MS = 30_000
"""How long after a failure it is tried again."""


class WarehouseSource:
    """A warehouse, as it is now; a `HistorySource`. Later runs of the pipeline are not seen.

    Args:
        ends: name server -> wall ms of its last record.
        ask: returns all facts of a name server; raises a NamekeeperError if it can't.
        ask_part: returns those of a part; raises as `ask`. One thread at a time calls either of them.
        clock: tells the present; None is the system's.
    """

    keeps_past = True

    def __init__(
        self,
        ends: Mapping[str, int],
        ask: Callable[[str], Tables],
        ask_part: AskPart,
        clock: Clock | None = None,
    ) -> None:
        self._ends, self._ask, self._ask_part = ends, ask, ask_part
        self._clock = clock or SystemClock()
        self._asking = threading.Lock()

    def namesrvs(self) -> list[str]:
        """Ids of the name servers, sorted."""
        return sorted(self._ends)

    def steps(
        self, namesrv: str, about: str | None = None, since: int | None = None, until: int | None = None, /
    ) -> Steps:
        """All steps of a name server, read in one go; or those of a part."""

        def ask() -> Tables:
            with self._asking:
                return self._ask(namesrv)

        def ask_part() -> list[Step]:
            with self._asking:
                end = self._ends[namesrv] if until is None else until
                tables, base = self._ask_part(namesrv, about, since or 0, end)
            return steps_from_facts(tables, namesrv, base)

        if about is None and since is None:
            return _FactSteps(namesrv, self._ends[namesrv], ask, self._clock)
        return _AskedSteps(ask_part)


class _AskedSteps(Steps):
    """The steps of a part.

    Args:
        ask: returns them; raises a NamekeeperError if it can't.
    """

    def __init__(self, ask: Callable[[], list[Step]]) -> None:
        self._ask = ask

    def __iter__(self) -> Iterator[Step]:
        """The steps, in order."""
        return iter(self._ask())

    def present(self, _coverage: Coverage, /) -> Present:
        """The last step says all."""
        return Present()


class _FactSteps(Steps):
    """The steps of a name server, read once."""

    def __init__(self, namesrv: str, end: int, ask: Callable[[], Tables], clock: Clock) -> None:
        self._namesrv, self._end, self._clock = namesrv, end, clock
        self._ask: Callable[[], Tables] | None = ask
        self._next_ms: int | None = None

    def __iter__(self) -> Iterator[Step]:
        """All steps, unless they were given, or could not be read a moment ago."""
        now_ms = self._clock.now().mono_ms
        if self._ask is None or (self._next_ms is not None and now_ms < self._next_ms):
            return
        try:
            steps = steps_from_facts(self._ask(), self._namesrv)
        except NamekeeperError as error:
            self._next_ms = now_ms + _AGAIN_MS
            self.problem = str(error)
            return
        self._ask, self.problem = None, ""
        for number, step in enumerate(steps):
            self.progress = (number, len(steps))
            yield step
        self.progress = (1, 1)

    def present(self, _coverage: Coverage, /) -> Present:
        """The rows are those of the last record."""
        return Present(until=None if self._ask else self._end)


def steps_from_facts(tables: Tables, namesrv: str, base: tuple[int, int] = (0, 0)) -> list[Step]:
    """The steps of one name server, in order.

    Args:
        tables: rows as described above; rows of other name servers are ignored.
        namesrv: its id.
        base: boot and seq of the start of the checkpoint to begin with.
    """
    own = {name: [row for row in rows if row["namesrv"] == namesrv] for name, rows in tables.items()}
    positioned = [*_server_steps(own), *_state_steps(own)]
    positioned.sort(key=itemgetter(0, 1, 2))
    return [step for boot, position, _, step in positioned if (boot, position) >= base]


def _server_steps(own: Mapping[str, list[Row]]) -> Iterator[_Positioned]:
    for row in own.get("name_server_boot", ()):
        yield row["boot"], 0, 0, Seen(row["boot"], 0, row["first_ts"], None)
    for row in own.get("hidden_time", ()):
        yield row["boot"], row["place"], 2, Seen(row["boot"], row["seq"], row["ts"], None)
    for row in own.get("server_start_or_stop", ()):
        boot, seq, ts = row["boot"], row["seq"], row["ts"]
        if row["kind"] == "server_started":
            observed_addr, restart = row.get("observed_addr") or "", row.get("restart") or ""
            record = ServerStarted(uuid="", server_version="", observed_addr=observed_addr, restart=restart)
            yield boot, seq, 0, Began(boot, seq, ts, record)
        else:
            yield boot, seq, 0, Stopped(boot, seq, ts)
    for row in own.get("loss", ()):
        boot, seq = row["boot"], row["first_seq"]
        yield boot, seq, 0, Lost(boot, seq, row["unknown_from"])


def _state_steps(own: Mapping[str, list[Row]]) -> Iterator[_Positioned]:
    changes: dict[tuple[int, int], list[Record]] = {}
    states: dict[tuple[int, int], list[Record]] = {}
    for kind in STATE_KINDS:
        for row in own.get(f"recorded_{kind_name(kind)}", ()):
            record = _with_envelope(record_of(kind, row), row)
            if row["checkpoint"] is None:
                changes.setdefault((row["boot"], row["change"]), []).append(record)
            else:
                states.setdefault((row["boot"], row["checkpoint"]), []).append(record)
    for (boot, _), records in changes.items():
        records.sort(key=_seq)
        last = records[-1]
        yield boot, last.seq, 1, Changed(boot, last.seq, last.ts, records)
    labels = {row["boot"]: row.get("cluster_label") or "" for row in own.get("name_server_boot", ())}
    for row in own.get("complete_checkpoint", ()):
        boot, begin = row["boot"], row["begin_seq"]
        rows = Rows()
        rows.apply(sorted(states.get((boot, begin), []), key=_seq))
        yield boot, begin, 1, CheckpointApplied(boot, begin, row["from_ts"], rows, labels.get(boot, ""))


def _with_envelope(record: Record, row: Row) -> Record:
    record.boot, record.seq, record.ts = row["boot"], row["seq"], row["ts"]
    record.cause, record.peer = row["cause"] or "", row["peer"] or ""
    record.window_ms = row.get("window_ms") or 0
    return record


def _seq(record: Record) -> int:
    return record.seq
