"""A watcher of routes gets each change once, and is told when changes are not kept any more."""

import asyncio
from itertools import pairwise

import pytest
from msgspec import structs

from namekeeper.app import watching
from namekeeper.app.watching import Numbering, RouteWatch
from namekeeper.http.watchers import WatchRefusal
from namekeeper.model.broker import BrokerData
from namekeeper.processor.recent_changes import CHANGES_LIMIT, Revision
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerHeard,
    Cause,
    Change,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from tests.support.server.in_memory import InMemoryNameServer
from tests.support.system.waiting import eventually, turns
from tests.unit.answers.story import Story
from tests.unit.app.parts import FakeClock
from tests.unit.route.test_affected import RW

A, B = frozenset({"A"}), frozenset({"B"})


class Journal:
    """Numbers changes as the test says."""

    def __init__(self) -> None:
        self.now: Numbering | None = Numbering(1, 10, boot=5, durable_seq=10)

    def __call__(self) -> Numbering | None:
        return self.now

    def advance(self, by: int = 1) -> None:
        assert self.now is not None
        self.now = Numbering(self.now.epoch, self.now.seq + by, self.now.boot, self.now.seq + by)


class World:
    def __init__(self, limit: int = 100) -> None:
        self.journal = Journal()
        self.clock = FakeClock()
        self.state = InMemoryNameServer().state
        self.tick = 0.0
        """Seconds that pass at each look of the scheduler."""
        self.watch = RouteWatch(
            self.state,
            self.journal,
            clock=self.clock,
            scheduler=Scheduler(self._seconds),
            watchers_limit=limit,
        )
        self._passed = 1.0

    def _seconds(self) -> float:
        self._passed += self.tick
        return self._passed

    def change(self, *topics: str, by: int = 1) -> None:
        if self.journal.now is not None:
            self.journal.advance(by)
        events = tuple(TopicMappingChanged(topic, "b", None) for topic in topics)
        self.watch.changed(Change(Cause.REGISTER, "10.0.0.1:5", events))


@pytest.fixture
def world() -> World:
    return World()


def revisions(watcher) -> list[str] | None:
    changes = watcher.take()
    return None if changes is None else [change.revision for change in changes]


async def test_a_change_of_its_topic_is_told_with_time_cause_and_peer(world):
    watcher = await world.watch.watch(A, None)
    world.change("A")
    world.change("B")
    (change,) = watcher.take()
    at = world.clock.now().wall_ms
    assert (change.revision, change.topics, change.at, change.cause, change.peer) == (
        "5-11", ["A"], at, "register_broker", "10.0.0.1:5",
    )  # fmt: skip
    assert watcher.take() == []
    assert world.watch.revision() == "5-12"


async def test_a_change_has_the_time_of_its_record(world):
    """So it is the same whether it was told as it happened or read out of the journal."""
    watcher = await world.watch.watch(A, None)
    world.change("A")
    world.journal.now = structs.replace(world.journal.now, ts=1_234)
    numbering = world.journal.now
    world.watch.changed(Change(Cause.REGISTER, None, (TopicMappingChanged("A", "b", None),)))
    world.journal.now = structs.replace(numbering, ts=0)
    first, second = watcher.take()
    assert (first.at, second.at) == (world.clock.now().wall_ms, 1_234)


async def test_what_no_route_shows_is_no_change(world):
    heard = BrokerHeard("c", "a:1", 1, 0)
    before = world.watch.revision()
    world.journal.advance()
    world.watch.changed(Change(Cause.HEARTBEAT, None, (heard, KvChanged("n", "A", "x"))))
    assert world.watch.revision() == before


async def test_a_watcher_of_several_topics_gets_a_change_of_both_once(world):
    watcher = await world.watch.watch(A | B, None)
    world.change("B", "A", "C")
    assert [change.topics for change in watcher.take()] == [["A", "B"]]


async def test_who_was_cut_off_gets_what_it_missed_and_then_goes_on(world):
    first = await world.watch.watch(A, None)
    world.change("A")
    (seen,) = first.take()
    first.close()
    world.change("A")
    world.change("B")
    world.change("A")
    again = await world.watch.watch(A, seen.revision)
    world.change("A")
    assert revisions(again) == ["5-12", "5-14", "5-15"]


@pytest.mark.parametrize("after", ["4-1", "5-3", "5-99", "6-1", "nonsense"])
async def test_a_revision_that_is_too_old_or_never_was_is_gone(world, after):
    world.change("A")
    watcher = await world.watch.watch(A, after)
    assert watcher.take() is None
    world.change("A")
    assert revisions(watcher) == ["5-12"], "and it goes on from there"


async def test_waiting_ends_with_a_change_or_with_the_time(world):
    watcher = await world.watch.watch(A, None)
    await watcher.wait(0.001)
    waiting = asyncio.ensure_future(watcher.wait(1_000))
    await asyncio.sleep(0)
    world.change("A")
    await waiting
    assert revisions(watcher) == ["5-11"]
    watcher.close()
    await watcher.wait(1_000)
    assert len(world.watch) == 0


async def test_a_watcher_that_never_reads_keeps_so_many_changes_and_no_more(world, monkeypatch):
    monkeypatch.setattr(watching, "PENDING_LIMIT", 3)
    watcher = await world.watch.watch(A, None)
    for _ in range(3):
        world.change("A")
    assert revisions(watcher) == ["5-11", "5-12", "5-13"]
    for _ in range(4):
        world.change("A")
    assert revisions(watcher) is None
    assert revisions(watcher) == []


async def test_thousands_of_watchers_are_woken_a_few_at_a_time(world, monkeypatch):
    world.watch.limit = 5_000
    watchers = [await world.watch.watch(A, None) for _ in range(2_000)]
    waiting = [asyncio.ensure_future(watcher.wait(1_000)) for watcher in watchers]
    monkeypatch.setattr(watching, "WAKING_PAUSE_SECONDS", 0)
    await asyncio.sleep(0)
    world.change("A")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 0 < sum(each.done() for each in waiting) <= 2 * watching.WOKEN_AT_ONCE
    await asyncio.gather(*waiting)
    assert all(len(watcher.take()) == 1 for watcher in watchers)


@pytest.fixture
def ticking() -> World:
    world = World(limit=5_000)
    world.tick = 0.001
    return world


async def got(watchers) -> list[int]:
    return [len(watcher._pending) for watcher in watchers]


async def test_a_change_that_many_watch_is_distributed_over_many_turns(ticking):
    """In one turn all lookups waited for: 1,680 watchers of 200 topics each took 4.9 s."""
    names = [f"T{number:03}" for number in range(200)]
    watchers = [await ticking.watch.watch(frozenset(names[n:]), None) for n in range(100)]
    ticking.change(*names)
    told = [sum(await got(watchers))]
    while told[-1] < len(watchers):
        await asyncio.sleep(0)
        told.append(sum(await got(watchers)))
    assert told[0] < 5
    assert max(after - before for before, after in pairwise(told)) < 5
    for number, watcher in enumerate(watchers):
        (change,) = watcher.take()
        assert change.topics == names[number:]


async def test_the_topics_of_a_large_change_are_compared_over_many_turns(ticking):
    watcher = await ticking.watch.watch(frozenset({"T099999"}), None)
    ticking.change(*(f"T{number:06}" for number in range(100_000)))
    turns_taken = 0
    while not watcher._pending:
        await asyncio.sleep(0)
        turns_taken += 1
    assert turns_taken > 100_000 / watching.TOPICS_AT_ONCE / 5
    assert [change.topics for change in watcher.take()] == [["T099999"]]


async def test_changes_are_told_in_order_and_once_while_they_are_distributed(ticking):
    watchers = [await ticking.watch.watch(A, None) for _ in range(50)]
    ticking.change("A")
    ticking.change("B")
    ticking.change("A")
    early = next(watcher for watcher in watchers if watcher._pending)
    first = revisions(early)
    assert (first, early.revision()) == (["5-11"], "5-11")
    last = next(watcher for watcher in watchers if watcher is not early and not watcher._pending)
    assert (revisions(last), last.revision()) == ([], "5-10"), "what is not told yet is not passed over"
    late = await ticking.watch.watch(A, None)
    again = await ticking.watch.watch(A, last.revision())
    assert late.revision() == again.revision() == "5-13"
    ticking.change("A")
    await eventually(lambda: not ticking.watch._untold)
    assert revisions(early) == ["5-13", "5-14"]
    assert revisions(last) == ["5-11", "5-13", "5-14"]
    assert revisions(late) == ["5-14"]
    assert revisions(again) == ["5-11", "5-13", "5-14"]
    assert {watcher.revision() for watcher in (early, last, late, again)} == {"5-14"}


async def test_a_watcher_that_leaves_meanwhile_is_told_nothing(ticking):
    watchers = [await ticking.watch.watch(A, None) for _ in range(50)]
    ticking.change("A")
    leaving = [watcher for watcher in watchers if not watcher._pending][25:]
    for watcher in leaving:
        watcher.close()
    await eventually(lambda: not ticking.watch._untold)
    assert await got(watchers) == [int(watcher not in leaving) for watcher in watchers]
    assert len(ticking.watch) == 50 - len(leaving)


async def test_changes_that_come_faster_than_they_are_distributed_are_missed(ticking, monkeypatch):
    monkeypatch.setattr(watching, "UNTOLD_LIMIT", 3)
    watchers = [await ticking.watch.watch(A, None) for _ in range(50)]
    for _ in range(10):
        ticking.change("A")
    assert len(ticking.watch._untold) <= 3
    await eventually(lambda: not ticking.watch._untold)
    assert {watcher.revision() for watcher in watchers} == {"5-20"}
    assert all(watcher.take() is None for watcher in watchers)
    ticking.change("A")
    await eventually(lambda: not ticking.watch._untold)
    assert all(revisions(watcher) == ["5-21"] for watcher in watchers)


async def test_numbers_that_begin_anew_end_the_distribution(ticking):
    watchers = [await ticking.watch.watch(A, None) for _ in range(50)]
    ticking.change("A")
    ticking.journal.now = Numbering(2, 3, boot=6, durable_seq=3)
    assert ticking.watch.revision() == "6-3"
    await turns()
    assert all(watcher.take() is None for watcher in watchers)
    assert {watcher.revision() for watcher in watchers} == {"6-3"}
    ticking.change("A")
    await eventually(lambda: not ticking.watch._untold)
    assert all(revisions(watcher) == ["6-4"] for watcher in watchers)


async def test_missed_changes_are_found_over_many_turns_and_new_ones_come_after_them(ticking):
    for _ in range(90):
        ticking.change("A")
    asking = [asyncio.ensure_future(ticking.watch.watch(A, "5-10")) for _ in range(3)]
    await asyncio.sleep(0)
    ticking.change("A")
    turns_taken = 0
    while not all(each.done() for each in asking):
        await asyncio.sleep(0)
        turns_taken += 1
    assert turns_taken > 3 * 90 / 5, "those who come back share a turn"
    for each in asking:
        assert revisions(each.result()) == [f"5-{seq}" for seq in range(11, 102)]


async def test_the_topics_that_wait_for_a_watcher_are_bounded(world):
    names = [f"T{number:03}" for number in range(200)]
    watcher = await world.watch.watch(frozenset(names), None)
    for _ in range(watching.PENDING_TOPICS_LIMIT // 200):
        world.change(*names)
    assert len(watcher.take()) == watching.PENDING_TOPICS_LIMIT // 200
    for _ in range(watching.PENDING_TOPICS_LIMIT // 200 + 1):
        world.change(*names)
    assert watcher.take() is None
    assert not watcher._pending


async def test_watched_topics_are_bounded_and_a_watcher_of_few_is_taken(monkeypatch):
    monkeypatch.setattr(watching, "WATCHED_LIMIT", 100)
    world = World()
    wide = frozenset(f"T{number}" for number in range(40))
    watchers = [await world.watch.watch(wide, None) for _ in range(2)]
    assert await world.watch.watch(wide, None) is WatchRefusal.MANY_TOPICS
    assert await world.watch.watch(wide, "5-10") is WatchRefusal.MANY_TOPICS
    few = frozenset(f"T{number}" for number in range(watching.FEW_TOPICS))
    assert not isinstance(await world.watch.watch(few, None), WatchRefusal)
    watchers[0].close()
    watchers[0].close()
    assert not isinstance(await world.watch.watch(wide, None), WatchRefusal)


async def test_too_many_watchers_are_refused_until_one_leaves():
    world = World(limit=1)
    first = await world.watch.watch(A, None)
    assert await world.watch.watch(A, None) is WatchRefusal.FULL
    first.close()
    first.close()
    assert not isinstance(await world.watch.watch(A, None), WatchRefusal)


async def test_until_the_boot_is_known_nobody_can_watch(world):
    world.journal.now = Numbering(-1, 0)
    assert await world.watch.watch(A, None) is WatchRefusal.NOT_READY
    assert world.watch.revision() is None


async def test_without_a_journal_changes_are_counted_from_the_start(world):
    world.journal.now = None
    boot = world.clock.now().wall_ms
    watcher = await world.watch.watch(A, None)
    world.change("A")
    world.change("A")
    assert revisions(watcher) == [f"{boot}-1", f"{boot}-2"]


async def test_when_numbers_begin_anew_older_ones_are_gone(world):
    watcher = await world.watch.watch(A, None)
    world.change("A")
    world.journal.now = Numbering(2, 3, boot=6, durable_seq=3)
    assert world.watch.revision() == "6-3"
    assert revisions(watcher) is None
    assert (await world.watch.watch(A, "5-11")).take() is None


async def test_a_group_shows_in_all_topics_of_its_brokers(world):
    world.state.tables.apply(TopicQueuesChanged("b", {}, {"A": RW}, ("A",)))
    watcher = await world.watch.watch(A, None)
    group = BrokerGroupChanged(BrokerData("c", "b", {0: "b:1"}))
    world.state.tables.apply(group)
    world.journal.advance()
    world.watch.changed(Change(Cause.EXPIRED, None, (group,)))
    (change,) = watcher.take()
    assert (change.cause, change.peer) == ("expired", None)


async def test_what_is_kept_of_changes_is_bounded(world):
    world.change("A")
    first = world.watch.revision()
    for _ in range(CHANGES_LIMIT):
        world.change("B")
    assert (await world.watch.watch(A, first)).take() == []
    world.change("B")
    assert (await world.watch.watch(A, first)).take() is None


async def test_after_a_restart_it_goes_on_from_the_journal(tmp_path):
    """The folder is read once, however many come back."""
    story = Story()
    story.registers()
    seen = str(Revision(story.journal.boot, story.journal.seq))
    story.wiped()
    story.restarts()
    story.registers()
    journal = story.journal
    folder = story.folder(tmp_path)
    world = World()
    world.journal.now = Numbering(1, journal.seq, journal.boot, journal.seq, folder)
    topics = frozenset({"T"})
    first, second = await asyncio.gather(world.watch.watch(topics, seen), world.watch.watch(topics, seen))
    causes = [change.cause for change in first.take()]
    assert causes == ["wipe_write_perm", "started", "register_broker"]
    assert [change.cause for change in second.take()] == causes
    for file in tmp_path.iterdir():
        await asyncio.to_thread(file.unlink)
    assert len((await world.watch.watch(topics, seen)).take()) == 3


async def test_what_is_not_on_disk_in_time_is_gone_and_never_passed_over(tmp_path):
    story = Story()
    story.registers()
    seen = f"{story.journal.boot}-{story.journal.seq}"
    folder = story.folder(tmp_path / "early")
    story.wiped()
    journal, topics = story.journal, frozenset({"T"})
    world = World()
    world.journal.now = Numbering(1, journal.seq, journal.boot, journal.seq - 1, folder)
    asking = asyncio.ensure_future(world.watch.watch(topics, seen))
    await turns()
    world.clock.advance(watching.DURABLE_SECONDS)
    assert (await asking).take() is None
    world.journal.now = Numbering(1, journal.seq, journal.boot, journal.seq, story.folder(tmp_path / "late"))
    (change,) = (await world.watch.watch(topics, seen)).take()
    assert change.cause == "wipe_write_perm"


async def test_it_waits_until_what_was_recorded_is_on_disk(tmp_path):
    story = Story()
    story.registers()
    journal = story.journal
    folder = story.folder(tmp_path)
    world = World()
    world.journal.now = Numbering(1, journal.seq, journal.boot, 0, folder)
    asking = asyncio.ensure_future(world.watch.watch(frozenset({"T"}), f"{journal.boot}-2"))
    await asyncio.sleep(0)
    assert not asking.done()
    world.journal.now = Numbering(1, journal.seq, journal.boot, journal.seq, folder)
    await eventually(asking.done)
    assert asking.result().take() is not None
