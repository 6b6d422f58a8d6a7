"""A name server whose every change is written to a journal in memory, with everything that may go wrong.

What is true is written down beside it by the plainest means: the live tables after each change, and where a
loss was made. `tests/property/histories.py` makes random runs of it.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from namekeeper.config.runtime import RuntimeConfig
from namekeeper.journal.contract.encode import MASKED, Stamp, encode_change, encode_record, records_of
from namekeeper.journal.contract.record import (
    CheckpointEnd,
    Record,
    ServerAlive,
    ServerStarted,
    ServerStopped,
)
from namekeeper.journal.recording.checkpoint import checkpoint_records
from namekeeper.journal.recording.snapshot import take_snapshot
from namekeeper.journal.recording.weight import without_spare_rows
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.now import Now
from namekeeper.route.events import Change
from namekeeper.route.tables import RouteTables
from tests.property import laws
from tests.property.local_server import LocalServer

__all__ = ["JournalledServer", "Position", "Written", "complete_checkpoints", "losses", "shown", "unknown"]

Position = tuple[int, int]
"""Boot and seq."""

FIRST_BOOT = 1_700_000_000_000


def shown(tables: RouteTables, kv: dict[str, dict[str, str]], properties: dict[str, str]) -> dict[str, Any]:
    """What the wire can show, as plain values: without what was registered beside a row."""
    contents = laws.contents(tables)
    contents["topics"] = {
        topic: {name: effective for name, (effective, _) in rows.items()}
        for topic, rows in contents["topics"].items()
    }
    return {**contents, "kv": kv, "properties": properties}


@dataclass
class Written:
    """One line, and what it is."""

    boot: int
    seq: int
    change: int
    is_end: bool
    ts: int
    checkpoint: int
    line: bytes


@dataclass
class OpenCheckpoint:
    """A checkpoint that is being written."""

    begin: int
    rows: deque[Record]


@dataclass
class JournalledServer:
    """One name server over all its boots."""

    namesrv: str = "ns_9876"
    cluster_label: str = ""
    written: list[Written] = field(default_factory=list)
    truth: dict[Position, dict[str, Any]] = field(default_factory=dict)
    """What the live server showed when the record at this position was the last one."""
    boots: list[int] = field(default_factory=list)
    """All there were."""

    def __post_init__(self) -> None:
        self.boot = self.seq = 0
        self.ts = FIRST_BOOT
        self.up_ms = 0
        self.alive_ts = 0
        self.dropping = False
        self.checkpoint: OpenCheckpoint | None = None
        self.kv_config = KvConfigStore()
        self._config: RuntimeConfig | None = None
        self.start()

    # boots

    def start(self) -> None:
        """Begin a boot: its first records are the beginning and a whole checkpoint."""
        previous = self.written[-1] if self.written else None
        self.boot = max(self.ts, self.boot + 1)
        self.boots.append(self.boot)
        self.seq, self.up_ms = 0, 0
        self.dropping = False
        self.checkpoint = None
        self.server = LocalServer(KvConfigStore.from_text(self.kv_config.to_text()), self.changed)
        self.kv_config = self.server.state.kv_config
        started = ServerStarted(uuid="u", server_version="0", port=9876, cluster_label=self.cluster_label)
        if previous is not None:
            started.previous_boot, started.previous_seq = previous.boot, previous.seq
            started.previous_alive_ts, self.alive_ts = self.alive_ts, 0
        self.write(started)
        self.begin_checkpoint("start")
        self.go_on_with_checkpoint(10_000)

    def stop(self) -> None:
        """End in an orderly way."""
        self.dropping = False
        self.write(ServerStopped(last_seq=self.seq + 1))

    def crash(self, keep: int) -> None:
        """Die, with `keep` of this boot's lines on disk, at least the first."""
        lines = [each for each in self.written if each.boot == self.boot]
        for each in lines[max(1, keep) :]:
            self.written.remove(each)

    def crash_later(self, ms: int) -> None:
        """Die a while after the last record, with every line on disk."""
        self.ts += ms
        self.alive_ts = self.ts

    def lose(self, begin: int, end: int) -> None:
        """Lose lines of finished boots afterwards, as if a segment was gone."""
        finished = sum(each.boot < self.boot for each in self.written)
        del self.written[min(begin, finished) : min(end, finished)]

    # records

    def changed(self, change: Change) -> None:
        """Journal a change, or drop it whole."""
        count = records_of(change)
        if not count:
            return
        if self.dropping:
            self.drop(count)
            return
        lines = list(encode_change(without_spare_rows(change), self._stamp()))
        assert len(lines) == count
        begin = self.seq + 1
        for seq, line in enumerate(lines, begin):
            self._put(seq, begin, seq == begin + count - 1, line)
        self._note_truth()

    def drop(self, count: int) -> None:
        """Numbers are taken and nothing is written."""
        self.seq += count

    def alive(self) -> None:
        """A record that is no state."""
        self.write(ServerAlive(connections=1))

    def write(self, record: Record) -> None:
        """A record of its own."""
        self._put(self.seq + 1, self.seq + 1, True, encode_record(record, self._stamp()))
        self._note_truth()

    # checkpoints

    def begin_checkpoint(self, reason: str) -> None:
        """Take the state; an unfinished checkpoint is given up."""
        state = self.server.state
        snapshot = take_snapshot(
            state.tables, state.kv_config, state.config.values(), now=Now(self.ts, self.up_ms)
        )
        records = deque(checkpoint_records(snapshot, reason, self.cluster_label))
        self.write(records.popleft())
        self.checkpoint = OpenCheckpoint(self.seq, records)
        self.dropping = False

    def go_on_with_checkpoint(self, count: int) -> None:
        """Write that many of its rows."""
        checkpoint = self.checkpoint
        while checkpoint is not None and checkpoint.rows and count:
            record = checkpoint.rows.popleft()
            line = encode_record(record, self._stamp(), checkpoint=checkpoint.begin)
            self._put(self.seq + 1, self.seq + 1, True, line, checkpoint.begin)
            count -= 1
            if isinstance(record, CheckpointEnd):
                self.checkpoint = None

    # what is true

    def shown(self) -> dict[str, Any]:
        """What the live server shows."""
        state = self.server.state
        kv: dict[str, dict[str, str]] = {}
        for entry in state.kv_config.entries():
            assert entry.value is not None
            kv.setdefault(entry.namespace, {})[entry.key] = entry.value
        return shown(state.tables, kv, self._properties())

    def _properties(self) -> dict[str, str]:
        config = self.server.state.config
        if config is not self._config:
            self._config = config
            secret = ("secret", "password")
            self._shown_properties = {
                name: MASKED if any(part in name.lower() for part in secret) else value
                for name, value in config.values().items()
            }
        return self._shown_properties

    def passed(self, ms: int) -> None:
        """Time passes."""
        self.ts += ms
        self.up_ms += ms

    def lines(self) -> list[bytes]:
        """The journal."""
        return [each.line for each in self.written]

    def _stamp(self) -> Stamp:
        return Stamp(self.namesrv, self.boot, self.seq + 1, self.ts, self.up_ms)

    def _put(self, seq: int, change: int, is_end: bool, line: bytes, checkpoint: int = 0) -> None:
        self.seq = seq
        self.written.append(Written(self.boot, seq, change, is_end, self.ts, checkpoint, line))

    def _note_truth(self) -> None:
        self.truth[self.boot, self.seq] = self.shown()


def complete_checkpoints(server: JournalledServer) -> list[Position]:
    """Begins of the checkpoints of which every line is there, and every seq until their end."""
    found = []
    by_position = {(each.boot, each.seq): each for each in server.written}
    for end in server.written:
        if end.checkpoint and b'"checkpoint_end"' in end.line[:30]:
            seqs = range(end.checkpoint, end.seq + 1)
            if all((end.boot, seq) in by_position for seq in seqs):
                found.append((end.boot, end.checkpoint))
    return found


def losses(server: JournalledServer) -> list[Position]:
    """Position of the last complete change before each loss."""
    found, last = [], None
    seqs_of: dict[int, list[Written]] = {boot: [] for boot in server.boots}
    for each in server.written:
        seqs_of[each.boot].append(each)
    oldest = server.written[0]
    for boot in server.boots:
        if boot < oldest.boot:
            continue
        expected = oldest.seq if boot == oldest.boot else 1
        for each in seqs_of[boot]:
            if each.seq != expected and last is not None:
                found.append(last)
            expected = each.seq + 1
            change = range(each.change, each.seq + 1)
            if each.is_end and not each.checkpoint and set(change) <= {w.seq for w in seqs_of[boot]}:
                last = (boot, each.seq)
        is_stopped = bool(seqs_of[boot]) and b'"server_stopped"' in seqs_of[boot][-1].line[:30]
        if not is_stopped and boot != server.boots[-1] and last is not None:
            found.append(last)
    return found


def unknown(server: JournalledServer) -> list[tuple[Position, Position | None]]:
    """From the last complete change before a loss to the begin of the next whole checkpoint."""
    whole = complete_checkpoints(server)
    spans: list[tuple[Position, Position | None]] = []
    for position in losses(server):
        if not whole or position < whole[0] or (spans and (spans[-1][1] is None or position < spans[-1][1])):
            continue
        spans.append((position, next((begin for begin in whole if begin > position), None)))
    return spans
