"""Journals of name servers that are gone: how long they are followed, and which of them are removed."""

import asyncio

import pytest
from msgspec import structs

from namekeeper.journal import journal as writing
from namekeeper.journal.disk.heard_file import load_heard, save_heard
from namekeeper.journal.disk.identity import load_identity
from namekeeper.journal.disk.last_boot import last_boot_path
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.reader import FoundJournal, JournalReader
from namekeeper.journal.settings import DAY_MS
from namekeeper.model.now import Now
from namekeeper.observe.departed import DEPARTED_MS, DepartedJournals
from tests.unit.observe.test_journal import at, change, opened

AGE_MS = 30 * DAY_MS
LAST_MS = 5_000
"""The last answer in the journal."""


class Departed:
    """The journals below a folder, and a clock that can be set."""

    def __init__(self, folder, since_ms=LAST_MS):
        self.folder, self.mono_ms, self.wrong_ms, self.wanted = folder, since_ms, 0, set()
        self.journals = DepartedJournals(str(folder), AGE_MS, self.wanted.__contains__, self)
        self.journals.begin()

    def now(self):
        return Now(at(self.mono_ms).wall_ms + self.wrong_ms, self.mono_ms)

    def has_left(self, name="ns_9876"):
        return self.journals.has_left(FoundJournal(str(self.folder / name)))

    def removed(self, age_ms):
        """What is removed when the last answer is so old."""
        self.mono_ms = LAST_MS + age_ms
        return self.journals.remove_old()


async def observed(path, *, value="v"):
    """Observe a name server for some seconds."""
    journal = opened(path, at(1_000))
    journal.answered(at(2_000), [change(value, 900)])
    journal.answered(at(LAST_MS), [])
    await journal.leave()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of an observer with one journal, made outside of a loop."""
    for name in ("GROUP_S", "BUSY_S", "IDLE_S", "AFTER_A_BUG_S"):
        monkeypatch.setattr(writing, name, 0.005)
    made = tmp_path / "observed"
    asyncio.run(observed(made / "ns_9876"))
    return made


def test_a_journal_is_followed_for_an_hour_after_the_last_answer(folder):
    departed = Departed(folder)
    departed.mono_ms += DEPARTED_MS - 1
    assert not departed.has_left()
    departed.mono_ms += 1
    assert departed.has_left()
    departed.wanted.add("ns_9876")
    assert not departed.has_left(), "it is observed, and does not answer"


def test_a_journal_that_another_observer_writes_is_followed_and_stays(folder):
    departed = Departed(folder)
    release = take_lock(str(folder / "ns_9876"))
    assert departed.removed(AGE_MS + DAY_MS) == []
    assert not departed.has_left()
    release()
    assert departed.has_left()
    assert departed.removed(AGE_MS + DAY_MS) == ["ns_9876"]


def test_a_journal_is_removed_once_all_of_it_is_older_than_the_retention(folder):
    departed = Departed(folder)
    assert departed.removed(AGE_MS) == []
    assert JournalReader(FoundJournal(str(folder / "ns_9876"))).last_ts()
    departed.wanted.add("ns_9876")
    assert departed.removed(AGE_MS + 1) == []
    departed.wanted.clear()
    assert departed.removed(AGE_MS + 1) == ["ns_9876"]
    assert [*folder.iterdir()] == []
    assert not last_boot_path(str(folder / "ns_9876")).exists()


def test_a_name_server_that_comes_back_continues_its_journal(folder):
    path = folder / "ns_9876"
    before = load_identity(str(path))
    assert Departed(folder).removed(AGE_MS) == []
    asyncio.run(observed(path, value="w"))
    assert load_identity(str(path)) == before
    assert len({name.boot for name in JournalReader(FoundJournal(str(path))).segments}) == 2


def test_a_name_server_that_comes_back_after_the_retention_begins_a_journal(folder):
    path = folder / "ns_9876"
    before = load_identity(str(path))
    assert Departed(folder).removed(AGE_MS + 1) == ["ns_9876"]
    asyncio.run(observed(path))
    assert load_identity(str(path)) != before


@pytest.mark.parametrize("spoil", ["note", "segment", "name", "link", "identity", "ours"])
def test_only_journals_that_an_observer_made_are_removed(folder, tmp_path, spoil):
    path = folder / "ns_9876"
    if spoil == "note":
        (path / "notes.txt").write_text("mine")
    elif spoil == "segment":
        name = str(JournalReader(FoundJournal(str(path))).segments[0])
        (path / name.replace("ns_9876", "other_9876")).write_bytes(b"")
    elif spoil == "name":
        path = path.rename(folder / "kept")
    elif spoil == "link":
        path.rename(tmp_path / "ns_9876")
        path.symlink_to(tmp_path / "ns_9876")
    elif spoil == "identity":
        (path / "identity.json").write_text("{}")
    else:
        save_heard(str(path), structs.replace(load_heard(str(path)), is_observed=False))
    before = sorted(each.name for each in path.iterdir())
    assert path.name not in Departed(folder).removed(AGE_MS + DAY_MS)
    assert sorted(each.name for each in path.iterdir()) == before


def test_what_recovery_put_aside_stays(folder):
    aside = folder / "ns_9876" / "quarantine" / "some.torn"
    aside.parent.mkdir()
    aside.write_bytes(b"...")
    departed = Departed(folder)
    assert departed.removed(AGE_MS + 1) == ["ns_9876"]
    assert [each for each in folder.rglob("*") if each.is_file()] == [aside]
    assert departed.removed(AGE_MS + 2) == []


def test_a_clock_that_may_be_wrong_removes_nothing_for_a_day(folder):
    departed = Departed(folder)
    departed.wrong_ms = 2 * AGE_MS
    assert departed.removed(0) == []
    assert departed.removed(DAY_MS - 1) == []
    departed.wrong_ms = 0
    assert departed.removed(DAY_MS) == []
    assert departed.removed(2 * DAY_MS) == []
    assert departed.removed(AGE_MS + 1) == ["ns_9876"]


def test_a_start_long_after_the_last_answer_removes_nothing_for_a_day(folder):
    departed = Departed(folder, since_ms=LAST_MS + 2 * AGE_MS)
    assert departed.removed(2 * AGE_MS + DAY_MS - 1) == []
    assert departed.removed(2 * AGE_MS + DAY_MS) == ["ns_9876"]


def test_a_journal_whose_removal_was_cut_short_is_removed_later(folder):
    path = folder / "ns_9876"
    for name in JournalReader(FoundJournal(str(path))).segments:
        (path / str(name)).unlink()
    assert Departed(folder).removed(AGE_MS + 1) == ["ns_9876"]


def test_nothing_is_removed_before_the_clock_was_compared(folder):
    departed = Departed(folder)
    departed.journals = DepartedJournals(str(folder), AGE_MS, departed.wanted.__contains__, departed)
    assert departed.removed(AGE_MS + 1) == []
