"""The file with the times at which brokers were last heard: there or not, it stops nobody."""

import os

import pytest

from namekeeper.journal.disk.folder import open_folder
from namekeeper.journal.disk.heard_file import HEARD_FILE, HeardTimes, load_heard, save_heard
from tests.unit.journal.disk_parts import no_lock

TIMES = HeardTimes(7, [("c", "a:1", 5), ("c", "b:1", -3)])


def test_what_was_saved_is_loaded(tmp_path):
    save_heard(str(tmp_path), TIMES)
    save_heard(str(tmp_path), TIMES)
    assert load_heard(str(tmp_path)) == TIMES
    assert [path.name for path in tmp_path.iterdir()] == [HEARD_FILE]


def test_it_counts_for_its_boot_only():
    assert TIMES.of_boot(7) == {("c", "a:1"): 5, ("c", "b:1"): -3}
    assert TIMES.of_boot(8) == {}


def test_a_boot_ran_until_the_file_was_written_if_the_records_of_that_time_are_there():
    times = HeardTimes(7, [], ts=5_000, seq=40)
    assert [times.ran_until(7, seq) for seq in (39, 40, 41)] == [0, 5_000, 5_000]
    assert times.ran_until(8, 40) == 0
    assert TIMES.ran_until(7, 40) == 0, "an older version wrote it"


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b'{"boot":1}', b'{"boot":1,"brokers":[[1]]}'])
def test_without_a_file_that_can_be_read_nobody_was_heard(tmp_path, content):
    if content is not None:
        (tmp_path / HEARD_FILE).write_bytes(content)
    assert load_heard(str(tmp_path)).brokers == []


def test_a_folder_that_can_not_be_written_is_no_reason_to_stop(tmp_path):
    (tmp_path / HEARD_FILE).mkdir()
    save_heard(str(tmp_path), TIMES)
    assert load_heard(str(tmp_path)).brokers == []


def test_a_journal_whose_identity_is_gone_is_told_by_other_files(tmp_path):
    save_heard(str(tmp_path), TIMES)
    opened = open_folder(str(tmp_path), "ns", is_configured=False, lock=no_lock)
    assert opened.identity.namesrv == "ns"


def test_a_link_is_neither_followed_nor_read(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b'{"boot":7,"brokers":[["c","a:1",5]]}')
    (tmp_path / HEARD_FILE).symlink_to(victim)
    assert load_heard(str(tmp_path)).brokers == []
    save_heard(str(tmp_path), TIMES)
    assert b'"b:1"' not in victim.read_bytes()
    assert load_heard(str(tmp_path)) == TIMES


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / HEARD_FILE)
    assert load_heard(str(tmp_path)).brokers == []
