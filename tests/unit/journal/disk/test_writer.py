"""Whatever the disk does, the writer keeps what it can, says what is wrong, and goes on when it can."""

import logging
import os
import random

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import SegmentsDeleted
from namekeeper.journal.disk.folder import SEAL_REQUEST
from namekeeper.journal.disk.missing_file import load_missing
from namekeeper.journal.disk.writer import (
    CHECK_MS,
    ENCODE_BYTES,
    MANY_SEGMENTS,
    OPEN_AGAIN_MS,
    RETRY_MS,
    Writer,
)
from namekeeper.journal.queue.messages import CheckpointNeeded, FolderReady, FolderRefused
from namekeeper.journal.reading.reader import find_segments
from namekeeper.journal.settings import Limits, SegmentSettings, WriterSettings
from namekeeper.route.missing import MissingBroker, MissingRows
from tests.unit.journal.disk_parts import FOLDER, Feeder, files_in, model_disk, no_lock, records_in, writer_on


def seqs(disk) -> list[int]:
    return [record["seq"] for record in records_in(FOLDER, disk)]


def settle(writer, feeder) -> None:
    """Have everything that waits written and synced."""
    writer.step(feeder.now)
    writer.step(feeder.advance(200))


@pytest.fixture
def disk():
    return model_disk()


@pytest.fixture
def feeder():
    return Feeder()


def test_what_waits_is_written_at_once_and_synced_after_the_interval(disk, feeder):
    writer = writer_on(disk, feeder.backlog, fsync_interval_ms=200)
    feeder.begin()
    writer.step(feeder.now)
    assert (seqs(disk), writer.durable_seq) == ([1, 2, 3, 4], 0)
    writer.step(feeder.advance(199))
    assert writer.durable_seq == 0
    writer.step(feeder.advance(1))
    assert writer.durable_seq == 4
    assert writer.is_idle
    assert feeder.backlog.weight == 0


def test_each_change_and_each_part_of_a_large_one_is_progress(disk, feeder):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    writer.step(feeder.now)
    before = writer.progress
    feeder.change()
    writer.step(feeder.now)
    assert writer.progress == before + 1
    feeder.change(3, size=ENCODE_BYTES)
    writer.step(feeder.now)
    assert writer.progress == before + 5


def test_always_syncs_what_it_writes_and_never_waits_for_the_segment_to_end(disk, feeder):
    always = writer_on(disk, feeder.backlog, fsync="always")
    feeder.begin()
    always.step(feeder.now)
    assert always.durable_seq == 4
    always.close(feeder.now)
    other = Feeder()
    never = writer_on(disk, other.backlog, fsync="never", segment_ms=10_000)
    other.begin()
    never.step(other.now)
    never.step(other.advance(5_000))
    assert never.durable_seq == 0
    never.step(other.advance(5_000))
    assert never.durable_seq == 4


def test_a_boot_is_later_than_the_last_one_whatever_the_clock_says(disk):
    boots = []
    for wall_ms in (1_700_000_000_000, 1_600_000_000_000, 1_700_000_000_500):
        feeder = Feeder(wall_ms=wall_ms)
        writer = writer_on(disk, feeder.backlog)
        feeder.begin()
        writer.step(feeder.now)
        writer.close(feeder.now)
        boots.append((writer.opened.boot, writer.opened.previous_boot, writer.opened.previous_seq))
    assert boots == [
        (1_700_000_000_000, 0, 0),
        (1_700_000_000_001, 1_700_000_000_000, 4),
        (1_700_000_000_500, 1_700_000_000_001, 4),
    ]


def test_a_boot_has_the_time_of_its_first_record_however_late_the_disk_is(disk, feeder):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    begun = feeder.now.wall_ms
    writer.step(feeder.advance(5_000))
    assert writer.opened.boot == begun
    writer.close(feeder.now)


def test_segments_are_sealed_by_size_by_age_and_in_the_end(disk, feeder):
    writer = writer_on(disk, feeder.backlog, segment_bytes=1_000, segment_ms=60_000)
    feeder.begin()
    writer.step(feeder.now)
    feeder.change(size=1_000)
    writer.step(feeder.now)
    assert files_in(FOLDER, disk) == ["1-5"]
    feeder.change()
    writer.step(feeder.now)
    assert files_in(FOLDER, disk) == ["1-5", "6-open"]
    writer.step(feeder.advance(60_000))
    assert files_in(FOLDER, disk) == ["1-5", "6-6"]
    feeder.change()
    writer.close(feeder.now)
    assert files_in(FOLDER, disk) == ["1-5", "6-6", "7-7"]
    assert seqs(disk) == list(range(1, 8))


def test_sealing_waits_while_changes_wait_unless_there_is_much_of_it(disk, feeder, monkeypatch):
    """Compressing takes a core away from a storm of registrations."""
    sync = disk.fsync
    writer = writer_on(disk, feeder.backlog, segment_bytes=1_000)
    feeder.begin()
    writer.step(feeder.now)
    monkeypatch.setattr(disk, "fsync", lambda fd: (sync(fd), feeder.change(size=1_000))[0])
    feeder.change(size=1_000)
    for _ in range(MANY_SEGMENTS - 1):
        writer.step(feeder.now)
    assert all(name.endswith("-open") for name in files_in(FOLDER, disk))
    writer.step(feeder.now)
    assert not all(name.endswith("-open") for name in files_in(FOLDER, disk))
    monkeypatch.undo()
    writer.close(feeder.now)
    assert not any(name.endswith("-open") for name in files_in(FOLDER, disk))


def test_a_segment_is_sealed_on_request(tmp_path, feeder):
    import os

    writer = writer_on(os, feeder.backlog, str(tmp_path))
    feeder.begin()
    writer.step(feeder.now)
    (tmp_path / SEAL_REQUEST).touch()
    writer.step(feeder.advance(999))
    assert (tmp_path / SEAL_REQUEST).exists()
    writer.step(feeder.advance(1))
    assert not (tmp_path / SEAL_REQUEST).exists()
    assert files_in(tmp_path) == ["1-4"]
    writer.close(feeder.now)


def test_a_change_that_can_not_be_encoded_is_lost_alone(disk, feeder, caplog):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    feeder.put(object())
    feeder.change()
    writer.step(feeder.now)
    assert seqs(disk) == [1, 2, 3, 4, 6]
    assert writer.lost_records == 1
    assert "seq 5" in caplog.text


def test_on_a_full_disk_nothing_is_lost_that_fits_into_the_queue(disk, feeder, caplog):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    writer.step(feeder.now)
    disk.room = 100
    feeder.change(size=500)
    writer.step(feeder.advance(200))
    assert "No space left" in writer.trouble
    feeder.change()
    writer.step(feeder.advance(RETRY_MS - 1))
    assert len(feeder.backlog) == 1
    disk.room = None
    writer.step(feeder.advance(1))
    writer.step(feeder.advance(200))
    assert (writer.trouble, writer.durable_seq, writer.lost_records) == ("", 6, 0)
    writer.close(feeder.now)
    assert seqs(disk) == [1, 2, 3, 4, 5, 6]
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


def test_missing_brokers_that_a_full_disk_refused_are_written_when_there_is_room_again(disk, feeder):
    """The restart found those of before, until the next broker went."""
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    settle(writer, feeder)
    rows = MissingRows([MissingBroker("c", "10.0.0.1:10911", "broker-a", 0, 7, 1_000)], {})
    disk.room = 0
    writer.note_missing(lambda: rows)
    writer.step(feeder.advance(CHECK_MS))
    disk.room = None
    assert load_missing(FOLDER, system=disk) != rows
    writer.step(feeder.advance(CHECK_MS))
    assert load_missing(FOLDER, system=disk) == rows


def test_what_is_left_when_the_server_stops_and_the_disk_is_still_full_is_counted(disk, feeder):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    settle(writer, feeder)
    disk.room = 0
    feeder.change(3)
    writer.step(feeder.advance(200))
    feeder.change(2)
    writer.close(feeder.now)
    assert writer.lost_records == 5
    assert feeder.backlog.weight == 0


@pytest.mark.parametrize("seed", range(60))
def test_a_disk_that_fails_now_and_then_loses_nothing(disk, feeder, seed):
    chance = random.Random(seed)
    writer = writer_on(
        disk,
        feeder.backlog,
        fsync=chance.choice(["always", "interval"]),
        segment_bytes=chance.choice([400, 5_000]),
    )
    feeder.begin()
    writer.step(feeder.now)
    disk.fails = lambda: chance.random() < 0.03
    for _ in range(60):
        feeder.change(chance.randint(1, 3), chance.randint(0, 100))
        writer.step(feeder.advance(chance.choice([50, 500, RETRY_MS])))
    disk.fails = lambda: False
    writer.step(feeder.advance(RETRY_MS))
    writer.close(feeder.now)
    assert (writer.trouble, writer.lost_records) == ("", 0)
    assert sorted(set(seqs(disk))) == list(range(1, feeder.seq + 1))
    after = disk.after(chance)
    assert set(seqs(after)) >= set(range(1, writer.durable_seq + 1))
    assert not any(name.is_open for name in find_segments(FOLDER, system=after))


def test_a_folder_that_vanished_is_made_anew_with_its_identity_and_asks_for_a_checkpoint(disk, feeder):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    settle(writer, feeder)
    identity = writer.opened
    for path in list(disk.names):
        disk.unlink(path)
    del disk.folders[FOLDER]
    feeder.change()
    writer.step(feeder.advance(1_000))
    assert "vanished" in writer.trouble
    writer.step(feeder.advance(RETRY_MS))
    assert writer.trouble == ""
    assert list(writer.messages) == [CheckpointNeeded("recovery")]
    writer.step(feeder.advance(200))
    writer.close(feeder.now)
    assert seqs(disk) == [5]
    assert find_segments(FOLDER, system=disk)[0].uuid8 == identity.uuid[:8]


def test_a_segment_that_was_deleted_asks_for_a_checkpoint(disk, feeder):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    settle(writer, feeder)
    (name,) = find_segments(FOLDER, system=disk)
    disk.unlink(f"{FOLDER}/{name}")
    writer.step(feeder.advance(1_000))
    writer.step(feeder.advance(RETRY_MS))
    assert list(writer.messages) == [CheckpointNeeded("recovery")]
    feeder.change()
    writer.close(feeder.advance(200))
    assert writer.trouble == ""
    assert seqs(disk) == [5]


def test_a_folder_that_became_another_journal_is_refused(disk, feeder):
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    settle(writer, feeder)
    disk.put(f"{FOLDER}/identity.json", b'{"namesrv":"other","uuid":"00000000-0000-4000-8000-000000000000"}')
    disk.room = 0
    feeder.change()
    writer.step(feeder.advance(200))
    disk.room = None
    writer.step(feeder.advance(RETRY_MS))
    assert "replaced by a journal of other" in writer.trouble
    assert list(writer.messages) == [FolderRefused()]
    assert writer.durable_seq == 0
    assert writer.lost_records == 1


class Locked:
    """A folder that somebody else has, until they let go."""

    is_locked = True

    def __call__(self, path):
        if self.is_locked:
            raise JournalError(f"{path} is in use by process 7")
        return lambda: None


def test_a_locked_folder_is_refused_and_tried_again(disk, feeder, caplog):
    lock = Locked()
    writer = Writer(WriterSettings(folder=FOLDER, namesrv="ns"), feeder.backlog, lock=lock, system=disk)
    feeder.begin()
    writer.step(feeder.now)
    assert writer.trouble == f"{FOLDER} is in use by process 7"
    assert (list(writer.messages), writer.lost_records, len(feeder.backlog)) == ([FolderRefused()], 4, 0)
    feeder.change()
    writer.step(feeder.advance(OPEN_AGAIN_MS - 1))
    assert writer.lost_records == 5
    lock.is_locked = False
    with caplog.at_level(logging.INFO):
        writer.step(feeder.advance(1))
    assert writer.trouble == ""
    assert list(writer.messages) == [FolderRefused(), FolderReady()]
    feeder.change()  # of the old beginning
    feeder.begin()
    writer.step(feeder.advance(200))
    writer.close(feeder.now)
    assert seqs(disk) == [1, 2, 3, 4]
    assert writer.lost_records == 6
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


def test_retention_deletes_the_oldest_tells_it_and_never_what_the_checkpoint_needs(disk, feeder):
    writer = writer_on(
        disk,
        feeder.backlog,
        limits=Limits(max_bytes=1_000, max_age_ms=1 << 60),
        segment_bytes=100,
        fsync="always",
    )
    feeder.begin()
    for _ in range(20):
        feeder.change()
        writer.step(feeder.advance(200))
    assert files_in(FOLDER, disk)[0] == "1-5"
    assert CheckpointNeeded("retention") in writer.messages
    assert not any(isinstance(news, SegmentsDeleted) for news in writer.messages)
    position = feeder.checkpoint()
    writer.step(feeder.advance(200))
    deleted = [news for news in writer.messages if isinstance(news, SegmentsDeleted)]
    assert [SegmentName.parse(file).first_seq for news in deleted for file in news.segments][:2] == [1, 6]
    assert {news.reason for news in deleted} == {"size"}
    assert (
        all(int(name.partition("-")[0]) >= position - 3 for name in files_in(FOLDER, disk))
        or writer.disk_bytes <= 1_000
    )


def test_breath_is_taken_between_long_changes(disk, feeder):
    breaths = []
    writer = Writer(
        WriterSettings(folder=FOLDER, namesrv="ns", segments=SegmentSettings()), feeder.backlog,
        pause=lambda: breaths.append(1), lock=no_lock, system=disk,
    )  # fmt: skip
    feeder.begin()
    feeder.change(rows=5, size=50_000)
    writer.step(feeder.now)
    assert len(breaths) == 5
    writer.close(feeder.now)


def test_an_identity_that_was_removed_is_noticed_and_written_again(tmp_path, feeder):
    writer = writer_on(os, feeder.backlog, str(tmp_path))
    feeder.begin()
    settle(writer, feeder)
    identity = (tmp_path / "identity.json").read_bytes()
    (tmp_path / "identity.json").unlink()
    writer.step(feeder.advance(1_000))
    assert "identity.json has vanished" in writer.trouble
    writer.step(feeder.advance(RETRY_MS))
    assert writer.trouble == ""
    assert (tmp_path / "identity.json").read_bytes() == identity
    feeder.change()
    writer.close(feeder.advance(200))
    again = writer_on(os, Feeder().backlog, str(tmp_path))
    again.step(feeder.now)
    assert (again.opened.uuid, again.opened.previous_seq) == (writer.opened.uuid, 5)


def test_segments_that_are_not_sealed_count_and_are_sealed_however_much_waits(disk, feeder, monkeypatch):
    monkeypatch.setattr("namekeeper.journal.disk.writer.STEP_BYTES", 1_000)
    limits = Limits(max_bytes=20_000, max_age_ms=1 << 60)
    writer = writer_on(disk, feeder.backlog, limits=limits, segment_bytes=1_000, fsync="always")
    feeder.begin()
    largest = 0
    for number in range(200):
        for _ in range(3):  # more than is written in a step
            feeder.change(size=500)
        if number % 20 == 0:
            feeder.checkpoint()
        writer.step(feeder.advance(1_000))
        there = sum(disk.stat(f"{FOLDER}/{name}").st_size for name in find_segments(FOLDER, system=disk))
        assert writer.disk_bytes <= there + 2_000
        largest = max(largest, there)
    assert len(feeder.backlog) > 100
    assert largest < 30_000
    assert any(isinstance(news, SegmentsDeleted) for news in writer.messages)


def test_a_folder_that_retention_can_not_keep_small_loses_records_until_a_checkpoint_begins(
    disk, feeder, monkeypatch, caplog
):
    monkeypatch.setattr("namekeeper.journal.disk.writer.SPARE_BYTES", 0)
    limits = Limits(max_bytes=2_000, max_age_ms=1 << 60)
    writer = writer_on(disk, feeder.backlog, limits=limits, segment_bytes=1_000, fsync="always")
    feeder.begin()
    for _ in range(200):
        feeder.change(size=500)
        writer.step(feeder.advance(1_000))
    assert writer.lost_records > 100
    assert writer.disk_bytes < 10_000
    assert "records are lost until it is smaller" in caplog.text
    lost = writer.lost_records
    feeder.checkpoint()
    feeder.change()
    settle(writer, feeder)
    assert writer.lost_records == lost
    assert seqs(disk)[-1] == feeder.seq


def test_a_segment_that_was_altered_before_it_was_sealed_is_not_sealed_as_it_is(tmp_path, feeder):
    writer = writer_on(os, feeder.backlog, str(tmp_path))
    feeder.begin()
    feeder.change()
    settle(writer, feeder)
    (path,) = tmp_path.glob("*.open")
    path.write_bytes(path.read_bytes().replace(b'"cluster":"c4.0"', b'"cluster":"c4.1"'))
    (tmp_path / SEAL_REQUEST).touch()
    for _ in range(5):
        writer.step(feeder.advance(1_000))
    assert [record["seq"] for record in records_in(tmp_path)] == [1, 2, 3, 4]
    assert len(list((tmp_path / "quarantine").iterdir())) == 1
    assert CheckpointNeeded("recovery") in writer.messages
