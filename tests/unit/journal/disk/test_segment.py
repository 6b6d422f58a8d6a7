"""Segments are whole when they show; what was synced survives, whenever the machine dies."""

import gzip
import itertools
import os
import zlib

import pytest

from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.segment import OpenSegment, SealedCopy, read_segment, sealing
from tests.support.system.model_os import Crash, ModelOs

NAME = SegmentName(namesrv="ns", uuid8="0" * 8, boot=1, first_seq=1)
SEALED = SegmentName(namesrv="ns", uuid8="0" * 8, boot=1, first_seq=1, last_seq=9, form=".gz")
FOLDER = "/srv"
LINES = b"".join(b'{"seq":%d}\n' % number for number in range(1, 10))


def disk(chunk: int = 32) -> ModelOs:
    system = ModelOs(chunk=chunk)
    system.folders["/srv"] = True
    return system


def whole(system: ModelOs) -> ModelOs:
    """A closed segment, synced."""
    segment = OpenSegment(FOLDER, NAME, system=system)
    segment.write(LINES)
    segment.sync()
    segment.close()
    return system


def content(system, name: SegmentName) -> bytes:
    return b"".join(read_segment(FOLDER, name, system=system))


def test_what_was_synced_is_there_after_a_crash_and_so_is_its_name():
    system = disk()
    segment = OpenSegment(FOLDER, NAME, system=system)
    segment.write(b"one\n")
    segment.sync()
    segment.write(b"two\n")
    assert (segment.size, segment.synced_size) == (8, 4)
    found = system.after_crash(f"{FOLDER}/{NAME}")
    assert found == {b"one\n", b"one\ntwo\n"}


def test_an_abandoned_segment_keeps_what_is_sure():
    system = disk()
    segment = OpenSegment(FOLDER, NAME, system=system)
    segment.write(b"one\n")
    segment.sync()
    segment.write(b"two\n")
    segment.abandon(segment.synced_size)
    assert content(system, NAME) == b"one\n"
    assert system.open_files == {}
    segment.close()


def test_a_segment_knows_when_its_file_is_gone_or_another():
    system = disk()
    segment = OpenSegment(FOLDER, NAME, system=system)
    assert segment.is_there()
    system.unlink(f"{FOLDER}/{NAME}")
    assert not segment.is_there()
    OpenSegment(FOLDER, NAME, system=system)
    assert not segment.is_there()


def test_nothing_is_ever_appended_to_a_file_that_is_there():
    system = whole(disk())
    with pytest.raises(FileExistsError):
        OpenSegment(FOLDER, NAME, system=system)


def test_a_sealed_segment_has_the_same_content_under_its_last_name():
    system = whole(disk())
    for _ in sealing(FOLDER, NAME, 9, system=system):
        pass
    assert [path.rpartition("/")[2] for path in system.names] == [str(SEALED)]
    assert content(system, SEALED) == LINES
    assert gzip.decompress(b"".join(system.contents[system.names[f"{FOLDER}/{SEALED}"]][-1:])) == LINES


def test_at_every_crash_while_sealing_one_of_the_two_is_whole():
    for step in itertools.count():
        system = whole(disk())
        system.crash_at = system.calls + step
        try:
            for _ in sealing(FOLDER, NAME, 9, system=system):
                pass
            died = False
        except Crash:
            died = True
        is_open_whole = system.after_crash(f"{FOLDER}/{NAME}") == {LINES}
        sealed = system.after_crash(f"{FOLDER}/{SEALED}")
        assert is_open_whole or (None not in sealed and len(sealed) == 1)
        if not died:
            return


class Full(ModelOs):
    def write(self, fd, data, /):
        raise OSError(28, "No space left on device")


def test_on_a_full_disk_the_open_segment_stays_and_the_copy_goes():
    system = whole(disk())
    system.__class__ = Full
    with pytest.raises(OSError, match="No space"):
        for _ in sealing(FOLDER, NAME, 9, system=system):
            pass
    assert list(system.names) == [f"{FOLDER}/{NAME}"]
    assert system.open_files == {}


def test_a_copy_that_a_crash_left_is_no_obstacle():
    system = whole(disk())
    SealedCopy(FOLDER, NAME, system=system).add(b"x" * 100)
    copy = SealedCopy(FOLDER, NAME, system=system)
    copy.add(LINES)
    assert copy.finish(9) == SEALED
    copy.abandon()
    assert content(system, SEALED) == LINES


def test_a_large_segment_is_sealed_in_steps(tmp_path):
    segment = OpenSegment(str(tmp_path), NAME)
    segment.write(os.urandom(1 << 20).hex().encode() + b"\n")
    segment.close()
    assert len(list(sealing(str(tmp_path), NAME, 9))) > 4


@pytest.mark.parametrize("form", ["", ".open"])
def test_plain_segments_are_read_as_they_are(tmp_path, form):
    name = SegmentName(**{**{f: getattr(SEALED, f) for f in SEALED.__struct_fields__}, "form": form})
    (tmp_path / str(name)).write_bytes(LINES)
    assert b"".join(read_segment(str(tmp_path), name)) == LINES


def test_a_segment_that_was_packed_in_parts_is_read(tmp_path):
    (tmp_path / str(SEALED)).write_bytes(gzip.compress(LINES[:30]) + gzip.compress(LINES[30:]))
    assert b"".join(read_segment(str(tmp_path), SEALED)) == LINES


def test_a_torn_one_gives_what_there_is_and_says_so(tmp_path):
    packed = gzip.compress(os.urandom(5_000))
    (tmp_path / str(SEALED)).write_bytes(packed[:-2_000])
    chunks = read_segment(str(tmp_path), SEALED)
    assert next(chunks)
    with pytest.raises(EOFError, match="torn"):
        list(chunks)


def test_one_that_is_no_gzip_says_so(tmp_path):
    (tmp_path / str(SEALED)).write_bytes(b"no gzip at all")
    with pytest.raises(zlib.error):
        list(read_segment(str(tmp_path), SEALED))
