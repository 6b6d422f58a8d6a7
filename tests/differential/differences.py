"""Where namekeeper deliberately differs from Java: one entry each, with a sequence that shows it.

docs/compatibility.md is made from this list; a difference that is not here fails the run. The names are
those of the switches in tests/support/java_model/tables.py.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.differential.bodies import Broker, TopicConfig, registration
from tests.differential.steps import Ask, Close, Restart, Step, World
from tests.support.java_model.values import Answer, Request

__all__ = ["ANSWERS_ONLY", "DIFFERENCES", "NORMALISERS", "Difference", "explains", "normaliser_of"]

Explains = Callable[[Request, Answer, Answer], bool]
Example = Callable[[World], list[Step]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: what Java does, what we do, why; which pairs of answers it may make; what shows it."""

    java: str
    ours: str
    reason: str
    example: Example
    explains: Explains = lambda request, java, ours: True


def explains(name: str, request: Request, java: Answer, ours: Answer) -> bool:
    """Whether a listed difference, being between the servers, may make these two answers."""
    return DIFFERENCES[name].explains(request, java, ours)


def _broker(world: World, *, name: int = 0, addr: int = 0, **others: Any) -> Broker:
    topics = {world.topics[0]: TopicConfig(), world.topics[1]: TopicConfig()}
    given = {"broker_id": 0, "conn": 1, "topics": topics, "acting": False, **others}
    return Broker(cluster=world.clusters[0], name=world.names[name], addr=world.addrs[addr], **given)


def _register(*brokers: Broker) -> list[Step]:
    return [Ask(broker.conn, registration(broker), "register") for broker in brokers]


def _leave(broker: Broker, conn: int, **fields: str) -> list[Step]:
    return [Ask(conn, Request(104, {**broker.fields(), **fields}), "unregister")]


def _ask(request: Request) -> list[Step]:
    return [Ask(1, request, "look up")]


def _fencing(world: World) -> list[Step]:
    old = _broker(world)
    return [*_register(old, replace(old, conn=2)), *_leave(old, 1)]


def _one_name(world: World) -> list[Step]:
    return _register(_broker(world), _broker(world, name=1))


def _lost_id(world: World) -> list[Step]:
    return _register(_broker(world), _broker(world, addr=1, conn=2))


def _unregister_is_whole(world: World) -> list[Step]:
    broker = _broker(world)
    return [*_register(broker), *_leave(broker, 1, clusterName=world.clusters[1])]


def _close(world: World) -> list[Step]:
    return [*_register(_broker(world), _broker(world, name=1, addr=1)), Close(1)]


def _rows(world: World) -> list[Step]:
    broker = _broker(world)
    return _register(broker, replace(broker, topics={topic: TopicConfig(read=8) for topic in broker.topics}))


def _mapping(world: World) -> list[Step]:
    topic = world.topics[0]
    info = {"bname": world.names[0], "currIdMap": {"0": 0}, "epoch": 1, "topic": topic, "totalQueues": 1}
    broker = _broker(world, mappings={topic: info})
    return [*_register(broker), *_leave(broker, 1), *_register(_broker(world, name=1, addr=1))]


def _undated(world: World) -> list[Step]:
    request = registration(_broker(world), crc=False)
    return [
        Ask(1, replace(request, body=b"{}"), "register"),
        *_ask(Request(322, _broker(world).fields(), b'{"counter":0,"timestamp":0}')),
    ]


def _unflagged(world: World) -> list[Step]:
    request = registration(_broker(world, form="zip5"))
    return [Ask(1, replace(request, fields={**request.fields, "compressed": "false"}), "register")]


def _refused(world: World) -> list[Step]:
    broker = _broker(world)
    return [Ask(broker.conn, replace(registration(broker), body=b"no JSON"), "register")]


def _single_topic(world: World) -> list[Step]:
    alone = _broker(world, topics={world.topics[0]: TopicConfig()})
    version = json.dumps(alone.version()).encode()
    return [*_register(alone), *_ask(Request(106)), *_ask(Request(322, alone.fields(), version))]


def _is_quoting(request: Request, java: Answer, ours: Answer) -> bool:
    return request.code in {106, 901} and _with_text_keys(java.body) == ours.body


def _is_bare_error(request: Request, java: Answer, ours: Answer) -> bool:
    return java.code == ours.code == 1 and java.fields == {} and ours.fields is None


def _with_text_keys(value: Any) -> Any:
    return (
        {str(key): _with_text_keys(member) for key, member in value.items()}
        if isinstance(value, dict)
        else value
    )


def _null_table(world: World) -> list[Step]:
    request = registration(_broker(world), crc=False)
    return [
        Ask(
            1, replace(request, body=b'{"topicConfigSerializeWrapper":{"topicConfigTable":null}}'), "register"
        )
    ]


def _nameless(world: World) -> list[Step]:
    request = registration(_broker(world), crc=False)
    table = {topic: {"topicName": topic} for topic in ("", world.topics[0])}
    body = json.dumps({"topicConfigSerializeWrapper": {"topicConfigTable": table}}).encode()
    return [Ask(1, replace(request, body=body), "register")]


def _empty_mapping(world: World) -> list[Step]:
    return _register(_broker(world, mappings={f"{world.topics[0]}-unknown": {}}))


def _restored(world: World) -> list[Step]:
    return [*_register(_broker(world)), Restart(restore_routes=True), *_ask(_look_up(world))]


def _look_up(world: World) -> Request:
    return Request(105, {"topic": world.topics[0]})


DIFFERENCES: Mapping[str, Difference] = {
    "fencing": Difference(
        "An unregistration (104) over any connection ends the registration of its address.",
        "One that comes over a connection which spoke for the broker before its present registration began, "
        "while that one's connection is open, is answered with 0 and ignored.",
        "The last words of an old process must not remove the new one (RocketMQ issues 11043, 5374).",
        _fencing,
    ),
    "one_name_per_address": Difference(
        "An address that registers under another broker name stays in the group of the old name until a restart.",
        "It leaves the old group first, with all that follows for its topics.",
        "Clients would be sent to a broker under a name that it no longer has.",
        _one_name,
    ),
    "lost_id_ends_registration": Difference(
        "An address that lost its broker id to another, stays "
        "in the live table; it is reported as expired at every scan and never goes.",
        "Its live registration and its filter servers end at once.",
        "One live registration stands behind each member of a group, and nothing else.",
        _lost_id,
    ),
    "unregister_is_whole": Difference(
        "A 104 with a wrong cluster, name or address removes half of a registration: a name stays in its "
        "cluster until a restart, a member without live entry never expires, and a 104 for somebody who is not in the "
        "group clears the write bits of a group without master.",
        "A 104 ends the whole registration of the address, under the name it has, in every cluster that lists "
        "the emptied name; one for somebody who is not in the group leaves the group as it is.",
        "Half-removed brokers can't be cleaned up but by a restart.",
        _unregister_is_whole,
    ),
    "close_ends_all": Difference(
        "When a connection closes, one of the brokers registered over it is removed, whichever hashes first, "
        "and none whose group belongs to another cluster; the others wait for their expiry.",
        "All are removed.",
        "Routes to dead brokers for two minutes (trap T26).",
        _close,
    ),
    "changed_rows": Difference(
        "A topic that changed is taken over only with a changed data version.",
        "It is also taken over when it differs from what this broker name last registered.",
        "Chunks of a split registration share one version since 5.3.4 (RocketMQ issues 4522, 9411; trap T57).",
        _rows,
    ),
    "mappings_end": Difference(
        "Static-topic mappings are never removed.",
        "They end when their topic is deleted, and when neither the topic nor a broker name of theirs is left; "
        "a registration that is decoded puts back those that are missing.",
        "Routes would show mappings of brokers long gone (trap T45).",
        _mapping,
    ),
    "bad_fields_refused": Difference(
        "A header field that is missing, empty or malformed is null or has its default; what follows depends on "
        "the request: an exception's text, success without effect, or a broker that can't be removed. A broker "
        "without haServerAddr is registered, and its slaves get a master without one.",
        "A required field that is missing or empty, or a number that can't be read, is answered with code 1 and "
        "a remark that names the field. Not so for 105's topic and for bodyCrc32.",
        "The sender learns what is wrong (traps T7, T47).",
        lambda world: _ask(Request(205)),
    ),
    "no_decode_time": Difference(
        "A data version without timestamp has the time at which it was decoded, so it always seems changed.",
        "Its timestamp is 0.",
        "Time is never taken from a decoder (trap T17).",
        _undated,
    ),
    "quoted_keys": Difference(
        "106 and 901 write broker ids as bare numbers, which is no JSON, to clients of every version.",
        "Clients from 4.9.4 on get quoted ids, as with 105.",
        "Each of them reads both; other tools can read only JSON.",
        lambda world: [*_register(_broker(world)), *_ask(Request(106))],
        _is_quoting,
    ),
    "lenient_bodies": Difference(
        "A compressed registration body without `compressed=true` fails; a register body sent with a version "
        "before 3.0.11, or none, registers no topics; before 5.0 a mapping section is not read.",
        "The body's own form decides.",
        "5.x brokers send the wrong flag (trap T9), and a missing version must not hide topics (trap T14).",
        _unflagged,
    ),
    "bare_errors": Difference(
        "A refused registration (103) is answered with empty extFields.",
        "An error has no extFields.",
        "Nobody reads them.",
        _refused,
        _is_bare_error,
    ),
    "null_table_is_empty": Difference(
        "A registration whose `topicConfigTable` is `null`: if the broker id is new in its group, an exception "
        "ends it half-way. It is answered with 0, the group lacks the address, and nothing is live; otherwise "
        "it changes no topic.",
        "`null` is an empty table: the broker is registered without topics.",
        "Success is answered for what was done.",
        _null_table,
    ),
    "nameless_topics_refused": Difference(
        "A topic whose name is empty is registered as the topic with the empty name. Without a name, or with "
        "`null`, an exception ends the registration half-way, and it is answered with 0.",
        "Answered with code 1 and a remark that names the key of the topic; nothing is registered.",
        "No client can use such a topic, and whoever made the table learns what is wrong.",
        _nameless,
    ),
    "empty_mappings_refused": Difference(
        "A registration with a static-topic mapping `{}` is answered with 0. If a broker has the topic, every "
        "lookup of it fails until a restart.",
        "Answered with code 1; nothing is registered.",
        "One bad mapping must not take a topic from all clients.",
        _empty_mapping,
    ),
    "single_topic_accepted": Difference(
        "A first registration with a single topic is refused with code 1 (trap T10). It leaves its broker name "
        "in its cluster and an empty group until a restart. A broker that begins with a single topic under an id "
        "that another address has, hears from 322 that nothing has changed, and with "
        "`deleteTopicWithBrokerRegistration` the other topics of its name are removed.",
        "It is accepted, as by 4.8. Until a broker has registered other than single topics, 322 answers that its "
        "version has changed, and its registrations remove no topic.",
        "A single topic is what a broker sends when that topic has changed. Without the two rules the other topics "
        "would never come, or would go (RocketMQ issues 4522, 9411).",
        _single_topic,
    ),
    "routes_restored": Difference(
        "A restart forgets every route: each lookup is answered with code 17 until the brokers have registered "
        "again.",
        "The routes at the end of the journal are served from the first moment. A restored broker has no "
        "connection: a 104, its expiry or its own registration ends it, and 322 answers it that its version "
        "has changed. `restoreRoutes=false`: as Java.",
        "A restart of a name server is no reason for an outage.",
        _restored,
    ),
}

ANSWERS_ONLY = frozenset({"quoted_keys", "bare_errors"})
"""Differences that leave no trace in the tables: they may show at any time."""

NORMALISERS: Mapping[str, str] = {
    "order of lists": "brokers, queues and topics are compared as sets: Java's order is that of hashes",
    "legacy flag": "in the legacy form our queues carry `topicSynFlag` besides `topicSysFlag` (trap T15)",
    "text of an exception": "the remark of code 1 is a Java exception with a line number",
    "first in hash order": "304 names some broker; 311 to 313 look at the first queue data of a topic; an address "
    "in the groups of two clusters has the filter servers of one of them",
    "4.x members": "against 4.x: `topicSynFlag`, no `enableActingMaster`, no `stateVersion`, an older URL in code 17",
}


def normaliser_of(request: Request, answer: Answer) -> str:
    """Name what makes two answers equal that are not the same."""
    return "text of an exception" if answer.code == 1 else "first in hash order"
