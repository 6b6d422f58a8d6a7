"""What only a folder of this machine has to do; the rest is in test_folder."""

import errno
import os
from pathlib import Path

import pytest

from namekeeper.pipeline.files.local_folder import DEPTH_LIMIT, LocalFolder


def test_files_that_vanish_while_they_are_listed_are_left_out(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x")
    listing = LocalFolder(str(tmp_path)).files()
    first = next(listing).path
    for name in {"a", "b"} - {first}:
        (tmp_path / name).unlink()
    assert list(listing) == []


@pytest.mark.parametrize("is_there", [False, True])
def test_where_there_are_no_hard_links_a_look_has_to_do(tmp_path, monkeypatch, is_there):
    def refuse(source, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    if is_there:
        (tmp_path / "x").write_bytes(b"old")
    assert LocalFolder(str(tmp_path)).put_new("x", b"new") is not is_there
    assert (tmp_path / "x").read_bytes() == (b"old" if is_there else b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_another_error_of_a_link_is_not_hidden(tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="broken"):
        LocalFolder(str(tmp_path)).put_new("x", b"new")
    assert list(tmp_path.iterdir()) == []


def test_content_and_name_are_synced_before_it_returns(tmp_path, monkeypatch):
    synced: list[str] = []
    fsync = os.fsync

    def seen(fd):
        synced.append(Path(f"/proc/self/fd/{fd}").resolve().name.partition(".tmp")[0])
        fsync(fd)

    monkeypatch.setattr(os, "fsync", seen)
    LocalFolder(str(tmp_path)).put("x", b"new")
    assert [name.startswith(".x.") for name in synced] == [True, False]
    assert synced[1] == tmp_path.name


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_neither_read_nor_waited_for(tmp_path, put):
    put(tmp_path / "ledger")
    folder = LocalFolder(str(tmp_path))
    for read in (folder.read, folder.open):
        with pytest.raises(OSError, match="it is not a regular file: move it away"):
            read("ledger")


def test_a_file_that_never_ends_is_not_read(tmp_path):
    (tmp_path / "ledger").touch()
    os.truncate(tmp_path / "ledger", 1 << 40)
    with pytest.raises(OSError, match="it has more than 268435456 bytes"):
        LocalFolder(str(tmp_path)).read("ledger")


def test_links_to_folders_above_are_listed_once(tmp_path):
    """Two of them would be 2^40 paths."""
    (tmp_path / "inner").mkdir()
    for name in ("a", "b", "inner/c"):
        (tmp_path / name).symlink_to(tmp_path)
    (tmp_path / "inner" / "file").touch()
    assert [file.path for file in LocalFolder(str(tmp_path)).files(quick=True)] == ["inner/file"]


def test_a_linked_folder_and_a_linked_file_are_listed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here" / "link").symlink_to(tmp_path / "elsewhere" / "file")
    listed = LocalFolder(str(tmp_path / "here")).files(quick=True)
    assert sorted(file.path for file in listed) == ["folder/file", "link"]


def test_folders_without_end_in_each_other_are_listed_to_a_depth(tmp_path):
    deep = tmp_path
    for level in range(DEPTH_LIMIT + 3):
        (deep / f"file{level}").touch()
        deep /= "folder"
        deep.mkdir()
    assert len([*LocalFolder(str(tmp_path)).files()]) == DEPTH_LIMIT + 1


@pytest.mark.parametrize("is_quick", [True, False])
def test_what_is_no_file_is_not_listed(tmp_path, is_quick):
    """A pipe with the name of a segment had each run of the pipeline refused."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "file").touch()
    assert [file.path for file in LocalFolder(str(tmp_path)).files(quick=is_quick)] == ["file"]


def test_a_file_that_cannot_be_put_in_its_place_leaves_nothing(tmp_path):
    """A copy that is tried again every hour would fill the disk."""
    (tmp_path / "x").mkdir()
    with pytest.raises(IsADirectoryError):
        LocalFolder(str(tmp_path)).put("x", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
