"""What only a folder of this machine has to do; the rest is in test_folder."""

import errno
import os
from pathlib import Path

import pytest

from namekeeper.pipeline.files.local_folder import LocalFolder


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
