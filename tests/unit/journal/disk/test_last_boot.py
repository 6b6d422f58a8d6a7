"""The newest boot is noted beside the folder, when it is on disk and not before; links there are not followed."""

import os

import pytest

from namekeeper.files import SMALL_FILE_BYTES
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.last_boot import (
    DAMAGED,
    LastBoot,
    LastBootNote,
    last_boot_path,
    load_last_boot,
)
from tests.unit.journal.disk_parts import FOLDER, Feeder, model_disk, writer_on

IDENTITY = Identity("ns_9876", "01234567-89ab-cdef-0123-456789abcdef")


def test_it_is_beside_the_folder_and_hidden(tmp_path):
    (tmp_path / "9876").mkdir()
    (tmp_path / "link").symlink_to("9876")
    for folder in ("9876", "9876/", "link"):
        assert last_boot_path(str(tmp_path / folder)) == tmp_path / ".9876.last-boot"


def test_what_was_noted_is_read_again(tmp_path):
    folder = str(tmp_path / "9876")
    assert load_last_boot(folder) is None
    note = LastBootNote(folder, IDENTITY, 1_700_000_000_000)
    note.note_once(0)
    assert load_last_boot(folder) is None
    note.note_once(3)
    note.note_once(9)
    assert load_last_boot(folder) == LastBoot(IDENTITY.namesrv, IDENTITY.uuid, 1_700_000_000_000, 3)
    note.note(12)
    assert load_last_boot(folder) == LastBoot(IDENTITY.namesrv, IDENTITY.uuid, 1_700_000_000_000, 12)


def test_a_boot_is_noted_when_its_first_record_is_synced_and_its_end_at_the_stop():
    disk, feeder = model_disk(), Feeder()
    writer = writer_on(disk, feeder.backlog)
    feeder.begin()
    writer.step(feeder.now)
    assert load_last_boot(FOLDER, system=disk) is None
    writer.step(feeder.advance(200))
    assert load_last_boot(FOLDER, system=disk).seq == 4
    feeder.change()
    writer.step(feeder.advance(200))
    assert load_last_boot(FOLDER, system=disk).seq == 4
    writer.close(feeder.now)
    assert load_last_boot(FOLDER, system=disk).seq == 5


def test_a_folder_beside_which_nothing_can_be_written_has_a_journal_all_the_same(tmp_path, caplog):
    folder = tmp_path / "9876"
    last_boot_path(str(folder)).mkdir()
    feeder = Feeder()
    writer = writer_on(os, feeder.backlog, str(folder))
    feeder.begin()
    writer.step(feeder.now)
    writer.step(feeder.advance(200))
    writer.step(feeder.advance(200))
    assert (writer.trouble, writer.durable_seq) == ("", 4)
    assert caplog.text.count("if whole boots are removed, nothing will say so") == 1
    assert load_last_boot(str(folder)) is DAMAGED


def test_a_file_that_is_too_large_to_be_ours_is_not_read(tmp_path):
    """One of 3 GiB was, into memory."""
    folder = str(tmp_path / "9876")
    LastBootNote(folder, IDENTITY, 1).note(1)
    assert load_last_boot(folder) is not DAMAGED
    os.truncate(last_boot_path(folder), SMALL_FILE_BYTES + 1)
    assert load_last_boot(folder) is DAMAGED


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("victim")])
def test_what_somebody_else_put_there_is_neither_followed_nor_waited_for(tmp_path, make):
    (tmp_path / "victim").write_text("mine")
    path = last_boot_path(str(tmp_path / "9876"))
    make(path)
    assert load_last_boot(str(tmp_path / "9876")) is DAMAGED
    LastBootNote(str(tmp_path / "9876"), IDENTITY, 1).note(1)
    assert (tmp_path / "victim").read_text() == "mine"
