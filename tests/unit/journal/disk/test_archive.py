"""Closed segments get sealed, whatever fails on the way; the oldest sealed ones go."""

import contextlib
import os
import random

import pytest

from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.archive import Archive
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.settings import DAY_MS, Limits
from namekeeper.model.now import Now
from tests.support.system.model_os import Crash
from tests.unit.journal.disk_parts import FOLDER, model_disk
from tests.unit.journal.segment_parts import BOOT, change

IDENTITY = Identity("ns", "0123abcd-0000-4000-8000-0123456789ab")
NOW = Now(BOOT + 10 * DAY_MS, 1_000)


def name(first: int, last: int | None = None, uuid8: str = "0123abcd") -> SegmentName:
    return SegmentName(
        namesrv="ns", uuid8=uuid8, boot=BOOT, first_seq=first, last_seq=last, form=".gz" if last else ".open"
    )


@pytest.fixture
def disk():
    system = model_disk()
    system.folders[FOLDER] = True
    return system


def archive(disk, **limits) -> Archive:
    return Archive(FOLDER, IDENTITY, Limits(**limits), system=disk)


def closed(disk, first: int, data: bytes | None = None) -> SegmentName:
    disk.put(f"{FOLDER}/{name(first)}", change(first) if data is None else data)
    return name(first)


def files(disk) -> list[str]:
    return sorted(path.rpartition(f"{BOOT}-")[2] for path in disk.names)


def finish(made: Archive) -> None:
    while made.is_busy:
        made.step()


def test_a_closed_segment_is_sealed(disk):
    made = archive(disk)
    assert made.newest is None
    made.seal(closed(disk, 1), 1)
    finish(made)
    assert files(disk) == ["000000000001-000000000001.jsonl.gz"]
    assert made.newest.position == (BOOT, 1)
    assert made.size == made.newest.size > 0
    assert made.newest_ts(made.newest) == BOOT + 1


def test_segments_that_wait_to_be_sealed_count(disk):
    made = archive(disk)
    made.seal(closed(disk, 1), 1)
    assert made.size == made.waiting_bytes == len(change(1))
    made.seal(name(9), None)
    assert made.size == len(change(1)), "it has vanished"
    finish(made)
    assert (made.size, made.waiting_bytes) == (made.newest.size, 0)


def test_after_a_failure_it_is_found_out_what_is_whole(disk):
    made = archive(disk)
    made.seal(closed(disk, 1, change(1) + change(2)[:-9]), None)
    made.seal(closed(disk, 5, b"nothing"), None)
    finish(made)
    assert "000000000001-000000000001.jsonl.gz" in files(disk)
    assert len([file for file in files(disk) if file.endswith(".gz")]) == 1


def test_a_failing_disk_delays_sealing_and_loses_nothing(disk):
    made = archive(disk)
    made.seal(closed(disk, 1), 1)
    disk.room = 3
    with pytest.raises(OSError, match="No space"):
        finish(made)
    assert made.is_busy
    disk.room = None
    finish(made)
    assert files(disk) == ["000000000001-000000000001.jsonl.gz"]


def test_a_segment_that_vanished_is_given_up(disk, caplog):
    made = archive(disk)
    made.seal(name(1), 1)
    made.seal(name(2), None)
    finish(made)
    assert caplog.text.count("has vanished before it was sealed") == 2


def test_what_is_there_at_the_start_counts_if_it_is_ours(disk):
    disk.put(f"{FOLDER}/{name(1, 3)}", b"12345")
    disk.put(f"{FOLDER}/{name(4)}", b"12345")
    disk.put(f"{FOLDER}/{name(1, 3, 'ffffffff')}", b"12345")
    assert archive(disk).size == 5


def test_old_segments_go_by_age_and_it_is_recorded(disk):
    made = archive(disk, max_age_ms=DAY_MS)
    for first in (1, 2, 3):
        made.seal(closed(disk, first), first)
    finish(made)
    deleted = made.retain(NOW, checkpoint=(BOOT, 3), open_bytes=0)
    assert deleted.segments == [str(name(1, 1)), str(name(2, 2))]
    assert deleted.reason == "age"
    assert deleted.bytes > 0
    assert files(disk) == ["000000000003-000000000003.jsonl.gz"]
    assert made.needs_checkpoint
    assert made.retain(NOW, checkpoint=(BOOT + 1, 1), open_bytes=0).segments == [str(name(3, 3))]
    assert not made.needs_checkpoint
    assert made.retain(NOW, checkpoint=(BOOT + 1, 1), open_bytes=0) is None


@pytest.mark.parametrize("seed", range(20))
def test_at_every_crash_while_deleting_what_is_left_has_no_hole(seed):
    disk = model_disk()
    disk.folders |= {"/srv/journal": True, FOLDER: True}
    for first in range(1, 6):
        disk.put(f"{FOLDER}/{name(first, first)}", b"no gzip: as old as can be")
    made = archive(disk, max_age_ms=DAY_MS)
    disk.crash_at = disk.calls + seed
    with contextlib.suppress(Crash):
        made.retain(NOW, checkpoint=(BOOT, 5), open_bytes=0)
    for other in range(20):
        left = [int(file[:12]) for file in files(disk.after(random.Random(other)))]
        assert left == list(range(min(left), 6))


def test_after_a_step_of_the_clock_age_is_not_judged(disk):
    made = archive(disk, max_age_ms=DAY_MS)
    made.seal(closed(disk, 1), 1)
    finish(made)
    made.age_pause.note_step(DAY_MS * 9, NOW.mono_ms)
    assert made.retain(NOW, checkpoint=(BOOT, 3), open_bytes=0) is None
    later = Now(NOW.wall_ms, NOW.mono_ms + DAY_MS)
    assert made.retain(later, checkpoint=(BOOT, 3), open_bytes=0) is not None


def test_a_segment_without_a_readable_time_is_old(disk):
    disk.put(f"{FOLDER}/{name(1, 3)}", b"no gzip")
    assert archive(disk, max_age_ms=DAY_MS).retain(NOW, checkpoint=(BOOT, 9), open_bytes=0).segments


def test_on_a_real_disk_too(tmp_path):
    (tmp_path / str(name(1))).write_bytes(change(1))
    made = Archive(str(tmp_path), IDENTITY, Limits(), system=os)
    made.seal(name(1), 1)
    finish(made)
    assert [path.name for path in tmp_path.iterdir()] == [str(name(1, 1))]
