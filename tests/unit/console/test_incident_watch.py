"""Incidents while they happen, out of journals that grow, also of those that a history has dropped."""

import asyncio
from pathlib import Path

import pytest

from namekeeper.answers.incidents.reading import IncidentJournals
from namekeeper.console import incident_watch, reading
from namekeeper.console.histories import Histories
from namekeeper.console.incident_watch import IncidentWatch
from namekeeper.console.reading import HistoriesReader
from namekeeper.errors import ConfigError
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.model.now import Now
from namekeeper.notifications.tracking import Tracking
from tests.support.journal.folder import write_journal
from tests.support.system.waiting import eventually
from tests.unit.answers.story import MINUTE, Story


class World:
    """One journal that grows, a watch, and what tracks the incidents."""

    def __init__(self, folder: Path, limit_bytes: int = 10_000_000) -> None:
        self.folder, self.story = folder / "journal", Story()
        self.story.registers("b0", "a0:1", ("T",))
        self.story.registers("b1", "a1:1", ("U",))
        self.limit_bytes, self.mono_ms = limit_bytes, 0
        self.tracking, self.looks, self.rereads = Tracking(), 0, 0
        self.problem = False

    def write(self) -> None:
        write_journal(self.folder, self.story.journal.lines())

    def histories(self) -> Histories:
        return Histories([JournalSource([FoundJournal(str(self.folder))], self)], self.limit_bytes)

    def now(self) -> Now:
        self.mono_ms += 50_000
        return Now(self.story.now + 1_000, self.mono_ms)

    def reread(self, since: int):
        self.rereads += 1
        if self.problem:
            raise ConfigError("gone")
        return IncidentJournals([FoundJournal(str(self.folder))], clock=self).read(since)

    async def see(self, seen):
        self.looks += 1
        self.tracking.see(seen, self.story.now)
        open_ones = [each.facts.from_ts for each in self.tracking.incidents.values() if each.is_open]
        return min(open_ones, default=None)

    async def shows(self, *states: tuple[str, bool]) -> None:
        await eventually(lambda: self.states == [*states])

    async def looks_again(self, times: int = 2) -> None:
        wanted = self.looks + times
        await eventually(lambda: self.looks >= wanted)

    @property
    def states(self) -> list[tuple[str, bool]]:
        return [(each.facts.what, each.is_open) for each in self.tracking.incidents.values()]


@pytest.fixture
def quick(monkeypatch):
    for module in (incident_watch, reading):
        monkeypatch.setattr(module, "POLL_SECONDS", 0.01)


async def watched(world: World, steps) -> None:
    await asyncio.to_thread(world.write)
    release = await asyncio.to_thread(take_lock, str(world.folder))
    try:
        histories = await asyncio.to_thread(world.histories)
        reader = HistoriesReader(histories)
        reading_on = asyncio.create_task(reader.run())
        watching = asyncio.create_task(IncidentWatch(reader, world.reread, world, world.see).run())
        steps_done = asyncio.create_task(steps())
        await asyncio.wait((watching, steps_done), return_when=asyncio.FIRST_COMPLETED)
        for task in (reading_on, watching):
            task.cancel()
        await asyncio.gather(reading_on, watching, return_exceptions=True)
        await steps_done
    finally:
        release()


async def test_an_incident_is_seen_while_it_happens(tmp_path, quick):
    world = World(tmp_path)

    async def steps():
        await world.looks_again()
        assert world.states == []
        world.story.connection_breaks("a0:1")
        await asyncio.to_thread(world.write)
        await world.shows(("b0 away", True))
        world.story.later(MINUTE)
        world.story.registers("b0", "a0:1", ("T",))
        await asyncio.to_thread(world.write)
        await world.shows(("b0 away", False))

    await watched(world, steps)
    assert world.rereads == 0


async def test_the_end_of_an_incident_whose_start_was_dropped_is_seen(tmp_path, quick):
    world = World(tmp_path, limit_bytes=2_000)

    async def steps():
        await world.looks_again()
        world.story.connection_breaks("a0:1")
        await asyncio.to_thread(world.write)
        await world.shows(("b0 away", True))
        for number in range(300):
            world.story.later(MINUTE // 10)
            world.story.registers("b1", "a1:1", ("U", f"V{number}"))
        await asyncio.to_thread(world.write)
        await world.looks_again(6)
        assert world.states == [("b0 away", True)]
        world.story.registers("b0", "a0:1", ("T",))
        await asyncio.to_thread(world.write)
        await world.shows(("b0 away", False))
        assert not any(each.facts.is_withdrawn for each in world.tracking.incidents.values())
        world.problem = True
        await world.looks_again(4)

    await watched(world, steps)
    assert world.rereads > 0
