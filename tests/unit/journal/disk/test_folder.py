"""A folder is ours or refused, with what to do; nobody's data is touched."""

import os

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.disk import folder as module
from namekeeper.journal.disk.folder import (
    LOCK_FILE,
    list_segments,
    open_folder,
    reopen_folder,
)
from namekeeper.journal.disk.identity import load_identity
from namekeeper.journal.disk.lock import is_locked, take_lock
from tests.unit.journal.disk_parts import FOLDER, model_disk, no_lock


def opened(path, wanted="ns_9876", **more):
    return open_folder(
        str(path), wanted, is_configured=more.pop("is_configured", False), lock=take_lock, **more
    )


def test_a_new_folder_gets_an_identity_that_stays(tmp_path):
    path = tmp_path / "a" / "journal"
    first = opened(path)
    assert first.identity.namesrv == "ns_9876"
    first.release()
    again = opened(path, "another")
    assert (again.identity, again.notes) == (first.identity, ())
    again.release()
    asked = opened(path, "another", is_configured=True)
    assert asked.identity == first.identity
    assert "keeps its id ns_9876" in asked.notes[0]
    asked.release()


def test_two_folders_have_two_uuids(tmp_path):
    locks = [opened(tmp_path / name) for name in ("a", "b")]
    assert locks[0].identity.uuid != locks[1].identity.uuid
    for held in locks:
        held.release()


def test_a_folder_in_use_names_who_uses_it_and_is_free_afterwards(tmp_path):
    held = opened(tmp_path)
    assert is_locked(str(tmp_path))
    with pytest.raises(
        JournalError, match=f"in use by process {os.getpid()}: stop it, or give this name server"
    ):
        opened(tmp_path)
    held.release()
    held.release()
    assert not is_locked(str(tmp_path))
    opened(tmp_path).release()


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path):
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).touch()
    with pytest.raises(
        JournalError, match=r"is not a journal: it has no identity.json, but a, b, c and 1 more; set"
    ):
        opened(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c", "d"]
    assert not is_locked(str(tmp_path))


def test_what_a_crash_of_the_first_start_leaves_is_no_somebody(tmp_path):
    for name in (LOCK_FILE, "identity.json.123.tmp", "lost+found", ".nfs0001", "seal.request", "quarantine"):
        (tmp_path / name).touch()
    folder = opened(tmp_path)
    assert folder.identity.namesrv == "ns_9876"
    folder.release()


def test_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "journal").touch()
    with pytest.raises(JournalError, match="can't be used: Not a directory; repair it, or set journalPath"):
        opened(tmp_path / "journal")


def test_a_folder_that_can_not_be_written_is_refused(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(module, "save_identity", refuse)
    with pytest.raises(JournalError, match=r"can't be used: Permission denied for uid .*; repair it"):
        opened(tmp_path)
    assert not is_locked(str(tmp_path))


def test_an_identity_that_makes_no_sense_gives_the_lock_back(tmp_path):
    (tmp_path / "identity.json").write_text("{}")
    with pytest.raises(JournalError, match="is not valid"):
        opened(tmp_path)
    assert not is_locked(str(tmp_path))


def test_segments_are_listed_in_order_and_other_files_are_not(tmp_path):
    names = [
        "n-00000000-0000000000001-000000000001-000000000005.jsonl.gz",
        "n-00000000-0000000000001-000000000006.jsonl.open",
        "n-00000000-0000000000002-000000000001.jsonl.open",
    ]
    for name in (*reversed(names), "lock", "identity.json"):
        (tmp_path / name).touch()
    assert [str(name) for name in list_segments(str(tmp_path))] == names


def test_a_folder_that_is_still_ours_is_reopened_as_it_is(tmp_path):
    held = opened(tmp_path)
    assert reopen_folder(held, lock=take_lock) == (held, False)
    held.release()


def test_a_folder_that_was_removed_is_made_anew(tmp_path):
    held = opened(tmp_path / "journal")
    for path in (tmp_path / "journal").iterdir():
        path.unlink()
    (tmp_path / "journal").rmdir()
    again, is_new = reopen_folder(held, lock=take_lock)
    assert (again.identity, is_new) == (held.identity, True)
    assert load_identity(again.path) == held.identity
    assert is_locked(again.path)
    again.release()


def test_a_folder_that_was_replaced_is_refused():
    disk = model_disk()
    held = open_folder(FOLDER, "a", is_configured=False, lock=no_lock, system=disk)
    disk.unlink(f"{FOLDER}/identity.json")
    open_folder(FOLDER, "b", is_configured=False, lock=no_lock, system=disk)
    with pytest.raises(JournalError, match="was replaced by a journal of b: set another journalPath"):
        reopen_folder(held, lock=no_lock, system=disk)
