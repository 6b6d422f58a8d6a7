"""Batches become segments; what is published as durable is, also after the disk failed."""

import pytest

from namekeeper.journal.disk.archive import Archive
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.output import UNSYNCED_BYTES, Opened, Output, WriteBatch
from namekeeper.journal.queue.backlog import Entry, Mark
from namekeeper.journal.settings import Fsync, Limits, SegmentSettings
from namekeeper.model.now import Now
from tests.unit.journal.disk_parts import FOLDER, model_disk

IDENTITY = Identity("ns", "0123abcd-0000-4000-8000-0123456789ab")


class Rig:
    def __init__(self, **settings):
        self.disk = model_disk()
        self.disk.folders[FOLDER] = True
        self.archive = Archive(FOLDER, IDENTITY, Limits(), system=self.disk)
        self.weights = []
        opened = Opened(FOLDER, IDENTITY.namesrv, IDENTITY.uuid, 1_700_000_000_000, 0, 0)
        self.output = Output(
            opened, SegmentSettings(**settings), self.archive, written=self.weights.append, system=self.disk
        )
        self.seq = 0
        self.now = Now(0, 1_000)

    def write(self, *, size=10, records=1, mark=Mark.NONE, weight=7):
        batch = WriteBatch()
        batch.add(Entry(self.seq + 1, records, 0, 0, weight, lambda _: (), mark), [b"x" * size + b"\n"])
        self.seq += records
        self.output.write(batch, self.now)

    def advance(self, ms):
        self.now = Now(0, self.now.mono_ms + ms)
        self.output.sync_and_close_by_clock(self.now)

    def content(self):
        return {
            path.rpartition("-")[2]: self.disk.contents[number][-1]
            for path, number in self.disk.names.items()
        }


def test_a_segment_begins_with_its_first_record_and_nothing_before():
    rig = Rig()
    assert rig.content() == {}
    rig.write()
    assert list(rig.content()) == ["000000000001.jsonl.open"]
    assert (rig.output.written_seq, rig.output.durable_seq, rig.output.size, rig.weights) == (1, 0, 11, [7])


def test_the_interval_counts_from_what_has_waited_longest():
    rig = Rig(fsync_interval_ms=200)
    rig.write()
    rig.advance(150)
    rig.write()
    rig.advance(49)
    assert rig.output.durable_seq == 0
    rig.advance(1)
    assert (rig.output.durable_seq, rig.output.is_synced) == (2, True)


def test_much_is_synced_at_once_so_that_little_is_kept():
    rig = Rig()
    rig.disk.chunk = 1 << 20
    rig.write(size=UNSYNCED_BYTES)
    assert rig.output.durable_seq == 1


@pytest.mark.parametrize("fsync", list(Fsync))
def test_a_segment_is_closed_synced_when_it_is_full(fsync):
    rig = Rig(fsync=fsync, segment_bytes=100)
    rig.write(size=100)
    assert (rig.output.durable_seq, rig.output.size) == (1, 0)
    assert rig.archive.is_busy
    rig.write(records=2)
    assert "000000000002.jsonl.open" in rig.content()


def test_what_was_not_synced_is_written_again_to_a_new_segment():
    rig = Rig()
    rig.write()
    rig.output.sync()
    rig.write()
    rig.disk.room = 5
    with pytest.raises(OSError, match="No space"):
        rig.write(size=20)
    rig.output.put_away()
    rig.disk.room = None
    rig.output.write_again(rig.now)
    assert rig.content() == {
        "000000000001.jsonl.open": b"x" * 10 + b"\n",
        "000000000002.jsonl.open": b"x" * 10 + b"\n" + b"x" * 20 + b"\n",
    }
    assert rig.output.durable_seq == 3
    assert rig.weights[-1] in {0, 7}
    assert sum(rig.weights) == 21


def test_a_segment_with_nothing_sure_in_it_does_not_stand_in_the_way():
    rig = Rig()
    rig.disk.room = 5
    with pytest.raises(OSError, match="No space"):
        rig.write()
    rig.output.put_away()
    rig.output.put_away()
    rig.disk.room = None
    rig.output.write_again(rig.now)
    assert rig.content() == {"000000000001.jsonl.open": b"x" * 10 + b"\n"}


def test_never_keeps_in_the_file_what_is_written_and_writes_again_what_failed():
    rig = Rig(fsync=Fsync.NEVER)
    rig.write()
    rig.disk.room = 5
    with pytest.raises(OSError, match="No space"):
        rig.write(size=20)
    rig.output.put_away()
    rig.disk.room = None
    rig.output.write_again(rig.now)
    assert list(rig.content().values()) == [b"x" * 10 + b"\n", b"x" * 20 + b"\n"]


def test_what_can_never_be_written_is_counted_and_gives_its_room_back():
    rig = Rig()
    rig.disk.room = 5
    with pytest.raises(OSError, match="No space"):
        rig.write(records=3)
    assert rig.output.give_up() == 3
    assert rig.output.is_synced
    assert sum(rig.weights) == 7


def test_a_segment_that_vanished_is_noticed():
    rig = Rig()
    rig.output.check_segment()
    rig.write()
    rig.output.check_segment()
    rig.disk.unlink(next(iter(rig.disk.names)))
    with pytest.raises(FileNotFoundError, match="has vanished"):
        rig.output.check_segment()


def test_a_checkpoint_counts_when_its_end_is_durable():
    rig = Rig(segment_bytes=30)
    rig.write(size=40)
    rig.write(mark=Mark.CHECKPOINT_BEGIN)
    rig.write(size=40)
    rig.write(mark=Mark.CHECKPOINT_END)
    assert rig.output.checkpoint is None
    rig.output.sync()
    assert rig.output.checkpoint == (1_700_000_000_000, 2)


def test_a_checkpoint_with_a_hole_never_counts():
    rig = Rig()
    rig.write(mark=Mark.CHECKPOINT_BEGIN)
    rig.output.spoil_checkpoint()
    rig.write(mark=Mark.CHECKPOINT_END)
    rig.output.sync()
    assert rig.output.checkpoint is None
