"""After a change the native front soon knows again what it was asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from namekeeper.app.refilling import MOST_WAITS, QUIET_SECONDS, Refilling
from namekeeper.wire.codec import encode_command
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.remoting.fake_front import FakeStore
from tests.unit.remoting.joined import Joined

TOPICS = ("T1", "T2", "T3")
OLD_VERSION = 300
"""Of a client that is answered in the form before 4.9.4."""


class Refilled:
    """A server in memory whose front was asked for some topics; timers are in the hands of the test."""

    def __init__(self, folder: Path) -> None:
        self.parts = Parts(folder)
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.store = FakeStore()
        self.parts.state.lookup_cache.topic_answers.use(self.store)
        self.refilling = Refilling(
            self.parts.state,
            clock=self.parts.clock,
            call_later=lambda seconds, call: self.timers.append((seconds, call)),
        )
        self.refilling.begin()
        self.connection = Joined(self.parts.requests, lookup_cache=self.parts.state.lookup_cache)
        self.version = 0
        self.change()

    def change(self, topics: tuple[str, ...] = TOPICS, **fields: str) -> None:
        """Have the broker register these topics at another address."""
        self.version += 1
        addr = f"10.0.0.{self.version % 250}:10911"
        self.connection.deliver(
            encode_command(registration(topics, version=self.version, addr=addr, **fields))
        )
        self.parts.run_turns()

    def ask(self, topic: str, version: int = 513) -> bytes:
        """What the server itself answers; the front learns it."""
        self.connection.deliver(frame(105, topic=topic, version=version))
        return self.connection.answers[-1].body

    def run_timers(self) -> list[float]:
        """Run what is due next; return after which times it was due."""
        due, self.timers = self.timers, []
        for _, call in due:
            call()
        return [seconds for seconds, _ in due]

    def knows(self, topic: str, *, standard: bool = True) -> bytes | None:
        return self.store.learned.get((topic, standard), (0, None))[1]


@pytest.fixture
async def refilled(tmp_path: Path) -> Refilled:
    made = Refilled(tmp_path)
    for topic in TOPICS:
        made.ask(topic)
    return made


async def test_what_was_asked_for_is_known_again_as_it_is_now(refilled):
    refilled.ask("T1", OLD_VERSION)
    before = refilled.knows("T1"), refilled.knows("T1", standard=False)
    refilled.change()
    assert refilled.store.learned == {}
    assert refilled.run_timers() == [QUIET_SECONDS]
    now = refilled.knows("T1"), refilled.knows("T1", standard=False)
    assert set(now).isdisjoint(before)
    assert now == (refilled.ask("T1"), refilled.ask("T1", OLD_VERSION))
    assert refilled.knows("T2") == refilled.ask("T2")
    assert refilled.knows("T2", standard=False) is None
    assert refilled.timers == []


async def test_what_has_no_route_any_more_is_not_known(refilled):
    refilled.connection.deliver(frame(216, topic="T2", opaque=2))
    refilled.change(("T1",))
    while refilled.timers:
        refilled.run_timers()
    assert refilled.knows("T1") is not None
    assert refilled.knows("T2") is None


async def test_while_routes_change_nothing_is_refilled_but_not_for_long(refilled):
    refilled.change()
    for _ in range(MOST_WAITS - 1):
        refilled.ask("T1")
        refilled.change()
        assert refilled.run_timers() == [QUIET_SECONDS]
        assert refilled.store.learned == {}
    refilled.ask("T1")
    refilled.change()
    refilled.run_timers()
    assert refilled.knows("T1") is not None
    refilled.ask("T2")
    refilled.change()
    refilled.ask("T2")
    refilled.change()
    refilled.run_timers()
    assert refilled.knows("T1") is None
    refilled.run_timers()
    assert refilled.knows("T1") is not None


async def test_when_its_time_is_over_others_have_their_turn(refilled, monkeypatch):
    get = refilled.parts.state.route_answers.get

    def slow(topic: str, standard: bool) -> object:
        refilled.parts.clock.advance(0.002)
        return get(topic, standard)

    monkeypatch.setattr(refilled.parts.state.route_answers, "get", slow)
    refilled.change()
    refilled.run_timers()
    known = [len(refilled.store.learned)]
    while refilled.timers:
        assert refilled.run_timers() == [0]
        known.append(len(refilled.store.learned))
    assert known[:3] == [1, 2, 3]


async def test_what_can_not_be_made_stops_no_other(refilled, monkeypatch):
    get = refilled.parts.state.route_answers.get

    def failing(topic: str, standard: bool) -> object:
        if topic == "T1":
            raise ZeroDivisionError
        return get(topic, standard)

    monkeypatch.setattr(refilled.parts.state.route_answers, "get", failing)
    refilled.change()
    with pytest.raises(ZeroDivisionError):
        refilled.run_timers()
    refilled.run_timers()
    assert sorted(topic for topic, _ in refilled.store.learned) == ["T2", "T3"]
