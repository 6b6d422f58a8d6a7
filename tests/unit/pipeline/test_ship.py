"""Shipping segments."""

import errno
import os
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
    opened = journal.open_itself
    monkeypatch.setattr(journal, "open_itself", lambda name: (path.unlink(), opened(name))[1])
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


def changed(path: Path, how: str) -> None:
    """Change a file as somebody might while it is read."""
    data = path.read_bytes()
    if how == "vanishes":
        path.unlink()
    elif how == "is replaced":
        (path.parent / "other").write_bytes(data[::-1])
        (path.parent / "other").replace(path)
    else:
        path.write_bytes({"grows": data * 3, "is cut": data[:9], "is overwritten": data[::-1]}[how])


@pytest.mark.parametrize("how", ["grows", "is cut", "is overwritten"])
def test_a_segment_that_changes_while_it_is_read_is_not_sent_and_holds_up_no_other(
    tmp_path, monkeypatch, how
):
    first = write_segment(tmp_path / "j", RECORDS[:9])
    second = write_segment(tmp_path / "j", RECORDS[9:])
    whole = first.read_bytes()
    os.utime(first, ns=(0, 0))
    journal, target = open_folder(str(tmp_path / "j")), open_folder(str(tmp_path / "to"))
    put = target.put_stream
    monkeypatch.setattr(
        target,
        "put_stream",
        lambda name, source: (name == first.name and changed(first, how), put(name, source))[1],
    )
    with pytest.raises(JournalFolderError, match=rf"{first.name} .* it changes .*; 1 segment was copied"):
        ship(journal, target, lambda *_: None)
    assert content(tmp_path / "to") == {second.name: second.read_bytes()}
    monkeypatch.undo()
    first.write_bytes(whole)
    assert ship(journal, target, lambda *_: None)[::2] == (1, 1)
    assert content(tmp_path / "to") == content(tmp_path / "j")


@pytest.mark.parametrize("how", ["vanishes", "is replaced"])
def test_a_segment_that_another_file_replaces_is_sent_as_it_was(tmp_path, monkeypatch, how):
    path = write_segment(tmp_path / "j", RECORDS)
    whole = path.read_bytes()
    journal, target = open_folder(str(tmp_path / "j")), open_folder(str(tmp_path / "to"))
    put = target.put_stream
    monkeypatch.setattr(target, "put_stream", lambda *words: (changed(path, how), put(*words))[1])
    assert ship(journal, target, lambda *_: None).copied == 1
    assert content(tmp_path / "to") == {path.name: whole}


@pytest.mark.parametrize("what", ["no end", "pipe", "link", "not readable"])
def test_a_file_with_the_name_of_a_segment_holds_up_no_other(tmp_path, monkeypatch, what):
    bad, good = (write_segment(tmp_path / "j", records) for records in (RECORDS[:9], RECORDS[9:]))
    journal, target = open_folder(str(tmp_path / "j")), open_folder(str(tmp_path / "to"))
    opened = journal.open_itself

    def become_bad(name):
        if name == bad.name and what == "no end":
            os.truncate(bad, 1 << 42)
        elif name == bad.name:
            bad.unlink()
            bad.symlink_to(good) if what == "link" else os.mkfifo(bad)
        if name == bad.name and what == "not readable":
            raise OSError(errno.EIO, "Input/output error", name)
        return opened(name)

    monkeypatch.setattr(journal, "open_itself", become_bad)
    with pytest.raises(JournalFolderError, match=rf"{bad.name} can't be copied"):
        ship(journal, target, lambda *_: None)
    assert content(tmp_path / "to") == {good.name: good.read_bytes()}


def test_a_file_in_a_folder_below_does_not_replace_a_segment(tmp_path):
    path = write_segment(tmp_path / "j", RECORDS)
    (tmp_path / "j" / "a").mkdir()
    (tmp_path / "j" / "a" / path.name).write_bytes(b"other")
    assert sent(tmp_path)[::2] == (1, 0)
    assert content(tmp_path / "to") == {path.name: path.read_bytes()}
    assert sent(tmp_path)[::2] == (0, 1)
