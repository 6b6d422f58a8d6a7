"""Single, full and split registrations in any order: what 322 answers, and that every topic arrives (R#4522, R#9411)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.processor.state import rules_of
from namekeeper.route.tables import RouteTables
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.property.local_server import LocalServer
from tests.support.java_model.values import Request

TOPICS = ("T0", "T1", "T2", "T3")
SIZES = (4, 8, 16)

topics, sizes = st.sampled_from(TOPICS), st.sampled_from(SIZES)
steps = st.one_of(
    st.tuples(st.just("single"), topics, sizes),
    st.tuples(st.just("unheard"), topics, sizes),
    st.tuples(st.just("forget"), topics),
    st.tuples(st.just("full"), st.booleans()),
    st.tuples(st.just("split"), st.sampled_from((1, 2, 3)), st.booleans()),
    st.tuples(st.just("reconnect")),
    st.tuples(st.just("lose")),
    st.tuples(st.just("move")),
    st.tuples(st.just("restart")),
)


class Pair:
    """A name server and one broker, with what the rules say of both."""

    def __init__(self, *, deletes: bool) -> None:
        self.deletes = deletes
        self.broker = Broker("c", "b", 0, "a:0", 0, acting=False)
        self.stored: int | None = None
        """Version that the name server has; None: it does not know the broker."""
        self.is_full = False
        self.rows: dict[str, TopicConfig] = {}
        self.next = 1
        self._begin()

    def _begin(self) -> None:
        self.server = LocalServer()
        settings = self.server.state.settings
        rules = rules_of(structs.replace(settings, delete_topic_with_broker_registration=self.deletes))
        self.server.state.tables.rules = rules

    # What the broker does.

    def single(self, topic: str, size: int) -> None:
        """The topic is new or changed, and registered by itself."""
        self.unheard(topic, size)
        self._register({topic: self.broker.topics[topic]})

    def unheard(self, topic: str, size: int) -> None:
        """The same, but the name server does not hear of it."""
        self.broker.topics[topic] = TopicConfig(read=size)
        self.broker.counter += 1

    def forget(self, topic: str) -> None:
        """The broker deletes a topic: it sends nothing at once."""
        self.broker.topics.pop(topic, None)
        self.broker.counter += 1

    def full(self, bump: bool) -> None:
        """Everything at once."""
        self.broker.counter += bump
        self._register(self.broker.topics)

    def split(self, size: int, own_versions: bool) -> None:
        """Everything in parts: of one version in 5.3.4 to 5.5.0, else each with its own. The rest comes last."""
        items = list(self.broker.topics.items())
        for start in range(0, len(items) // size * size + 1, size):
            self.broker.counter += own_versions
            self._register(dict(items[start : start + size]))

    def timer(self) -> None:
        """What a broker does each 30 s with forceRegister=false."""
        if self.hears_changed():
            self._register(self.broker.topics)

    # What happens to both.

    def reconnect(self) -> None:
        """Another connection, while the name server still has the old one."""
        self._connect()

    def lose(self) -> None:
        """Its connections end."""
        for conn in range(self.next):
            self.server.close(conn)
        self._connect()
        self.stored, self.is_full, self.rows = None, False, {}

    def move(self) -> None:
        """The broker goes on at another address."""
        self.broker.addr = f"a:{self.next}"
        self._connect()
        self.stored, self.is_full = None, False

    def restart(self) -> None:
        """The name server goes on with what its journal had."""
        before = RouteTables()
        before.apply_all(self.server.events)
        self._begin()
        self.server.restore(before, 1, 0)
        self._connect()
        self.is_full = False

    def _connect(self) -> None:
        self.broker.conn = self.next
        self.next += 1

    def _register(self, some: dict[str, TopicConfig]) -> None:
        self.is_full = self.is_full or len(some) != 1
        answer = self.server.ask(registration(replace(self.broker, topics=dict(some))), self.broker.conn)
        assert answer is not None
        assert answer.code == 0
        before = {} if self.deletes and self.is_full else self.rows
        self.rows = {**before, **some}
        self.stored = self.broker.counter

    # What is seen.

    def hears_changed(self) -> bool:
        """What 322 answers."""
        body = json.dumps(self.broker.version()).encode()
        answer = self.server.ask(Request(322, self.broker.fields(), body), self.broker.conn)
        assert answer is not None
        return dict(answer.fields or {})["changed"] == "true"

    def check(self) -> None:
        """The rows are those of the rules, and 322 says "unchanged" only to a broker that has said everything."""
        assert self.hears_changed() is not (self.is_full and self.stored == self.broker.counter)
        table = self.server.state.tables.topics_of("b")
        assert {topic: row.effective.read_queue_nums for topic, row in table.items()} == {
            topic: config.read for topic, config in self.rows.items()
        }


@given(st.lists(steps, max_size=8), st.booleans())
@example([("unheard", "T1", 8), ("single", "T0", 4)], False)
@example([("full", True), ("unheard", "T1", 8), ("restart",), ("single", "T0", 4)], False)
@example([("single", "T0", 4), ("single", "T1", 4), ("lose",), ("single", "T2", 4)], True)
@example([("single", "T0", 4), ("unheard", "T1", 4), ("split", 1, True), ("single", "T2", 4)], True)
@example(
    [("single", "T0", 4), ("unheard", "T1", 4), ("split", 2, False), ("move",), ("single", "T2", 4)], True
)
def test_every_order_of_single_full_and_split_registrations(order, deletes):
    pair = Pair(deletes=deletes)
    for name, *values in order:
        getattr(pair, name)(*values)
        pair.check()
    pair.timer()
    pair.check()
    assert pair.broker.topics.items() <= pair.rows.items() or (deletes and _was_split(order))
    assert not pair.hears_changed() or len(pair.broker.topics) == 1


def _was_split(order: Any) -> bool:
    """With the switch a part removes the topics of the others, as in Java (trap T57)."""
    return any(name == "split" for name, *_ in order)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("own_versions", [True, False])
def test_parts_of_a_split_registration_are_a_full_one(size, own_versions):
    pair = Pair(deletes=False)
    for topic in TOPICS[:3]:
        pair.unheard(topic, 4)
    pair.split(size, own_versions)
    assert not pair.hears_changed()
    assert pair.rows.keys() == set(TOPICS[:3])
