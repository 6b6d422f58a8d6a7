"""Shipping segments."""

import errno
from pathlib import Path

import pytest

from namekeeper.pipeline.errors import JournalFolderError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ship import ship
from tests.support.journal.segments import records_of_a_boot, write_segment

RECORDS = records_of_a_boot("ns", 1_772_323_200_000, 1)


def sent(tmp_path: Path):
    return ship(open_folder(str(tmp_path / "j")), open_folder(str(tmp_path / "to" / "here")), lambda *_: None)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_sealed_goes_once(tmp_path):
    write_segment(tmp_path / "j", RECORDS[:9])
    (tmp_path / "j" / "ns-0a1b2c3d-1772323200000-000000000010.jsonl.open").write_bytes(b"{")
    assert sent(tmp_path)[:1] == (1,)
    write_segment(tmp_path / "j" / "more", RECORDS[9:])
    assert sent(tmp_path)[::2] == (1, 1)
    assert sent(tmp_path) == (0, 0, 2)
    shipped = content(tmp_path / "to" / "here")
    assert shipped.items() <= content(tmp_path / "j").items()
    assert len(shipped) == 2


def test_what_was_cut_off_on_its_way_goes_again(tmp_path):
    path = write_segment(tmp_path / "j", RECORDS)
    sent(tmp_path)
    target = tmp_path / "to" / "here" / path.name
    target.write_bytes(target.read_bytes()[:20])
    assert sent(tmp_path).copied == 1
    assert target.read_bytes() == path.read_bytes()


def test_the_same_records_packed_otherwise_are_there(tmp_path):
    write_segment(tmp_path / "j", RECORDS)
    write_segment(tmp_path / "to" / "here", RECORDS, ending=".jsonl")
    assert sent(tmp_path) == (0, 0, 1)


def test_a_target_that_can_not_be_written_says_so(tmp_path):
    write_segment(tmp_path / "j", RECORDS)
    (tmp_path / "to").write_text("a file")
    with pytest.raises(JournalFolderError, match="can't be copied to"):
        sent(tmp_path)


def test_a_target_whose_disk_is_not_there_says_so_and_nothing_counts_as_copied(tmp_path, monkeypatch):
    def refuse(path, **_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))

    write_segment(tmp_path / "j", RECORDS)
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(JournalFolderError, match=r"can't be copied to .*No such file"):
        sent(tmp_path)


def test_what_retention_takes_meanwhile_is_passed_over(tmp_path, monkeypatch):
    path = write_segment(tmp_path / "j", RECORDS)
    journal = open_folder(str(tmp_path / "j"))
    opened = journal.open
    monkeypatch.setattr(journal, "open", lambda name: (path.unlink(), opened(name))[1])
    assert ship(journal, open_folder(str(tmp_path / "to")), lambda *_: None) == (0, 0, 0)


@pytest.mark.parametrize(("asked", "complaint"), [("files", "can't be read"), ("size", "can't be compared")])
def test_a_target_that_may_not_be_looked_into_says_so(tmp_path, monkeypatch, asked, complaint):
    write_segment(tmp_path / "j", RECORDS)
    sent(tmp_path)
    target = open_folder(str(tmp_path / "to" / "here"))

    def denied(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(target, asked, denied)
    with pytest.raises(JournalFolderError, match=rf"{complaint}.*Permission denied.*may this user"):
        ship(open_folder(str(tmp_path / "j")), target, lambda *_: None)
