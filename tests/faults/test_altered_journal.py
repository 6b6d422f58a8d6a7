"""One bit of a journal is altered, anywhere: no reader gives a record that was not written, and `verify` tells.

Answers that skip blocks of a segment are those of the whole journal, or notes say that something is missing.
"""

import os
import random
from pathlib import Path

import pytest

from namekeeper.answers.from_journal import JournalFolder
from namekeeper.errors import JournalError
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.record import Envelope, Record, ServerStopped
from namekeeper.journal.disk.last_boot import last_boot_path
from namekeeper.journal.reading.reader import find_segments, read_segment_lines
from namekeeper.journal.reading.verify import verify
from tests.property.histories import random_history
from tests.support.journal.folder import write_journal as write_lines
from tests.unit.journal.disk_parts import Feeder, writer_on

FLIPS = 400
SEEDS = range(4)


def write_journal(folder: Path) -> None:
    """Two boots that stopped in order; the second one's segment was not sealed."""
    for boot in range(2):
        feeder = Feeder(wall_ms=1_700_000_000_000 + boot * 1_000_000)
        writer = writer_on(os, feeder.backlog, str(folder))
        writer.step(feeder.now)
        feeder.begin(writer.opened, rows=3)
        for _ in range(8):
            feeder.change(2)
        feeder.put(ServerStopped(last_seq=feeder.seq + 1))
        writer.step(feeder.now)
        if not boot:
            writer.close(feeder.now)


def records_in(folder: Path) -> dict[tuple[int, int], Record | Envelope]:
    """Every record that a reader takes, by boot and seq."""
    reader = RecordReader()
    found = {}
    for name in find_segments(str(folder)):
        for line in read_segment_lines(str(folder), name):
            record = reader(line)
            if record is not None:
                found[record.boot, record.seq] = record
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_no_flipped_bit_changes_what_a_journal_says_unnoticed(tmp_path, seed):
    write_journal(tmp_path)
    written = records_in(tmp_path)
    assert verify(str(tmp_path)).is_complete
    rng = random.Random(seed)
    files = sorted(path for path in tmp_path.iterdir() if path.name != "lock")
    files.append(last_boot_path(str(tmp_path)))
    noticed = 0
    for _ in range(FLIPS // len(SEEDS)):
        path = rng.choice(files)
        whole = path.read_bytes()
        position = rng.randrange(len(whole))
        path.write_bytes(
            whole[:position] + bytes([whole[position] ^ 1 << rng.randrange(8)]) + whole[position + 1 :]
        )
        where = f"{path.name}, byte {position}"
        try:
            read, is_complete = records_in(tmp_path), verify(str(tmp_path)).is_complete
        except JournalError:
            read, is_complete = {}, False
        assert all(written.get(key) == record for key, record in read.items()), where
        assert not is_complete or read == written, where
        noticed += not is_complete
        path.write_bytes(whole)
    assert noticed > FLIPS // len(SEEDS) // 2


def answers_of(folder: Path) -> tuple[list[object], list[str]]:
    """What `history`, `why` and `route-at` are made of; and the notes beside it."""
    answers: list[object] = []
    notes: list[str] = []
    for ask in (
        lambda journal: journal.changes("T0", 0, 2**62),
        lambda journal: journal.evidence("T0", None, 2**62),
        lambda journal: journal.state_at(None, "T0").knowledge,
        lambda journal: dict(journal.state_at(None, "T0").state.tables.rows_of("T0")),
    ):
        journal = JournalFolder(str(folder))
        answers.append(ask(journal))
        notes += journal.notes
    return answers, notes


@pytest.mark.parametrize(
    "seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS[1:])]
)
def test_no_flipped_bit_changes_an_answer_unnoticed(tmp_path, seed):
    rng = random.Random(seed)
    lines = random_history(rng, 150).lines()
    write_lines(tmp_path, lines, per_segment=80, block_bytes=600)
    right, notes = answers_of(tmp_path)
    assert not notes
    files = sorted(tmp_path.glob("*.gz"))
    unchanged = noticed = 0
    for _ in range(FLIPS // len(SEEDS)):
        path = rng.choice(files)
        whole = path.read_bytes()
        position = rng.randrange(len(whole))
        path.write_bytes(
            whole[:position] + bytes([whole[position] ^ 1 << rng.randrange(8)]) + whole[position + 1 :]
        )
        found, notes = answers_of(tmp_path)
        assert notes or found == right, f"{path.name}, byte {position}"
        unchanged += found == right
        noticed += bool(notes)
        path.write_bytes(whole)
    assert unchanged
    assert noticed
