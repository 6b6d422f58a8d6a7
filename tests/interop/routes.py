"""Questions to a name server that the interop tests ask, over a connection apart from every client under test."""

from dataclasses import dataclass

from tests.support.java.servers import JavaBroker
from tests.support.wire.ask import ask

__all__ = ["Route", "assert_routes_match", "route", "topics"]

_GET_ROUTEINFO_BY_TOPIC = 105
_GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
_TOPIC_NOT_EXIST = 17

Row = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Route:
    """The route of one topic, in a form that is easy to compare."""

    queues: dict[str, Row]
    """Broker name -> (readQueueNums, writeQueueNums, perm)."""
    brokers: dict[str, dict[int, str]]
    """Broker name -> id -> address."""
    order: str | None
    mappings: dict[str, dict[str, object]]


def route(address: str, topic: str, *, tls: bool = False) -> Route | None:
    """Return the route of a topic as the name server at this address has it, or None if it has none."""
    answer = ask(address, _GET_ROUTEINFO_BY_TOPIC, tls=tls, topic=topic, acceptStandardJsonOnly="true")
    if answer.code == _TOPIC_NOT_EXIST:
        return None
    assert answer.code == 0, answer
    body = answer.json()
    return Route(
        queues={
            q["brokerName"]: (q["readQueueNums"], q["writeQueueNums"], q["perm"]) for q in body["queueDatas"]
        },
        brokers={
            b["brokerName"]: {int(i): a for i, a in b["brokerAddrs"].items()} for b in body["brokerDatas"]
        },
        order=body.get("orderTopicConf"),
        mappings=body.get("topicQueueMappingByBroker") or {},
    )


def topics(address: str, *, tls: bool = False) -> set[str]:
    """Return the names of all topics that the name server has."""
    return set(ask(address, _GET_ALL_TOPIC_LIST_FROM_NAMESERVER, tls=tls).json()["topicList"])


def assert_routes_match(address: str, broker: JavaBroker) -> None:
    """Fail unless each topic of a broker is routed to it with the broker's own queue numbers and permission."""
    missing = {}
    for topic, config in broker.topics().items():
        expected = (config["readQueueNums"], config["writeQueueNums"], config["perm"])
        found = route(address, topic, tls=broker.tls)
        if found is None or found.queues.get(broker.name) != expected:
            missing[topic] = (expected, found)
    assert not missing
