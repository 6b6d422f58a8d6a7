"""`namekeeper journal ship`."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands import journal_ship
from namekeeper.cli.commands.journal_ship import ship
from tests.support.journal.segments import records_of_a_boot, write_segment

RECORDS = records_of_a_boot("ns", 1_772_323_200_000, 1)


def test_it_copies_and_says_how_much(tmp_path):
    path = write_segment(tmp_path / "j", RECORDS)
    words = [str(tmp_path / "j"), str(tmp_path / "to")]
    done = CliRunner().invoke(ship, words)
    assert done.exit_code == 0
    assert f"1 segment copied ({path.stat().st_size:,} bytes); 0 were there before" in done.stderr
    assert "0 segments copied (0 bytes); 1 were there before" in CliRunner().invoke(ship, words).stderr


def test_what_is_no_journal_is_refused(tmp_path):
    done = CliRunner().invoke(ship, [str(tmp_path / "nothing"), str(tmp_path / "to")])
    assert (done.exit_code, "is no folder" in done.stderr) == (2, True)


def test_watching_goes_on_through_errors_and_ends_with_ctrl_c(tmp_path, monkeypatch):
    write_segment(tmp_path / "j", RECORDS[:5])
    waits: list[float] = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 1:
            write_segment(tmp_path / "j", RECORDS[5:])
        elif len(waits) == 2:
            (tmp_path / "j").rename(tmp_path / "gone")
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(journal_ship.time, "sleep", wait)
    done = CliRunner().invoke(ship, [str(tmp_path / "j"), str(tmp_path / "to"), "--watch", "60s"])
    assert done.exit_code == 130
    assert len(list((tmp_path / "to").iterdir())) == 2
    assert "trying again in 1 min" in done.stderr
    assert done.stderr.splitlines()[-1] == "stopped; every copied segment is complete"
    assert waits == [60.0] * 3


def test_watching_begins_before_the_journal_or_its_target_is_there(tmp_path, monkeypatch):
    def wait(_seconds):
        if (tmp_path / "to").is_dir():
            raise KeyboardInterrupt
        write_segment(tmp_path / "j", RECORDS)

    monkeypatch.setattr(journal_ship.time, "sleep", wait)
    done = CliRunner().invoke(ship, [str(tmp_path / "j"), str(tmp_path / "to"), "--watch", "60s"])
    assert done.exit_code == 130
    assert "is no folder" in done.stderr.splitlines()[0]
    assert "1 segment copied" in done.stderr


NOBODY = 65_534


@contextmanager
def another_user() -> Iterator[None]:
    """Have the rights of nobody, if we are root, whom no permission stops."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that everybody may read; those of pytest are its user's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("closed", "says"),
    [("j", "j can't be read: "), ("j/segment", "can't be copied to "), (".", "can't be copied to ")],
)
def test_without_permission_it_is_one_line_that_says_what_can_not_be_done(open_to_all, closed, says):
    """The journal, its segment, or the folder in which the copy shall be, is another user's."""
    segment = write_segment(open_to_all / "j", RECORDS)
    words = [str(open_to_all / "j"), str(open_to_all / "to")]
    path = segment if closed == "j/segment" else open_to_all / closed
    mode = path.stat().st_mode
    path.chmod(0o555 if closed == "." else 0o000)
    try:
        with another_user():
            done = CliRunner().invoke(ship, words)
    finally:
        path.chmod(mode)
    assert (done.exit_code, done.exception.__class__) == (2, SystemExit)
    assert says in done.stderr
    assert "Permission denied" in done.stderr
