"""At whatever step the machine dies, what was published as durable is in the journal, and it is whole.

The disk is a model that loses unsynced data and unsynced names, each by itself. Writing, sealing, recovery and
retention run on it together, through several boots.
"""

import random

import pytest

from namekeeper.journal.contract.lines import read_envelope, split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope
from namekeeper.journal.disk.last_boot import load_last_boot
from namekeeper.journal.disk.segment import read_segment
from namekeeper.journal.reading.reader import find_segments
from namekeeper.journal.settings import Limits
from tests.support.system.model_os import Crash, ModelOs
from tests.unit.journal.disk_parts import FOLDER, Feeder, model_disk, records_in, writer_on

SEEDS = range(60)
BOOTS = 4


class History:
    """What happened, over several boots on one disk."""

    def __init__(self, seed: int, disk: ModelOs | None = None, limits: Limits | None = None) -> None:
        self.chance = random.Random(seed)
        self.disk = disk or model_disk(chunk=self.chance.choice([61, 400, 4096]))
        self.limits = limits or Limits()
        self.durable: dict[int, int] = {}
        """Boot -> what was published last."""
        self.wall_ms = 1_700_000_000_000
        self.deleted_up_to = (0, 0)

    def live(self) -> None:
        """One boot: some work, then the machine dies in the middle of it."""
        chance = self.chance
        self.disk.crash_at = self.disk.calls + int(chance.expovariate(1 / 60))
        self.wall_ms += chance.randint(-50_000, 500_000)
        feeder = Feeder(wall_ms=self.wall_ms)
        writer = writer_on(
            self.disk, feeder.backlog, limits=self.limits,
            fsync=chance.choice(["always", "interval", "interval", "never"]),
            segment_bytes=chance.choice([500, 2_000, 1 << 20]), segment_ms=chance.choice([1_000, 100_000]),
        )  # fmt: skip
        feeder.begin()
        try:
            for _ in range(40):
                for _ in range(chance.randint(0, 3)):
                    feeder.change(chance.randint(1, 3), chance.randint(0, 200))
                if chance.random() < 0.1:
                    feeder.checkpoint()
                writer.step(feeder.advance(chance.choice([10, 150, 700, 700_000])))
                self._publish(writer)
            writer.close(feeder.now)
            self._publish(writer)
        except Crash:
            self._publish(writer)
        self.disk = self.disk.after(chance)

    def _publish(self, writer) -> None:
        if writer.opened is not None and writer.durable_seq:
            self.durable[writer.opened.boot] = writer.durable_seq


def check(history: History) -> None:
    """What was durable is there: with retention, from the oldest complete checkpoint on."""
    found: dict[int, list[int]] = {}
    for record in records_in(FOLDER, history.disk):
        found.setdefault(record["boot"], []).append(record["seq"])
    oldest = min(found, default=0)
    for boot, durable in history.durable.items():
        if boot < oldest:
            continue  # retention, which only some histories have
        seqs = set(found.get(boot, ()))
        first = min(seqs) if boot == oldest and history.limits != Limits() else 1
        assert set(range(first, durable + 1)) <= seqs, (boot, durable)


def check_last_boot(disk: ModelOs) -> None:
    """What is noted beside the folder was on disk before, so that nobody misses what never was there."""
    last = load_last_boot(FOLDER, system=disk)
    if last is not None:
        found = max(((record["boot"], record["seq"]) for record in records_in(FOLDER, disk)), default=(0, 0))
        assert (0, 0) < (last.boot, last.seq) <= found


def check_segments(disk: ModelOs) -> None:
    """Sealed segments are whole: they hold what their names say, in whole changes."""
    for name in (SegmentName.parse(path.rpartition("/")[2]) for path in disk.names):
        if name is None or name.is_open:
            continue
        envelopes = [read_envelope(line) for line in split_lines(read_segment(FOLDER, name, system=disk))]
        assert all(isinstance(envelope, Envelope) for envelope in envelopes)
        assert (envelopes[0].seq, envelopes[-1].seq) == (name.first_seq, name.last_seq)
        assert envelopes[0].seq == envelopes[0].change
        assert envelopes[-1].end


def check_history(seed: int, disk: ModelOs | None = None, limits: Limits | None = None) -> None:
    history = History(seed, disk, limits)
    for _ in range(BOOTS):
        history.live()
        check(history)
        check_segments(history.disk)
        check_last_boot(history.disk)
    feeder = Feeder(wall_ms=history.wall_ms + 1_000_000)
    writer = writer_on(history.disk, feeder.backlog)
    feeder.begin()
    writer.step(feeder.now)
    writer.close(feeder.now)
    check(history)
    assert not any(name.is_open for name in find_segments(FOLDER, system=history.disk))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_published_as_durable_survives(seed):
    check_history(seed)


class WithoutFsyncOfFiles(ModelOs):
    """A journal that never syncs its files."""

    def fsync(self, fd: int) -> None:
        if self.open_files[fd][1] is None:
            super().fsync(fd)


class WithoutFsyncOfFolders(ModelOs):
    """A journal that never syncs its folder."""

    def fsync(self, fd: int) -> None:
        if self.open_files[fd][1] is not None:
            super().fsync(fd)


@pytest.mark.parametrize("kind", [WithoutFsyncOfFiles, WithoutFsyncOfFolders])
def test_the_model_finds_what_a_missing_fsync_loses(kind):
    def is_found(seed: int) -> bool:
        disk = kind(chunk=400)
        disk.folders |= {"/srv": True}
        try:
            check_history(seed, disk)
        except (AssertionError, IndexError):
            return True
        return False

    assert any(is_found(seed) for seed in range(10))


SMALL = Limits(max_bytes=900, max_age_ms=3_600_000)


@pytest.mark.parametrize("seed", range(40))
def test_with_retention_a_complete_checkpoint_is_always_there(seed):
    history = History(seed, limits=SMALL)
    for _ in range(BOOTS):
        history.live()
        check_segments(history.disk)
        check_last_boot(history.disk)
        check_replayable(history)


def check_replayable(history: History) -> None:
    """If a complete checkpoint was ever durable, the folder holds one, and everything after it that was."""
    records = records_in(FOLDER, history.disk)
    begins = [
        (end["boot"], end["checkpoint"])
        for end in records
        if end["kind"] == "checkpoint_end" and _is_complete(records, end)
    ]
    if any(seq >= 4 for seq in history.durable.values()):
        assert begins
        check_from(history, records, min(begins))


def _is_complete(records: list[dict], end: dict) -> bool:
    span = range(end["checkpoint"], end["seq"] + 1)
    return {r["seq"] for r in records if r["boot"] == end["boot"]} >= set(span)


def check_from(history: History, records: list[dict], position: tuple[int, int]) -> None:
    boot, seq = position
    for one, durable in history.durable.items():
        if one >= boot:
            found = {record["seq"] for record in records if record["boot"] == one}
            assert set(range(seq if one == boot else 1, durable + 1)) <= found
