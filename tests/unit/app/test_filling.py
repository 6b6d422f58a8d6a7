"""The native front knows answers before they are asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from namekeeper.app.filling import MADE_IN_A_WAIT, NEW, STALE, fill_front
from namekeeper.remoting.scheduler import ITERATION_SECONDS
from namekeeper.wire.codec import encode_command
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.remoting.fake_front import FakeStore
from tests.unit.remoting.joined import Joined

TOPICS = tuple(f"T{number}" for number in range(1, 7))
OLD_VERSION = 300
"""Of a client that is answered in the form before 4.9.4."""


class Filled:
    """A server in memory whose front is filled; timers are in the hands of the test."""

    def __init__(self, folder: Path, **flags: str) -> None:
        self.parts = Parts(folder, **flags)
        self.topic_answers = self.parts.state.lookup_cache.topic_answers
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.store = FakeStore()
        self.connection = Joined(self.parts.requests, lookup_cache=self.parts.state.lookup_cache)
        self.version = 0
        fill_front(
            self.parts.state,
            scheduler=self.parts.scheduler,
            call_later=lambda seconds, call: self.timers.append((seconds, call)),
        )

    def use_front(self) -> None:
        """Begin with a front that knows all that was registered."""
        self.topic_answers.use(self.store)
        while self.timers:
            self.run_timers()

    def register(self, *topics: str, **fields: str) -> None:
        """Have a broker register these topics, each time at another address."""
        self.version += 1
        addr = f"10.0.0.{self.version % 250}:10911"
        fields = {"addr": addr} | fields
        self.connection.deliver(encode_command(registration(topics, version=self.version, **fields)))
        self.parts.run_turns()

    def ask(self, topic: str, version: int = 513) -> bytes:
        """What the server itself answers; the front learns it."""
        self.connection.deliver(frame(105, topic=topic, version=version))
        return self.connection.answers[-1].body

    def run_timers(self, seconds: float | None = None) -> int:
        """Run what is due next, or of that only what is due after some seconds; return how many that was."""
        due = [timer for timer in self.timers if seconds in {None, timer[0]}]
        self.timers = [timer for timer in self.timers if timer not in due]
        for _, call in due:
            call()
        self.parts.run_turns()
        return len(due)

    def knows(self, topic: str, *, standard: bool = True) -> bytes | None:
        return self.store.learned.get((topic, standard), (0, None))[1]

    def known(self) -> list[str]:
        return sorted({topic for topic, _ in self.store.learned})

    def before_each_answer(self, monkeypatch: pytest.MonkeyPatch, instead: Callable[[str], object]) -> None:
        """Have a function called before each answer is made."""
        get = self.parts.state.route_answers.get

        def noted(topic: str, standard: bool) -> object:
            instead(topic)
            return get(topic, standard)

        monkeypatch.setattr(self.parts.state.route_answers, "get", noted)


def failing(topic: str) -> None:
    if topic == "T3":
        raise ZeroDivisionError


@pytest.fixture
async def filled(tmp_path: Path) -> Filled:
    """With six topics, all of which its front knows."""
    made = Filled(tmp_path)
    made.register(*TOPICS)
    made.use_front()
    return made


@pytest.fixture
async def asked(tmp_path: Path) -> Filled:
    """With six topics, each of which was asked for."""
    made = Filled(tmp_path)
    made.use_front()
    made.register(*TOPICS)
    made.run_timers()
    made.run_timers()
    for topic in TOPICS:
        made.ask(topic)
    return made


# What changed.


async def test_what_was_asked_for_is_known_again_as_it_is_now(asked):
    asked.ask("T1", OLD_VERSION)
    before = asked.knows("T1"), asked.knows("T1", standard=False)
    asked.register(*TOPICS)
    assert asked.store.learned == {}
    assert asked.run_timers(STALE.seconds) == 1
    now = asked.knows("T1"), asked.knows("T1", standard=False)
    assert set(now).isdisjoint(before)
    assert now == (asked.ask("T1"), asked.ask("T1", OLD_VERSION))
    assert asked.knows("T2") == asked.ask("T2")
    assert asked.knows("T2", standard=False) is None
    assert not asked.run_timers(STALE.seconds)


async def test_what_has_no_route_any_more_is_not_known(asked):
    asked.connection.deliver(frame(216, topic="T2", opaque=2))
    asked.register("T1")
    while asked.timers:
        asked.run_timers()
    assert asked.knows("T1") is not None
    assert asked.knows("T2") is None


async def test_while_many_routes_change_nothing_is_refilled_but_not_for_long(asked):
    topics = (*TOPICS, *(f"M{number}" for number in range(MADE_IN_A_WAIT * int(STALE.at_most))))
    asked.register(*topics)
    while asked.timers:
        asked.run_timers()
    asked.register(*topics)
    for _ in range(int(STALE.at_most) - 1):
        asked.ask("T1")
        asked.register(*topics)
        assert asked.run_timers(STALE.seconds) == 1
        assert asked.store.learned == {}
    asked.ask("T1")
    asked.register(*topics)
    asked.run_timers(STALE.seconds)
    assert asked.knows("T1") is not None
    asked.register(*topics)
    asked.ask("T2")
    asked.register(*topics)
    asked.run_timers(STALE.seconds)
    assert asked.knows("T1") is None, "the count begins anew"
    asked.run_timers(STALE.seconds)
    assert asked.knows("T1") is not None


async def test_few_routes_that_changed_are_known_again_though_others_go_on_to_change(asked):
    asked.register(*TOPICS)
    asked.ask("T1")
    asked.register(*TOPICS)
    assert asked.run_timers(STALE.seconds) == 1
    assert asked.known() == list(TOPICS)
    assert asked.topic_answers.stale == 0


# What came.


async def test_topics_are_known_that_nobody_has_asked_for(filled):
    filled.register("U1", "U2", name="broker-b")
    assert filled.known() == list(TOPICS)
    assert filled.run_timers(NEW.seconds) == 1
    assert filled.known() == [*TOPICS, "U1", "U2"]
    assert filled.knows("U1") == filled.ask("U1")
    assert filled.timers == []


async def test_while_topics_come_nothing_is_made(filled):
    for number in range(2 * int(STALE.at_most)):
        filled.register("U1", f"V{number}", name="broker-b", addr="10.0.1.1:1")
        filled.register("U2", f"W{number}", name="broker-c", addr="10.0.1.2:1")
        assert filled.run_timers(NEW.seconds) == 1
        assert filled.known() == list(TOPICS)
    assert filled.run_timers(NEW.seconds) == 1
    assert {"U1", "U2"} < set(filled.known())


async def test_routes_that_were_there_before_the_front_are_known(tmp_path):
    filled = Filled(tmp_path)
    filled.register(*TOPICS)
    assert filled.timers == []
    filled.topic_answers.use(filled.store)
    assert filled.run_timers(NEW.seconds) == 1
    assert filled.known() == list(TOPICS)


async def test_topics_that_come_while_others_are_made_are_made_afterwards(filled, monkeypatch):
    filled.register("U1", "U2", name="broker-b")
    came = []

    def come(topic: str) -> None:
        if not came:
            came.append(topic)
            filled.connection.deliver(encode_command(registration(("V1", "V2"), name="broker-c")))

    filled.before_each_answer(monkeypatch, come)
    filled.run_timers(NEW.seconds)
    assert filled.run_timers(NEW.seconds) == 1
    assert {"V1", "V2"} < set(filled.known())
    assert not filled.run_timers(NEW.seconds)


async def test_topics_that_are_known_are_left_alone(filled, monkeypatch):
    made: list[str] = []
    filled.register("U1", "U2", name="broker-b")
    filled.before_each_answer(monkeypatch, made.append)
    filled.run_timers(NEW.seconds)
    assert sorted(made) == ["U1", "U2"]


async def test_half_of_the_room_is_left_to_topics_that_are_asked_for(tmp_path):
    filled = Filled(tmp_path, lookup_cache_bytes="2500")
    filled.register(*TOPICS)
    filled.use_front()
    assert 1 < len(filled.known()) < len(TOPICS)
    assert not filled.topic_answers.takes_more


async def test_nothing_is_known_while_brokers_may_not_be_back(tmp_path):
    filled = Filled(tmp_path, need_wait_for_service="true")
    filled.register(*TOPICS)
    filled.use_front()
    filled.ask("T1")
    assert filled.connection.answers[-1].remark == "name server not ready"
    assert filled.known() == []
    filled.parts.state.end_wait_for_service()
    assert filled.run_timers(NEW.seconds) == 1
    assert filled.known() == list(TOPICS)


# Both.


@pytest.fixture(params=[STALE, NEW], ids=["changed", "new"])
async def missing(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Filled, float]:
    """A server whose front has to learn all topics after so many seconds."""
    made = Filled(tmp_path)
    made.register(*TOPICS)
    if request.param is NEW:
        made.topic_answers.use(made.store)
    else:
        made.use_front()
        made.register(*TOPICS)
    return made, request.param.seconds


async def test_when_its_time_is_over_others_have_their_turn(missing, monkeypatch):
    filled, seconds = missing
    filled.parts.tick = ITERATION_SECONDS
    known = []
    monkeypatch.setattr(filled.parts, "run_turns", lambda: None)
    filled.run_timers(seconds)
    while filled.parts.turns:
        filled.parts.turns.pop(0)()
        known.append(len(filled.known()))
    assert known[:6] == [1, 2, 3, 4, 5, 6]


async def test_what_can_not_be_made_stops_no_other(missing, monkeypatch):
    filled, seconds = missing
    filled.before_each_answer(monkeypatch, failing)
    with pytest.raises(ZeroDivisionError):
        filled.run_timers(seconds)
    filled.parts.run_turns()
    assert filled.known() == [topic for topic in TOPICS if topic != "T3"]
