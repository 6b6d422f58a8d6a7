"""A full log file is moved aside and compressed; nothing is lost on the way."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from namekeeper.app.log_files import LogFile


def contents(root: Path) -> dict[str, bytes]:
    files = [file for file in root.rglob("*") if file.is_file()]
    return {
        file.name: gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for file in files
    }


def test_lines_are_appended_to_what_is_there(tmp_path):
    for _ in range(2):
        file = LogFile(tmp_path / "logs", "namesrv", keep=2)
        file.write(b"line\n")
        file.close()
    assert contents(tmp_path) == {"namesrv.log": b"line\nline\n"}


def test_a_full_file_moves_aside_and_the_oldest_goes(tmp_path):
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=10)
    for number in range(1, 6):
        file.write(b"line %d\n" % number)
    file.close()
    assert contents(tmp_path) == {
        "namesrv.log": b"line 5\n",
        "namesrv.1.log.gz": b"line 4\n",
        "namesrv.2.log.gz": b"line 3\n",
    }
    assert (tmp_path / "otherdays" / "namesrv.1.log.gz").exists()


def test_the_size_counts_from_before_the_start(tmp_path):
    (tmp_path / "namesrv.log").write_bytes(b"123456789\n")
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=10)
    file.write(b"x\n")
    file.close()
    assert contents(tmp_path) == {"namesrv.log": b"x\n", "namesrv.1.log.gz": b"123456789\n"}


def test_a_line_longer_than_a_file_is_written(tmp_path):
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=10)
    file.write(b"x" * 100)
    file.close()
    assert contents(tmp_path) == {"namesrv.log": b"x" * 100}


def test_what_a_crash_left_uncompressed_moves_up_with_the_others(tmp_path):
    (tmp_path / "otherdays").mkdir()
    (tmp_path / "otherdays" / "namesrv.1.log").write_bytes(b"crashed\n")
    file = LogFile(tmp_path, "namesrv", keep=3, rotate_bytes=5)
    for _ in range(2):
        file.write(b"line\n")
    file.close()
    assert contents(tmp_path) == {
        "namesrv.log": b"line\n",
        "namesrv.1.log.gz": b"line\n",
        "namesrv.2.log": b"crashed\n",
    }


def test_a_file_that_somebody_deleted_is_begun_anew(tmp_path):
    root = tmp_path / "logs"
    file = LogFile(root, "namesrv", keep=2)
    file.write(b"line 1\n")
    shutil.rmtree(root)
    file.write(b"line 2\n")
    (root / "namesrv.log").rename(root / "moved.log")
    file.write(b"line 3\n")
    file.close()
    assert contents(root) == {"moved.log": b"line 2\nline 3\n"}, "logrotate renames a file before it tells us"


def test_where_nothing_can_be_moved_aside_the_file_goes_on(tmp_path):
    (tmp_path / "otherdays").write_text("in the way")
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=5)
    for _ in range(3):
        file.write(b"line\n")
    file.close()
    assert contents(tmp_path)["namesrv.log"] == b"line\n" * 3


def test_where_nothing_can_be_compressed_the_text_stays(tmp_path):
    (tmp_path / "otherdays" / "namesrv.1.log.gz.tmp").mkdir(parents=True)
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=5)
    file.write(b"line\n")
    file.write(b"more\n")
    file.close()
    assert contents(tmp_path) == {"namesrv.log": b"more\n", "namesrv.1.log": b"line\n"}


@pytest.mark.parametrize("target", ["pipe", "/dev/null"])
def test_a_pipe_or_a_device_is_written_and_never_moved(tmp_path, target):
    path = tmp_path / "namesrv.log"
    if target == "pipe":
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    else:
        path.symlink_to(target)
    before = path.lstat()
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=10)
    for _ in range(3):
        file.write(b"123456789\n")
    file.reopen()
    file.close()
    assert path.lstat().st_ino == before.st_ino
    assert not (tmp_path / "otherdays").exists()
    if target == "pipe":
        assert os.read(reader, 100) == b"123456789\n" * 3
        os.close(reader)


def test_a_pipe_that_nobody_reads_is_an_error_and_no_hang(tmp_path):
    os.mkfifo(tmp_path / "namesrv.log")
    with pytest.raises(OSError, match="No such device"):
        LogFile(tmp_path, "namesrv", keep=2)


def test_of_a_link_the_file_moves_and_the_link_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "namesrv.log").symlink_to(tmp_path / "disk" / "namesrv.log")
    file = LogFile(tmp_path, "namesrv", keep=2, rotate_bytes=10)
    for number in (1, 2):
        file.write(b"line %d\n\n\n\n" % number)
    file.close()
    assert (tmp_path / "namesrv.log").is_symlink()
    assert (tmp_path / "disk" / "namesrv.log").read_bytes() == b"line 2\n\n\n\n"
    assert gzip.decompress((tmp_path / "otherdays" / "namesrv.1.log.gz").read_bytes()) == b"line 1\n\n\n\n"
