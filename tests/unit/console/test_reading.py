"""One reading of all histories: those of the start, those that are added later, and what a bug ends."""

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest

from namekeeper.console import reading
from namekeeper.console.histories import FollowedHistory, Histories, HistoryLock
from namekeeper.console.reading import HistoriesReader
from namekeeper.history.rows import GroupKey
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.system.waiting import PATIENCE, eventually
from tests.unit.answers.story import Story
from tests.unit.console.test_histories import Clock


class Journal:
    """The journal of one name server, which grows."""

    def __init__(self, folder, namesrv: str) -> None:
        self.folder, self.namesrv, self.story = folder / namesrv, namesrv, Story(namesrv)
        self.story.registers()
        self.story.folder(self.folder)
        self.source = JournalSource([FoundJournal(str(self.folder))], Clock(self.story.now))

    def grows(self) -> None:
        self.story.later(1_000)
        self.story.registers("b-new", "10.0.0.9:1", ("T",))
        self.story.folder(self.folder)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(reading, "POLL_SECONDS", 0.01)


@pytest.fixture
def pair(tmp_path) -> tuple[Journal, Journal]:
    """Made outside of the loop."""
    return Journal(tmp_path, "a_1"), Journal(tmp_path, "b_1")


@asynccontextmanager
async def running(reader: HistoriesReader):
    task = asyncio.create_task(reader.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def brokers(histories: Histories, namesrv: str) -> set[str]:
    (found,) = (each for each in histories.followed if each.history.namesrv == namesrv)
    return {key.broker_name for key in found.history.keys(GroupKey)}


async def test_a_history_that_is_added_later_is_shown_once_it_is_read_and_followed(pair):
    a, b = pair
    histories = await asyncio.to_thread(Histories, [a.source])
    reader = HistoriesReader(histories)
    async with running(reader):
        await reader.has_read.wait()
        revision = histories.revision
        news = asyncio.create_task(
            reader.wait_for_change(lambda: histories.revision != revision, PATIENCE * 60)
        )
        await reader.add("b_1", b.source)
        assert [each.history.namesrv for each in histories.followed] == ["a_1", "b_1"]
        assert all(each.history.knows_from is not None for each in histories.followed)
        await news
        await asyncio.to_thread(pair[1].grows)
        await eventually(lambda: "b-new" in brokers(histories, "b_1"))


async def test_a_history_that_is_removed_is_shown_and_read_no_more(pair):
    histories = await asyncio.to_thread(lambda: Histories([each.source for each in pair]))
    reader = HistoriesReader(histories)
    async with running(reader):
        await reader.has_read.wait()
        revision, gone = histories.revision, histories.all[1]
        await reader.remove("b_1")
        assert [each.history.namesrv for each in histories.followed] == ["a_1"]
        assert histories.revision > revision
        reads = []
        histories.read = reads.append
        await eventually(lambda: len(reads) > 3)
        assert gone not in reads
        await reader.remove("b_1")


def test_each_history_has_a_smaller_share_of_the_memory_when_there_is_one_more(pair, monkeypatch):
    shares: dict[str, int] = {}
    bound = FollowedHistory.bound

    def noted(history: FollowedHistory, limit_bytes: int) -> None:
        shares[history.namesrv] = limit_bytes
        bound(history, limit_bytes)

    monkeypatch.setattr(FollowedHistory, "bound", noted)
    a, b = pair
    histories = Histories([a.source], 1_000_000)
    assert shares == {"a_1": 1_000_000}
    histories.add(histories.prepared("b_1", b.source))
    assert shares == {"a_1": 500_000, "b_1": 500_000}
    histories.remove(histories.all[0])
    assert shares == {"a_1": 500_000, "b_1": 1_000_000}
    histories.remove(histories.all[0])
    assert histories.all == []


async def test_without_histories_everything_is_read():
    reader = HistoriesReader(Histories([]))
    async with running(reader):
        await reader.has_read.wait()
        assert reader.has_begun.is_set()


async def test_a_bug_in_one_reading_is_logged_and_ends_none_of_the_others(pair, monkeypatch, caplog):
    read = FollowedHistory.read

    def broken(history: FollowedHistory, lock: HistoryLock) -> bool:
        if history.namesrv == "a_1":
            raise ZeroDivisionError
        return read(history, lock)

    monkeypatch.setattr(FollowedHistory, "read", broken)
    histories = await asyncio.to_thread(Histories, [each.source for each in pair])
    reader = HistoriesReader(histories)
    with caplog.at_level(logging.ERROR):
        async with running(reader):
            await reader.has_read.wait()
            await asyncio.to_thread(pair[1].grows)
            await eventually(lambda: "b-new" in brokers(histories, "b_1"))
    assert "a bug in the reading of a_1" in caplog.text
