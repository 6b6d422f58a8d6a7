"""Equal state gives equal bytes on every name server, whatever came first (docs/decisions/0026)."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import RequestError
from namekeeper.route.tables import RouteTables
from namekeeper.wire.command import RemotingCommand, Response
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.property.local_server import LocalServer
from tests.support.java_model.values import Request
from tests.support.server.reading import read

TOPICS = ("T0", "T1", "T2", "T10", "a", "Z")
CLUSTERS = ("c1", "c0")
NAMES = ("broker-10", "broker-2", "a", "broker-1")
KEYS = ("T2", "T0", "k")

REQUESTS = [
    *((105, {"topic": topic, **zone}) for topic in TOPICS for zone in ({}, {"__ZONE_MODE": "true", "__ZONE_NAME": "z"})),
    *((code, {}) for code in (106, 206, 304, 311, 312, 313)),
    *((224, {"cluster": cluster}) for cluster in CLUSTERS),
    *((901, {"clusterName": "c0", "brokerName": name}) for name in NAMES),
    (219, {"namespace": "ORDER_TOPIC_CONFIG"}),
]  # fmt: skip


@st.composite
def fleets(draw: st.DrawFn) -> list[Broker]:
    """Brokers that do not get in each other's way: all of a group say the same of it."""
    fleet: list[Broker] = []
    for number, name in enumerate(draw(st.permutations(NAMES))):
        acting, cluster = draw(st.sampled_from((True, False))), draw(st.sampled_from(CLUSTERS))
        zone, has_mapping = draw(st.sampled_from((None, "z"))), draw(st.booleans())
        topics = draw(st.lists(st.sampled_from(TOPICS), min_size=2, unique=True))
        fleet += [
            Broker(
                cluster, name, broker_id, f"10.0.{number}.{broker_id}:1", conn=10 * number + broker_id,
                acting=acting, zone=zone, filters=draw(st.sampled_from(([], ["f:1", "f:0"]))),
                topics={topic: TopicConfig(flag=number % 4) for topic in draw(st.permutations(topics))},
                mappings={topics[0]: {"bname": name, "topic": topics[0], "epoch": 1}} if has_mapping else {},
            )
            for broker_id in draw(st.sampled_from(([0], [0, 1], [0, 2, 1], [0, 10, 9])))
        ]  # fmt: skip
    return fleet


def put(server: LocalServer, key: str) -> None:
    server.ask(Request(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": key, "value": key}))


def answers(server: LocalServer) -> list[Any]:
    """The bytes of each answer that lists rows, in both forms."""
    found = []
    for code, fields in REQUESTS:
        for version in (373, 513):
            asked = RemotingCommand(code=code, version=version, ext_fields=dict(fields))
            try:
                answer = read(server.state, asked)
            except RequestError as error:  # nobody has put a key yet
                answer = Response(error.code, error.remark)
            found.append((code, fields, answer.code, answer.remark, answer.body))
    return found


def name_server(**more: bool) -> LocalServer:
    server = LocalServer()
    server.ask(
        Request(318, {}, "\n".join(f"{name}={str(value).lower()}" for name, value in more.items()).encode())
    )
    return server


@given(fleets(), st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_equal_state_gives_equal_bytes(fleet, chance, acting, order):
    switches = {"supportActingMaster": acting, "orderMessageEnable": order}
    one, other = name_server(**switches), name_server(**switches)
    for broker in fleet:
        one.ask(registration(broker), broker.conn)
    for key in KEYS:
        put(one, key)
    # The other one had a past: brokers and keys that are gone, and the same in another order.
    gone = Broker(
        "c0", "broker-0", 0, "10.9.9.9:1", conn=99, topics={topic: TopicConfig() for topic in TOPICS}
    )
    other.ask(registration(gone), gone.conn)
    answers(other)
    masters_first = sorted(chance.sample(fleet, len(fleet)), key=lambda broker: broker.broker_id != 0)
    for broker in masters_first:
        other.ask(registration(broker), broker.conn)
    for key in chance.sample(KEYS, len(KEYS)):
        put(other, key)
        answers(other)
    other.close(gone.conn)
    assert answers(other) == answers(one)
    assert answers(other) == answers(one)  # from what is kept

    restored = name_server(**switches)
    tables = RouteTables()
    tables.apply_all(other.events)
    restored.restore(tables, 1, 0)
    for key in KEYS:
        put(restored, key)
    assert answers(restored) == answers(one)


def test_rows_are_sorted_by_broker_name():
    server = LocalServer()
    for number, name in enumerate(NAMES):
        topics = {topic: TopicConfig() for topic in TOPICS}
        server.ask(registration(Broker("c0", name, 0, f"10.0.0.{number}:1", number, topics=topics)), number)
    body = json.loads(
        read(server.state, RemotingCommand(code=105, version=513, ext_fields={"topic": "T0"})).body
    )
    for rows in ("queueDatas", "brokerDatas"):
        assert [row["brokerName"] for row in body[rows]] == ["a", "broker-1", "broker-10", "broker-2"]
    listed = json.loads(read(server.state, RemotingCommand(code=206, version=513, ext_fields={})).body)
    assert listed["topicList"] == sorted(TOPICS)
