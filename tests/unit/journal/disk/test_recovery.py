"""What a dead process left is sealed up to its last whole change; the rest is put aside, not thrown away."""

from pathlib import Path

import pytest

from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk import recovery as recovery_module
from namekeeper.journal.disk.identity import Identity, save_identity
from namekeeper.journal.disk.last_boot import last_boot_path
from namekeeper.journal.disk.recovery import Recovery, is_of, last_ts, recover
from namekeeper.journal.disk.segment import SealedCopy
from tests.unit.journal.disk_parts import lines_in
from tests.unit.journal.segment_parts import BOOT, OPEN, change

IDENTITY = Identity("ns", "0123abcd-0000-4000-8000-0123456789ab")


@pytest.fixture
def folder(tmp_path):
    save_identity(str(tmp_path), IDENTITY)
    return tmp_path


def segments(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if ".jsonl" in path.name)


def seqs(folder: Path) -> list[tuple[int, int]]:
    return [(line.number, line.data.count(b"cluster")) for line in lines_in(folder)]


def test_an_empty_folder_has_no_boot(folder):
    assert recover(str(folder), IDENTITY) == Recovery()


def test_a_leftover_is_sealed_with_its_whole_changes_and_the_torn_rest_put_aside(folder):
    whole = change(1, 2) + change(3)
    torn = change(4, 3)[:-30]
    (folder / str(OPEN)).write_bytes(whole + torn)
    recovery = recover(str(folder), IDENTITY)
    assert (recovery.previous_boot, recovery.previous_seq) == (BOOT, 3)
    assert (
        f"{len(torn) - torn.count(10)} bytes outside of complete changes are in quarantine/"
        in recovery.notes[0]
    )
    assert segments(folder) == [f"ns-0123abcd-{BOOT}-000000000001-000000000003.jsonl.gz"]
    assert b"".join(line.data + b"\n" for line in lines_in(folder)) == whole
    (aside,) = (folder / "quarantine").iterdir()
    assert aside.name == f"ns-0123abcd-{BOOT}-000000000001.jsonl.torn"
    assert aside.read_bytes() == torn


def test_a_leftover_without_anything_whole_is_put_aside_as_it_is(folder):
    (folder / str(OPEN)).write_bytes(b"\0" * 50)
    recovery = recover(str(folder), IDENTITY)
    assert (recovery.previous_boot, recovery.previous_seq) == (BOOT, 0)
    assert recovery.notes[0].startswith("a crashed process left ")
    assert segments(folder) == []
    assert [path.read_bytes() for path in (folder / "quarantine").iterdir()] == [b"\0" * 50]


def test_an_empty_leftover_goes(folder):
    (folder / str(OPEN)).touch()
    recover(str(folder), IDENTITY)
    assert segments(folder) == []
    assert not (folder / "quarantine").exists()


def test_an_open_segment_that_was_sealed_before_the_crash_goes_and_so_do_unfinished_copies(folder):
    (folder / str(OPEN)).write_bytes(change(1))
    copy = SealedCopy(str(folder), OPEN)
    copy.add(change(1))
    copy.finish(1)
    (folder / str(OPEN)).write_bytes(change(1))
    (folder / f"{OPEN}.sealing").write_bytes(b"half")
    recovery = recover(str(folder), IDENTITY)
    assert (recovery.previous_boot, recovery.previous_seq, recovery.notes) == (BOOT, 1, ())
    assert segments(folder) == [f"ns-0123abcd-{BOOT}-000000000001-000000000001.jsonl.gz"]


def test_the_last_boot_counts_and_its_last_record(folder):
    for boot, first in ((BOOT, 1), (BOOT + 5, 1), (BOOT + 5, 2)):
        name = SegmentName(namesrv="ns", uuid8="0123abcd", boot=boot, first_seq=first)
        (folder / str(name)).write_bytes(change(first, boot=boot))
    recovery = recover(str(folder), IDENTITY)
    assert (recovery.previous_boot, recovery.previous_seq) == (BOOT + 5, 2)


def test_segments_of_another_journal_are_left_alone(folder):
    other = SegmentName(namesrv="ns", uuid8="ffffffff", boot=BOOT, first_seq=1)
    (folder / str(other)).write_bytes(b"x")
    assert recover(str(folder), IDENTITY) == Recovery()
    assert segments(folder) == [str(other)]
    assert not is_of(other, IDENTITY)
    assert is_of(OPEN, IDENTITY)


def test_the_newest_time_is_read_from_what_can_be_read(folder):
    (folder / str(OPEN)).write_bytes(change(1) + change(2) + b"torn")
    assert last_ts(str(folder), OPEN) == BOOT + 2
    (folder / str(OPEN)).write_bytes(b"\0\0\0")
    assert last_ts(str(folder), OPEN) == 0
    sealed = SegmentName(namesrv="ns", uuid8="0123abcd", boot=BOOT, first_seq=1, last_seq=3, form=".gz")
    (folder / str(sealed)).write_bytes(b"no gzip")
    assert last_ts(str(folder), sealed) == 0


def test_an_altered_line_is_not_sealed_under_a_fresh_checksum(folder):
    altered = change(2).replace(b'"cluster":"c"', b'"cluster":"d"')
    (folder / str(OPEN)).write_bytes(change(1) + altered + change(3))
    recovery = recover(str(folder), IDENTITY)
    assert "bytes outside of complete changes are in quarantine/" in recovery.notes[0]
    assert b"".join(line.data + b"\n" for line in lines_in(folder)) == change(1) + change(3)
    assert [path.read_bytes() for path in (folder / "quarantine").iterdir()] == [altered.removesuffix(b"\n")]


def test_files_that_were_being_written_when_a_process_died_are_swept(folder):
    (folder / "quarantine").mkdir()
    kept = [folder / "notes.tmp", folder / "quarantine" / "some.torn"]
    beside = last_boot_path(str(folder))
    swept = [
        folder / "identity.json.4711.tmp",
        folder / "quarantine" / "some.torn.12.tmp",
        beside.with_name(f"{beside.name}.999999999.tmp"),
    ]
    for path in (*kept, *swept):
        path.touch()
    recover(str(folder), IDENTITY)
    assert [path.exists() for path in (*kept, *swept)] == [True, True, False, False, False]


def test_every_torn_byte_is_put_aside_however_many_lines_it_makes(folder, monkeypatch):
    monkeypatch.setattr(recovery_module, "_WRITE_BYTES", 100)
    torn = b"\n" * 200_000 + b"x\n\ny"
    (folder / str(OPEN)).write_bytes(change(1) + torn)
    (note,) = recover(str(folder), IDENTITY).notes
    (aside,) = (folder / "quarantine").iterdir()
    assert aside.read_bytes() == torn
    assert "2 bytes outside of complete changes" in note
