"""Answers that a change made wrong are used no more, however many there are to forget."""

from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.messages.bodies import encode_topic_route
from namekeeper.processor import forgetting
from namekeeper.processor.forgetting import MOST_UNFINISHED
from namekeeper.processor.routing import remember_answer
from namekeeper.route.queries import topic_route
from namekeeper.wire.command import RemotingCommand, request
from namekeeper.wire.json_header import encode_json_header
from tests.support.server.in_memory import InMemoryNameServer
from tests.unit.remoting.fake_front import FakeStore

TOPICS = tuple(f"T{number}" for number in range(6))
OTHERS = tuple(f"U{number}" for number in range(6))
FRONT, CACHE, TABLES = "front", "cache", "tables"
LEGACY = 300
"""Version of a client that is answered in the form before 4.9.4."""


class Server:
    """A name server in memory with a front, of which a test says when it goes on forgetting."""

    def __init__(self) -> None:
        self._server = InMemoryNameServer()
        self.state = self._server.state
        self.cache = self.state.lookup_cache
        self.forgetting = self.state.route_answers.forgetting
        self.store = FakeStore()
        self.cache.topic_answers.use(self.store)
        self.begun: list[int] = []
        self.forgetting.when_unfinished(lambda: self.begun.append(1))
        self._changes = 0

    def register(self, name: str, topics: tuple[str, ...], queues: int) -> None:
        """A broker registers its topics, each with so many queues."""
        self._changes += 1
        table = ",".join(f'"{topic}":{{"topicName":"{topic}","readQueueNums":{queues}}}' for topic in topics)
        body = f'"dataVersion":{{"counter":{self._changes}}},"topicConfigTable":{{{table}}}'
        self._server.register(
            f'{{"topicConfigSerializeWrapper":{{{body}}}}}'.encode(),
            brokerName=name,
            brokerAddr=f"{name}:10911",
        )

    def leave(self, name: str) -> None:
        """A broker unregisters."""
        fields = {"brokerName": name, "brokerAddr": f"{name}:10911", "clusterName": "DefaultCluster"}
        assert self._server.ask(104, {**fields, "brokerId": "0"}).code == 0

    def look_up(self, topic: str, version: int = 513) -> tuple[str, bytes | None]:
        """Who answers a look-up, and with what; what is learned of it."""
        standard = version > LEGACY
        answer = self.store.look_up(topic, standard=standard)
        if answer is not None:
            return FRONT, answer
        header = encode_json_header(request(105, {"topic": topic}, opaque=7, version=version))
        whole = self.cache.find(header)
        if whole is not None:
            return CACHE, whole[whole.index(b"}") + 1 :]
        revision = self.cache.revision
        response: Any = self.state.route_answers.get(topic, standard)
        if response is None:
            return TABLES, None
        asked = RemotingCommand(code=105, version=version, opaque=7, ext_fields={"topic": topic})
        asked.header = header
        remember_answer(self.cache, asked, response.body, revision)
        return TABLES, response.body

    def right(self, topic: str, version: int = 513) -> bytes | None:
        """What a look-up has to be answered."""
        route = topic_route(self.state.tables, topic)
        return None if route is None else encode_topic_route(route, standard=version > LEGACY)

    def finish(self) -> None:
        """Forget all that is left."""
        while self.forgetting.forget_some():
            pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that forgets two topics at once, and knows all topics of two brokers."""
    monkeypatch.setattr(forgetting, "AT_ONCE", 2)
    monkeypatch.setattr(forgetting, "SLICE", 2)
    server = Server()
    server.register("broker-a", TOPICS, 1)
    server.register("broker-b", OTHERS, 1)
    for topic in (*TOPICS, *OTHERS):
        server.look_up(topic)
    assert {server.look_up(topic)[0] for topic in (*TOPICS, *OTHERS)} == {FRONT}
    assert server.begun == []
    return server


def test_what_changed_is_answered_anew_before_it_is_forgotten(server: Server):
    server.register("broker-a", TOPICS, 2)
    assert server.begun == [1]
    for _ in range(2):
        assert {server.look_up(topic) for topic in TOPICS} == {(TABLES, server.right("T0"))}
    server.finish()
    for topic in TOPICS:
        assert server.look_up(topic)[1] == server.right(topic)
    assert {server.look_up(topic)[0] for topic in TOPICS} == {FRONT}


def test_what_did_not_change_is_found_all_the_time(server: Server):
    """By the cache: a front that knows many of the topics answers nothing until it has forgotten them."""
    server.register("broker-a", TOPICS, 2)
    assert {server.look_up(topic)[0] for topic in OTHERS} == {CACHE}
    assert server.forgetting.forget_some()
    assert {server.look_up(topic)[0] for topic in OTHERS} == {CACHE}
    server.finish()
    assert {server.look_up(topic)[0] for topic in OTHERS} == {FRONT}


def test_a_front_that_knows_few_of_the_topics_answers_all_others_all_the_time(server: Server):
    """A broker's new topics are many, and nobody has asked for them."""
    server.cache.topic_answers.use(server.store)  # which begins empty
    for topic in (*TOPICS[:2], *OTHERS):
        server.look_up(topic, LEGACY)
    server.register("broker-a", TOPICS, 2)
    assert server.begun == [1]
    assert {server.look_up(topic, LEGACY)[0] for topic in OTHERS} == {FRONT}
    assert server.look_up("T0", LEGACY) == (TABLES, server.right("T0", LEGACY))
    server.finish()
    assert {server.look_up(topic, LEGACY)[0] for topic in OTHERS} == {FRONT}


def test_the_front_is_compared_at_once_with_few_topics_only(server: Server, monkeypatch: pytest.MonkeyPatch):
    """To look at each of 60,000 topics takes longer than a turn."""
    monkeypatch.setattr(forgetting, "MOST_COMPARED", len(TOPICS) - 1)
    server.cache.topic_answers.use(server.store)
    for topic in ("T0", *OTHERS):
        server.look_up(topic, LEGACY)
    server.register("broker-a", TOPICS, 2)
    assert server.store.is_paused
    server.finish()
    assert not server.store.is_paused
    assert {server.look_up(topic, LEGACY)[0] for topic in OTHERS} == {FRONT}


def test_the_front_forgets_first_and_answers_again(server: Server):
    server.register("broker-a", TOPICS, 2)
    while server.store.is_paused:
        assert server.forgetting.forget_some()
    assert server.cache.is_distrusted("T0")
    assert {server.look_up(topic)[0] for topic in OTHERS} == {FRONT}
    assert {server.look_up(topic) for topic in TOPICS} == {(TABLES, server.right("T0"))}


def test_the_front_forgets_what_all_changes_affect_before_it_answers_again(server: Server):
    server.register("broker-a", TOPICS, 2)
    server.register("broker-b", OTHERS, 2)
    while server.store.is_paused:
        assert server.look_up(OTHERS[-1]) == (TABLES, server.right(OTHERS[-1]))
        assert server.forgetting.forget_some()
    assert not {topic for topic in (*TOPICS, *OTHERS[:-1]) if server.store.look_up(topic, standard=True)}


def test_few_topics_are_forgotten_at_once(server: Server):
    server.register("broker-a", TOPICS[:2], 2)
    server.finish()
    server.register("broker-c", OTHERS[:2], 1)
    assert server.begun == []
    assert {server.look_up(topic)[0] for topic in TOPICS[:2]} == {TABLES}
    assert {server.look_up(topic)[0] for topic in OTHERS[:2]} == {TABLES}
    assert {server.look_up(topic)[0] for topic in OTHERS[2:]} == {FRONT}


def test_of_many_changed_topics_those_are_forgotten_that_are_known(server: Server):
    server.register("broker-c", tuple(f"V{number}" for number in range(99)), 1)
    server.finish()
    some = ("V1", "V2", "V3")
    for topic in some:
        server.look_up(topic)
    assert {server.look_up(topic)[0] for topic in some} == {FRONT}
    server.leave("broker-c")
    server.finish()
    assert {server.look_up(topic) for topic in some} == {(TABLES, None)}
    assert {server.look_up(topic)[0] for topic in OTHERS} == {FRONT}
    server.cache.topic_answers.use(None)
    assert {server.look_up(topic)[0] for topic in OTHERS} == {CACHE}


def test_a_broker_that_is_new_or_leaves_changes_topics_that_it_has(server: Server):
    """The answers of before don't name it."""
    server.register("broker-c", TOPICS, 1)
    assert {server.look_up(topic) for topic in TOPICS} == {(TABLES, server.right("T0"))}
    server.leave("broker-c")
    assert {server.look_up(topic) for topic in TOPICS} == {(TABLES, server.right("T0"))}
    server.leave("broker-a")
    assert {server.look_up(topic) for topic in TOPICS} == {(TABLES, None)}
    server.finish()
    assert {server.look_up(topic) for topic in TOPICS} == {(TABLES, None)}


def test_unfinished_changes_are_few(server: Server):
    """Each look-up is compared with all of them; so if there are many, everything is forgotten."""
    for queues in range(2, 3 * MOST_UNFINISHED):
        server.register("broker-a", TOPICS, queues)
        assert {server.look_up(topic)[1] for topic in TOPICS} == {server.right("T0")}
        assert len(server.cache._distrusted) <= MOST_UNFINISHED
    assert server.begun == [1]
    server.finish()
    assert not server.cache.is_distrusted("T0")
    assert {server.look_up(topic)[0] for topic in OTHERS} == {TABLES}
    assert {server.look_up(topic)[0] for topic in OTHERS} == {FRONT}


def test_a_large_change_is_done_before_a_storm_has_brought_many_more():
    """Beside registrations, one step may be all that an iteration has time for."""
    server = Server()
    topics = tuple(f"T{number}" for number in range(3_000))
    server.register("broker-a", topics, 1)
    for topic in topics:
        server.look_up(topic)
    server.register("broker-a", topics, 2)
    assert server.begun == [1]
    steps = 1
    while server.forgetting.forget_some():
        steps += 1
    assert steps <= 20


def test_a_front_that_is_done_waits_when_everything_is_distrusted(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(forgetting, "MOST_UNFINISHED", 1)
    server.register("broker-a", TOPICS, 2)
    while server.store.is_paused:
        server.forgetting.forget_some()
    server.register("broker-b", OTHERS, 2)
    assert {server.look_up(topic) for topic in OTHERS} == {(TABLES, server.right("U0"))}
    assert server.forgetting.forget_some()
    assert {server.look_up(topic) for topic in OTHERS} == {(TABLES, server.right("U0"))}


def test_after_other_settings_nothing_is_left(server: Server):
    server.register("broker-a", TOPICS, 2)
    server.state.route_answers.reconfigure(server.state.settings)
    assert not server.forgetting.forget_some()
    server.look_up("T0")
    assert server.look_up("T0")[0] == FRONT
    server.register("broker-a", TOPICS, 3)
    assert server.look_up("T0")[1] == server.right("T0")


def test_a_front_that_comes_meanwhile_waits(server: Server):
    server.register("broker-a", TOPICS, 2)
    front = FakeStore()
    server.cache.topic_answers.use(front)
    assert front.is_paused
    server.finish()
    assert not front.is_paused


def test_without_a_loop_all_is_forgotten_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forgetting, "AT_ONCE", 2)
    server = InMemoryNameServer()
    answers = server.state.route_answers
    table = b",".join(b'"T%d":{"topicName":"T%d"}' % (number, number) for number in range(9))
    server.register(b'{"topicConfigSerializeWrapper":{"topicConfigTable":{%s}}}' % table)
    before = {number: answers.get(f"T{number}", True) for number in range(9)}
    server.ask(205, {"brokerName": "broker-a"})
    assert not answers.forgetting.forget_some()
    assert not server.state.lookup_cache.is_distrusted("T0")
    for number in range(9):
        assert answers.get(f"T{number}", True) != before[number]


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("register"),
            st.sampled_from(("broker-a", "broker-b")),
            st.lists(st.sampled_from(TOPICS), unique=True).map(tuple),
            st.integers(1, 3),
        ),
        st.tuples(st.just("leave"), st.sampled_from(("broker-a", "broker-b"))),
        st.tuples(st.just("look up"), st.sampled_from(TOPICS), st.sampled_from((LEGACY, 513))),
        st.tuples(st.just("forget some")),
    ),
    max_size=60,
)


@given(steps, st.integers(0, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 6))
def test_no_look_up_is_answered_with_what_was_before_a_change(
    steps: list[tuple[Any, ...]], at_once: int, size: int, most: int, compared: int
):
    with mock.patch.multiple(
        forgetting, AT_ONCE=at_once, SLICE=size, MOST_UNFINISHED=most, MOST_COMPARED=compared
    ):
        server = Server()
        for step, *what in steps:
            if step == "register":
                server.register(*what)
            elif step == "leave":
                server.leave(*what)
            elif step == "look up":
                assert server.look_up(*what)[1] == server.right(*what)
            else:
                server.forgetting.forget_some()
        server.finish()
        assert not server.store.is_paused
        for topic in TOPICS:
            for version in (LEGACY, 513):
                assert server.look_up(topic, version)[1] == server.right(topic, version)
