"""A period of observation on disk: what every reader finds there."""

import asyncio
import os
import threading
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from namekeeper.answers.from_journal import JournalFolder
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal import journal as writing
from namekeeper.journal.disk.heard_file import load_heard
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.reading.coverage import Coverage, Knowledge
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.journal.settings import WriterSettings
from namekeeper.model.now import Now
from namekeeper.observe import journal as module
from namekeeper.observe.config import Target, journal_settings
from namekeeper.observe.journal import ObservedJournal, Restart
from namekeeper.remoting.address import Address
from namekeeper.route.events import Cause, Change, KvChanged
from tests.support.system.processes import eventually
from tests.support.system.waiting import eventually as comes_soon
from tests.unit.journal.disk_parts import records_in
from tests.unit.observe.test_tables import known

BEGIN = 1_700_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name in ("GROUP_S", "BUSY_S", "IDLE_S", "AFTER_A_BUG_S"):
        monkeypatch.setattr(writing, name, 0.005)


def opened(path, now, restart=Restart.POSSIBLE):
    target = Target("ns_9876", Address("10.0.0.9", 9876))
    writer = WriterSettings(folder=str(path), namesrv=target.id)
    return ObservedJournal(journal_settings(target, restart), writer, 9876, known("a").tables.snapshot, now)


def change(value, window_ms):
    return Change(Cause.OBSERVED, None, (KvChanged("n", "k", value),), window_ms=window_ms)


async def comes_true(fact):
    await asyncio.to_thread(partial(eventually, fact, within=10, what="the journal"))


async def state_at(path, ms):
    """What a reader finds."""
    return await asyncio.to_thread(lambda: JournalFolder(str(path)).state_at(BEGIN + ms))


class Later:
    """A clock that is far ahead of the last answer."""

    ms = 60_000

    def now(self) -> Now:
        return at(self.ms)


def read_later(folder):
    """What readers find of some times, up to when they know, and the present of the page."""
    found = JournalFolder(folder, clock=Later())
    states = [found.state_at(at) for at in (BEGIN + 8_999, None, BEGIN + 9_001)]
    return states, found.evidence("T", None).knows_up_to, next(presents_in(folder, Later()))


def presents_in(folder, clock):
    """The present of the page each time that it is asked for; the journal is read once, at the call."""
    steps = JournalSource([FoundJournal(folder)], clock).steps("ns_9876")
    coverage = Coverage()
    for step in steps:
        coverage.take(step)
    return (steps.present(coverage) for _ in count())


def at(ms):
    return Now(BEGIN + ms, ms)


async def test_the_state_is_known_until_the_last_answer_and_not_stopped(tmp_path):
    journal = opened(tmp_path, at(1_000))
    journal.answered(at(2_000), [change("v", 900)])
    journal.answered(at(5_000), [])
    await journal.leave()
    records = await asyncio.to_thread(records_in, tmp_path)
    kinds = [record["kind"] for record in records]
    assert kinds[0] == "server_started"
    assert (kinds[-1], records[-1]["ts"]) == ("server_alive", BEGIN + 5_000)
    assert not {"server_stopped", "broker_minute"} & set(kinds)
    (kv,) = [record for record in records if record["kind"] == "kv"]
    assert (kv["ts"], kv["window_ms"], kv["cause"]) == (BEGIN + 2_000, 900, "observed")
    found = await state_at(tmp_path, 5_000)
    assert found.knowledge is Knowledge.KNOWN
    assert found.state.kv == {"n": {"k": "v"}}
    assert (await state_at(tmp_path, 5_001)).knowledge is Knowledge.NOT_YET
    assert not is_locked(str(tmp_path))


async def test_another_period_is_a_boot_and_nothing_is_known_between_the_two(tmp_path):
    first = opened(tmp_path, at(1_000))
    first.answered(at(5_000), [])
    await first.leave()
    second = opened(tmp_path, at(60_000), Restart.SEEN)
    second.answered(at(61_000), [])
    await second.leave()
    records = await asyncio.to_thread(records_in, tmp_path)
    starts = [record for record in records if record["kind"] == "server_started"]
    assert [(start["observed_addr"], start.get("restart")) for start in starts] == [
        ("10.0.0.9:9876", None), ("10.0.0.9:9876", "seen"),
    ]  # fmt: skip
    known_at = [(await state_at(tmp_path, ms)).knowledge for ms in (4_999, 5_001, 59_999, 60_001)]
    assert known_at == [Knowledge.KNOWN, Knowledge.UNKNOWN, Knowledge.UNKNOWN, Knowledge.KNOWN]


@pytest.mark.parametrize("hours", [-3, 3])
async def test_a_clock_that_is_set_by_hours_loses_no_change_and_widens_no_window(tmp_path, hours):
    set_ms = hours * 3_600_000
    journal = opened(tmp_path, at(1_000))
    journal.answered(at(2_000), [change("before", 900)])
    journal.answered(Now(BEGIN + set_ms + 3_000, 3_000), [change("after", 800)])
    journal.answered(Now(BEGIN + set_ms + 5_000, 5_000), [])
    await journal.leave()
    records = await asyncio.to_thread(records_in, tmp_path)
    assert [record["window_ms"] for record in records if record["kind"] == "kv"] == [900, 800]
    assert [record["kind"] for record in records].count("clock_changed") == 1
    found = await asyncio.to_thread(lambda: JournalFolder(str(tmp_path)).state_at(None))
    assert (found.knowledge, found.state.kv) == (Knowledge.KNOWN, {"n": {"k": "after"}})


async def test_an_observer_that_is_killed_knows_until_when_it_had_answers(tmp_path):
    journal = opened(tmp_path, at(1_000))
    try:
        await comes_true(lambda: is_locked(str(tmp_path)))
        journal.answered(at(9_000), [])
        await comes_true(lambda: load_heard(str(tmp_path)).ts == BEGIN + 9_000)
        assert (await asyncio.to_thread(load_heard, str(tmp_path))).ts == BEGIN + 9_000
    finally:
        await journal.leave()


async def test_while_it_is_observed_the_state_is_known_until_the_last_answer(tmp_path):
    """The name server is quiet, and silent since 51 s: its last answer says all that is known."""
    journal = opened(tmp_path, at(1_000))
    try:
        journal.answered(at(9_000), [])
        await comes_true(lambda: load_heard(str(tmp_path)).ts == BEGIN + 9_000)
        states, knows_up_to, present = await asyncio.to_thread(read_later, str(tmp_path))
        assert [(each.at - BEGIN, each.knowledge) for each in states] == [
            (8_999, Knowledge.KNOWN), (9_000, Knowledge.KNOWN), (9_001, Knowledge.NOT_YET),
        ]  # fmt: skip
        assert knows_up_to == BEGIN + 9_000
        assert (present.is_running, present.until) == (True, BEGIN + 9_000)
    finally:
        await journal.leave()


async def test_a_record_of_the_last_answer_gives_the_state_of_the_present(tmp_path):
    """Once a minute it did not for up to a second: a broker that another name server lacked was away."""
    journal = opened(tmp_path, at(1_000))
    try:
        journal.answered(at(9_000), [change("v", 900)])
        await comes_true(lambda: load_heard(str(tmp_path)).ts == BEGIN + 9_000)
        await comes_true(lambda: records_in(tmp_path)[-1]["ts"] == BEGIN + 9_000)
        clock = Later()
        presents = await asyncio.to_thread(presents_in, str(tmp_path), clock)
        assert (next(presents).is_running, next(presents).until) == (True, BEGIN + 9_000)
        clock.ms += 10_000
        assert next(presents).until == BEGIN + 9_000
        clock.ms += 1
        assert next(presents).until is None, "no further answer: the disk may be full"
    finally:
        await journal.leave()


class HangingDisk:
    """`os.fsync` of files in one folder waits until the disk works again."""

    def __init__(self, monkeypatch, folder):
        self.works = threading.Event()
        self.waits = 0
        self._folder, self._sync = str(folder), os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, file):
        if not self.works.is_set() and str(Path(f"/proc/self/fd/{file}").readlink()).startswith(self._folder):
            self.waits += 1
            self.works.wait()
        self._sync(file)

    async def hangs(self, journal):
        """Give answers until it is time to sync, and the disk does not answer."""
        times = count(3_100, 100)

        def is_waiting():
            journal.answered(at(next(times)), [])
            return self.waits

        await comes_soon(is_waiting)


def values_in(folder):
    return [
        (each["value"], each["ts"] - BEGIN, each["window_ms"])
        for each in records_in(folder)
        if each["kind"] == "kv" and each.get("window_ms")
    ]


def starts_in(folder):
    return [each["ts"] - BEGIN for each in records_in(folder) if each["kind"] == "server_started"]


async def test_a_disk_that_hangs_has_changes_recorded_later_with_their_times_and_is_said(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "HANG_SECONDS", 0.1)
    slow, other = opened(tmp_path / "slow", at(1_000)), opened(tmp_path / "other", at(1_000))
    try:
        for each in (slow, other):
            each.answered(at(2_000), [change("first", 900)])
        await comes_true(lambda: values_in(tmp_path / "slow") == values_in(tmp_path / "other") != [])
        disk = HangingDisk(monkeypatch, tmp_path / "slow")
        for each in (slow, other):
            each.answered(at(3_000), [change("second", 800)])
        await disk.hangs(slow)
        for each in (slow, other):
            each.answered(at(HOUR_MS), [change("third", 700)])
        await comes_true(lambda: slow.status().trouble)
        assert slow.status().trouble == f"{tmp_path}/slow: the disk hangs for more than 0.1 s: changes wait"
        assert slow.status().waiting
        expected = [("first", 2_000, 900), ("second", 3_000, 800), ("third", HOUR_MS, 700)]
        await comes_true(lambda: values_in(tmp_path / "other") == expected)
        assert other.status().trouble == ""
        disk.works.set()
        await comes_true(lambda: values_in(tmp_path / "slow") == expected)
        await comes_true(lambda: not slow.status().trouble and not slow.status().waiting)
        assert slow.status().dropped_records == 0
    finally:
        await asyncio.gather(slow.leave(), other.leave())


async def test_a_period_that_ends_while_the_disk_hangs_is_whole_and_the_next_one_is_recorded(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "JOIN_SECONDS", 0.1)
    journal = opened(tmp_path, at(1_000))
    await comes_true(lambda: journal.status().boot)
    disk = HangingDisk(monkeypatch, tmp_path)
    try:
        journal.answered(at(2_000), [change("v", 900)])
        await disk.hangs(journal)
        journal.answered(at(HOUR_MS), [change("w", 800)])
        await journal.leave()
        journal = opened(tmp_path, at(HOUR_MS + 1_000))
        await comes_true(lambda: journal.status().trouble)
        disk.works.set()
        await comes_true(lambda: not is_locked(str(tmp_path)))
        journal.answered(at(2 * HOUR_MS), [])  # a refused folder is tried again after 30 s
        await comes_true(lambda: starts_in(tmp_path) == [1_000, 2 * HOUR_MS])
        journal.answered(at(3 * HOUR_MS), [change("x", 700)])
        expected = [("v", 2_000, 900), ("w", HOUR_MS, 800), ("x", 3 * HOUR_MS, 700)]
        await comes_true(lambda: values_in(tmp_path) == expected)
    finally:
        disk.works.set()
        await journal.leave()
    instants = (HOUR_MS - 1, HOUR_MS + 1, 3 * HOUR_MS)
    known_at = [(await state_at(tmp_path, ms)).knowledge for ms in instants]
    assert known_at == [Knowledge.KNOWN, Knowledge.UNKNOWN, Knowledge.KNOWN]


async def test_a_folder_that_cannot_be_used_is_said(tmp_path):
    (tmp_path / "other").write_text("not a journal")
    journal = opened(tmp_path, at(1_000))
    try:
        await comes_true(lambda: "is not a journal" in journal.status().trouble)
    finally:
        await journal.leave()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other"]


async def test_the_status_says_where_and_what(tmp_path):
    journal = opened(tmp_path, at(1_000))
    try:
        await comes_true(lambda: journal.status().boot)
        status = journal.status()
        assert (status.folder, status.boot, status.trouble) == (str(tmp_path), BEGIN + 1_000, "")
        assert status.last_seq > 3
    finally:
        await journal.leave()
