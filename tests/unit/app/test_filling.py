"""The native front knows topics before anybody asks for them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from namekeeper.app.filling import QUIET_SECONDS, Filling
from namekeeper.wire.codec import encode_command
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.remoting.fake_front import FakeStore
from tests.unit.remoting.joined import Joined

TOPICS = tuple(f"T{number}" for number in range(1, 7))


class Filled:
    """A server in memory that nobody asks for anything; timers are in the hands of the test."""

    def __init__(self, folder: Path) -> None:
        self.parts = Parts(folder)
        self.topic_answers = self.parts.state.lookup_cache.topic_answers
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.store = FakeStore()
        self.connection = Joined(self.parts.requests, lookup_cache=self.parts.state.lookup_cache)
        filling = Filling(
            self.parts.state,
            clock=self.parts.clock,
            call_later=lambda seconds, call: self.timers.append((seconds, call)),
        )
        filling.begin()

    def register(self, *topics: str, version: int = 1, **fields: str) -> None:
        self.connection.deliver(encode_command(registration(topics, version=version, **fields)))
        self.parts.run_turns()

    def run_timers(self) -> list[float]:
        """Run what is due next; return after which times it was due."""
        due, self.timers = self.timers, []
        for _, call in due:
            call()
        return [seconds for seconds, _ in due]

    def known(self) -> list[str]:
        return sorted(topic for topic, _ in self.store.learned)


@pytest.fixture
async def filled(tmp_path: Path) -> Filled:
    made = Filled(tmp_path)
    made.topic_answers.use(made.store)
    made.run_timers()
    return made


async def test_topics_are_known_that_nobody_has_asked_for(filled):
    filled.register(*TOPICS)
    assert filled.store.learned == {}
    assert filled.run_timers() == [QUIET_SECONDS]
    assert filled.known() == list(TOPICS)
    filled.connection.deliver(frame(105, topic="T1"))
    assert filled.store.learned["T1", True][1] == filled.connection.answers[-1].body
    assert filled.timers == []


async def test_while_topics_come_nothing_is_made(filled):
    for version in range(2, 5):
        filled.register(*TOPICS[:version], version=version)
        filled.register(*TOPICS[:version], version=version, name="broker-b", addr="10.0.1.1:1")
        assert filled.run_timers() == [QUIET_SECONDS]
        assert filled.store.learned == {}
    assert filled.run_timers() == [QUIET_SECONDS]
    assert filled.known() == list(TOPICS[:4])


async def test_routes_that_were_there_before_the_front_are_known(tmp_path):
    filled = Filled(tmp_path)
    filled.register(*TOPICS)
    assert filled.timers == []
    filled.topic_answers.use(filled.store)
    filled.run_timers()
    assert filled.known() == list(TOPICS)


async def test_topics_that_are_known_are_left_alone(filled, monkeypatch):
    filled.register("T1", "T2")
    filled.connection.deliver(frame(105, topic="T1"))
    filled.connection.deliver(frame(105, topic="T2"))
    filled.register("T1", "T2", "T3", version=2)
    made: list[str] = []
    get = filled.parts.state.route_answers.get

    def noted(topic: str, standard: bool) -> object:
        made.append(topic)
        return get(topic, standard)

    monkeypatch.setattr(filled.parts.state.route_answers, "get", noted)
    while filled.timers:
        filled.run_timers()
    assert made == ["T3"]


async def test_when_its_time_is_over_others_have_their_turn(filled, monkeypatch):
    filled.register(*TOPICS)
    get = filled.parts.state.route_answers.get

    def slow(topic: str, standard: bool) -> object:
        filled.parts.clock.advance(0.002)
        return get(topic, standard)

    monkeypatch.setattr(filled.parts.state.route_answers, "get", slow)
    filled.run_timers()
    known = [len(filled.store.learned)]
    while filled.timers:
        assert filled.run_timers() == [0]
        known.append(len(filled.store.learned))
    assert known[:6] == [1, 2, 3, 4, 5, 6]


async def test_when_half_of_the_room_is_used_it_ends(tmp_path):
    filled = Filled(tmp_path)
    filled.topic_answers._limit = 2_500
    filled.register(*TOPICS)
    filled.topic_answers.use(filled.store)
    filled.run_timers()
    assert 1 < len(filled.store.learned) < len(TOPICS)
    assert not filled.topic_answers.takes_more
    assert filled.timers == []


async def test_what_can_not_be_made_stops_no_other(filled, monkeypatch):
    filled.register(*TOPICS)
    get = filled.parts.state.route_answers.get

    def failing(topic: str, standard: bool) -> object:
        if topic == "T3":
            raise ZeroDivisionError
        return get(topic, standard)

    monkeypatch.setattr(filled.parts.state.route_answers, "get", failing)
    with pytest.raises(ZeroDivisionError):
        filled.run_timers()
    filled.run_timers()
    assert filled.known() == [topic for topic in TOPICS if topic != "T3"]
