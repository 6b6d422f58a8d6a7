"""Records in the order of their seq -> what happened, in the order of the journal (docs/decisions/0011).

The order of the journal is (boot, coalesce(checkpoint, seq), seq): a complete checkpoint counts at the
position of its start, although its rows come later, with other changes between them. So the steps after a
start wait until the checkpoint is complete or can't be completed. A change without its end does not count at
all.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from namekeeper.journal.contract.blocks import BlockSummary
from namekeeper.journal.contract.record import (
    STATE_KINDS,
    CheckpointBegin,
    CheckpointEnd,
    Envelope,
    Record,
    ServerStarted,
    ServerStopped,
)
from namekeeper.journal.contract.skipped import SkippedRecords
from namekeeper.journal.reading.open_checkpoint import CheckpointRows, OpenCheckpoint
from namekeeper.journal.reading.state import State

__all__ = [
    "AnyRecord",
    "Began",
    "Changed",
    "CheckpointApplied",
    "FoundRecord",
    "Lost",
    "Seen",
    "Step",
    "StepMaker",
    "Stopped",
    "steps",
]

CHANGE_RECORDS_LIMIT = 1_000_000
"""Records of a change that has no end yet; with more it counts as lost. A KV configuration has 340,000."""
LATER_RECORDS_LIMIT = 1_000_000
"""Records that wait for the end of a checkpoint; with more it counts as one without an end. As many as
a change may have."""

AnyRecord: TypeAlias = Record | Envelope
FoundRecord: TypeAlias = AnyRecord | SkippedRecords | BlockSummary
"""The result of a reader: a record, or a value that stands for many."""


class Step(Struct):
    """Something that happened, at one position of the order."""

    boot: int
    seq: int
    """Seq of its last record; for a checkpoint, seq of its `checkpoint_begin`."""
    ts: int
    """Wall ms, as written."""


class Began(Step):
    """A boot began: nobody is registered."""

    record: ServerStarted


class Stopped(Step):
    """A boot ended in an orderly way."""


class Changed(Step):
    """A complete change."""

    records: list[Record]
    """Records of the step, except those whose envelope alone was read."""


class CheckpointApplied(Step):
    """A complete checkpoint: it replaces the state at this position."""

    state: Any
    """The `CheckpointRows` that the maker of the steps was told to make."""
    cluster_label: str = ""
    """Label of the cluster that the name server belongs to; empty: none."""


class Lost(Step):
    """Records after this position, that of the last complete change, are lost.

    Its `ts` is that of this change; after a crash it is when the server still ran, if that is later.
    """


class Seen(Step):
    """Any other record: it shows that the journal reaches this position."""

    record: AnyRecord | None
    """None: only its position is known."""


def steps(records: Iterable[FoundRecord], make_state: Callable[[], CheckpointRows] = State) -> Iterator[Step]:
    """The steps of one name server.

    Args:
        records: sorted by (boot, seq); a record that is there twice counts once.
        make_state: makes the empty state of a checkpoint.
    """
    history = StepMaker(make_state)
    for record in records:
        yield from history.follow(record)
    yield from history.finish()


class StepMaker:
    """Makes steps of records that come in parts, as from a journal that is being written.

    Args:
        make_state: makes the empty state of a checkpoint.
    """

    def __init__(self, make_state: Callable[[], CheckpointRows] = State) -> None:
        self._make_state = make_state
        self._boot = self._seq = 0
        self._last: Step | None = None
        """Position of the last complete change, not of rows of checkpoints."""
        self._partial: list[AnyRecord] = []
        self._checkpoint: OpenCheckpoint | None = None
        self._later: list[Step] = []
        """Steps since that checkpoint began; they count after it."""
        self._later_records = 0
        self._knows = False
        """Whether the state is known, by a complete checkpoint of this boot and all changes since: the rows
        of the next one say nothing new."""

    def follow(self, found: FoundRecord) -> list[Step]:
        """The steps that are certain after this result of a reader."""
        if isinstance(found, SkippedRecords):
            return self.skip(found)
        if isinstance(found, BlockSummary):
            return self.skip_block(found)
        return self.take(found)

    def take(self, record: AnyRecord) -> list[Step]:
        """The steps that are certain after `record`."""
        if (record.boot, record.seq) <= (self._boot, self._seq):
            return []
        happened: list[Step] = []
        if record.boot != self._boot:
            self._end_boot(record, happened)
        elif record.seq != self._seq + 1:
            self._lose(happened)
        self._boot, self._seq = record.boot, record.seq
        if type(record) is Envelope and self._is_own_change(record):
            self._add_step(_seen(record), happened)  # the usual case, so it takes the shortest way
        else:
            self._collect(record, happened)
        return happened

    def skip(self, skipped: SkippedRecords) -> list[Step]:
        """The steps that are certain after skipped records; the first and last one stand for all."""
        last = skipped.last
        happened = self.take(skipped.first)
        if (last.boot, last.seq) > (self._boot, self._seq):
            if self._partial:
                self._lose(happened)
            self._seq = last.seq
            self._add_step(_seen(last), happened)
        return happened

    def can_skip(self, block: BlockSummary, boot: int) -> bool:
        """Whether the records of a block follow the last one, and say nothing that is not known."""
        if (boot, block.first) != (self._boot, self._seq + 1) or self._partial:
            return False
        checkpoint = self._checkpoint
        return not block.rows or (
            self._knows and checkpoint is not None and checkpoint.begin.seq == block.checkpoint
        )

    def skip_block(self, block: BlockSummary) -> list[Step]:
        """The steps that are certain after a block for which `can_skip` is true."""
        happened: list[Step] = []
        self._seq = block.last
        if block.rows:
            assert self._checkpoint is not None
            self._checkpoint.skip(block.rows)
        if block.kinds:
            for ts in (block.first_ts, block.last_ts):
                self._add_step(Seen(self._boot, block.last, ts, None), happened)
        return happened

    def _collect(self, record: AnyRecord, happened: list[Step]) -> None:
        """Collect the records of a change, until it is complete."""
        if record.change == record.seq:
            if self._partial:
                self._lose(happened)
            self._partial.append(record)
        elif self._partial and self._partial[0].seq == record.change:
            self._partial.append(record)
            if len(self._partial) > CHANGE_RECORDS_LIMIT:
                self._lose(happened)
        else:
            happened.append(_seen(record))  # the beginning of its change is lost
        if record.end and self._partial:
            change, self._partial = self._partial, []
            self._complete(change, happened)

    def finish(self) -> list[Step]:
        """The steps that waited; a last change without end may be unfinished, and is not a loss."""
        happened: list[Step] = []
        self._give_up_checkpoint(happened)
        return happened

    def _end_boot(self, first: AnyRecord, happened: list[Step]) -> None:
        """Decide by the first record of the next boot whether a boot lost records at its end."""
        last = self._last
        is_complete = isinstance(last, Stopped) and last.seq == self._seq and first.seq == 1
        if is_complete and isinstance(first, ServerStarted):
            is_complete = first.previous_boot <= self._boot
        self._knows = False
        if is_complete:
            self._give_up_checkpoint(happened)
        else:
            self._lose(happened, self._ran_until(first))

    def _ran_until(self, first: AnyRecord) -> int:
        """Time until which the ended boot ran without a record, as the next boot reports; 0: not known."""
        if not isinstance(first, ServerStarted):
            return 0
        is_after = (first.previous_boot, first.previous_seq) == (self._boot, self._seq)
        return first.previous_alive_ts if is_after else 0

    def _lose(self, happened: list[Step], ran_until: int = 0) -> None:
        self._knows = False
        self._give_up_checkpoint(happened)
        if self._last is not None:
            happened.append(Lost(self._last.boot, self._last.seq, max(self._last.ts, ran_until)))
        happened += map(_seen, self._partial)
        self._partial.clear()

    def _give_up_checkpoint(self, happened: list[Step]) -> None:
        checkpoint, self._checkpoint = self._checkpoint, None
        if checkpoint is not None:
            happened.append(_seen(checkpoint.begin))
            self._pass_on_later(happened)

    def _complete(self, change: list[AnyRecord], happened: list[Step]) -> None:
        first = change[0]
        if first.checkpoint:
            for record in change:
                self._add_to_checkpoint(record, happened)
            return
        if isinstance(first, CheckpointBegin):
            self._last = _step_of(change)
            self._give_up_checkpoint(happened)
            self._checkpoint = OpenCheckpoint(first, self._make_state())
        else:
            self._add_step(_step_of(change), happened)

    def _is_own_change(self, record: AnyRecord) -> bool:
        """Whether a record is a change of its own, outside of a checkpoint."""
        return record.end and record.change == record.seq and not record.checkpoint and not self._partial

    def _add_step(self, step: Step, happened: list[Step]) -> None:
        self._last = step
        if self._checkpoint is None:
            happened.append(step)
            return
        self._later.append(step)
        self._later_records += len(step.records) if isinstance(step, Changed) else 1
        if self._later_records > LATER_RECORDS_LIMIT:
            self._give_up_checkpoint(happened)

    def _pass_on_later(self, happened: list[Step]) -> None:
        happened += self._later
        self._later.clear()
        self._later_records = 0

    def _add_to_checkpoint(self, record: AnyRecord, happened: list[Step]) -> None:
        checkpoint = self._checkpoint
        if checkpoint is None or record.checkpoint != checkpoint.begin.seq:
            return
        if not isinstance(record, CheckpointEnd):
            checkpoint.add(record)
            return
        if not checkpoint.is_completed_by(record):
            self._give_up_checkpoint(happened)
            return
        self._checkpoint = None
        self._knows = True
        begin = checkpoint.begin
        position = begin.boot, begin.seq, begin.ts
        # Where rows were skipped, they say what is known.
        happened.append(
            Seen(*position, None)
            if checkpoint.is_skipped
            else CheckpointApplied(*position, checkpoint.state, begin.cluster_label)
        )
        self._pass_on_later(happened)


def _step_of(change: list[AnyRecord]) -> Step:
    first, last = change[0], change[-1]
    if isinstance(first, ServerStarted):
        return Began(last.boot, last.seq, last.ts, first)
    if isinstance(first, ServerStopped):
        return Stopped(last.boot, last.seq, last.ts)
    records = [record for record in change if isinstance(record, Record)]
    if records and isinstance(records[0], STATE_KINDS):
        return Changed(last.boot, last.seq, last.ts, records)
    return _seen(last)


def _seen(record: AnyRecord) -> Seen:
    return Seen(record.boot, record.seq, record.ts, record)
