"""Incidents while they happen, out of journals that grow, also of those that a history has dropped."""

import asyncio
from pathlib import Path

import pytest

from namekeeper.answers.incidents.reading import IncidentJournals
from namekeeper.console import incident_watch, reading
from namekeeper.console.histories import Histories
from namekeeper.console.incident_watch import IncidentWatch
from namekeeper.console.present_incidents import computed_drift
from namekeeper.console.reading import HistoriesReader
from namekeeper.errors import ConfigError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.expected.maintenance import MaintenanceLog, Scope, log_beside
from namekeeper.expected.state import learn
from namekeeper.expected.state_file import expected_text
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.model.now import Now
from namekeeper.notifications.tracking import Tracking
from tests.support.journal.folder import write_journal
from tests.support.system.waiting import eventually
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import align_ends


class World:
    """One journal that grows, a watch, and what tracks the incidents."""

    def __init__(self, folder: Path, limit_bytes: int = 10_000_000) -> None:
        self.folder, self.story = folder / "journal", Story()
        self.story.registers("b0", "a0:1", ("T",))
        self.story.registers("b1", "a1:1", ("U",))
        self.limit_bytes, self.mono_ms = limit_bytes, 0
        self.tracking, self.looks, self.rereads = Tracking(), 0, 0
        self.problem = False
        self.expected: ExpectedFile | None = None
        self.others: list[FoundJournal] = []

    def write(self) -> None:
        write_journal(self.folder, self.story.journal.lines())

    def histories(self) -> Histories:
        found = [FoundJournal(str(self.folder)), *self.others]
        return Histories([JournalSource(found, self)], self.limit_bytes)

    def now(self) -> Now:
        self.mono_ms += 50_000
        return Now(self.story.now + 1_000, self.mono_ms)

    def reread(self, since: int):
        self.rereads += 1
        if self.problem:
            raise ConfigError("gone")
        is_whole = self.expected is not None
        return IncidentJournals([FoundJournal(str(self.folder))], clock=self, is_whole=is_whole).read(since)

    def expects(self, folder: Path) -> None:
        """Take what is there for what must be there."""
        file = folder / "expected.toml"
        file.write_text(expected_text(learn([self.story.history()]).state))
        self.expected = ExpectedFile(str(file))

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
        drift = computed_drift(histories, world).value
        watch = IncidentWatch(reader, world.reread, world, world.see, drift, world.expected)
        watching = asyncio.create_task(watch.run())
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


async def test_name_servers_that_disagree_are_seen_until_they_agree(tmp_path, quick):
    world = World(tmp_path)
    other = Story("other_1")
    other.registers("b0", "a0:1", ("T",))
    other.registers("b1", "a1:1", ("U",))
    folder = tmp_path / "other"
    folder.mkdir()
    world.others = [FoundJournal(str(folder))]
    write_journal(folder, other.journal.lines())

    async def both(ms: int) -> None:
        align_ends([world.story, other], ms)
        write_journal(folder, other.journal.lines())
        await asyncio.to_thread(world.write)

    async def steps():
        await world.looks_again()
        assert world.states == []
        other.connection_breaks("a0:1")
        await both(MINUTE)
        await eventually(lambda: len(world.states) == 1)
        ((what, is_open),) = world.states
        assert what.startswith("b0 (a0:1) registers with 1 of 2 name servers (missing: other_1)")
        assert is_open
        other.registers("b0", "a0:1", ("T",))
        back = other.now
        await both(MINUTE)
        await eventually(lambda: [is_open for _, is_open in world.states] == [False])
        (tracked,) = world.tracking.incidents.values()
        assert (tracked.facts.to_ts, tracked.facts.is_withdrawn) == (back, False)

    await watched(world, steps)


UNEXPECTED = "topic U on b0 is not expected: 4/4 RW-"


@pytest.mark.parametrize(("limit_bytes", "topics"), [(10_000_000, 0), (2_000, 300)])
async def test_a_deviation_is_followed_also_when_its_start_was_dropped(tmp_path, quick, limit_bytes, topics):
    world = World(tmp_path, limit_bytes)
    world.story.later()
    await asyncio.to_thread(world.expects, tmp_path)

    async def steps():
        await world.looks_again()
        world.story.registers("b0", "a0:1", ("T", "U"))
        world.story.later()
        world.story.alive()
        await asyncio.to_thread(world.write)
        await world.shows((UNEXPECTED, True))
        for number in range(topics):
            world.story.later(MINUTE // 10)
            world.story.registers("b1", "a1:1", ("U",), zone=f"z{number}")
        world.story.deleted("U")
        await asyncio.to_thread(world.write)
        await eventually(lambda: (UNEXPECTED, False) in world.states)
        assert not any(each.facts.is_withdrawn for each in world.tracking.incidents.values())

    await watched(world, steps)
    assert (world.rereads > 0) == bool(topics)


async def test_a_window_that_is_started_meanwhile_marks_an_incident_as_planned(tmp_path, quick):
    world = World(tmp_path)
    await asyncio.to_thread(world.expects, tmp_path)
    log = MaintenanceLog(log_beside(str(tmp_path / "expected.toml")))

    async def steps():
        await world.looks_again()
        now = world.story.now
        scope = Scope(brokers=("b0",))
        id_ = await asyncio.to_thread(log.start, scope, now, now + MINUTE, who="a", why="", now=now)
        world.story.connection_breaks("a0:1")
        await asyncio.to_thread(world.write)
        await world.shows(("b0 away", True))
        (one,) = world.tracking.incidents.values()
        assert one.facts.planned == id_
        world.story.later(2 * MINUTE)
        world.story.alive()
        await asyncio.to_thread(world.write)
        await eventually(lambda: not next(iter(world.tracking.incidents.values())).facts.planned)

    await watched(world, steps)


def test_what_can_not_be_read_again_is_left_out(tmp_path):
    world = World(tmp_path)
    world.write()
    histories = world.histories()
    watch = IncidentWatch(
        HistoriesReader(histories), world.reread, world, world.see, computed_drift(histories, world).value
    )
    seen = watch._earlier(world.reread, 0, 7)
    assert seen is not None
    assert (seen.until, seen.up_to) == (7, world.story.now)
    assert watch._earlier(lambda _: [], 0, 7) is None
    world.problem = True
    assert watch._earlier(world.reread, 0, 7) is None
