"""What brokers send and what a name server answers, made up: registrations and route bodies of any size."""

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "BASE_BROKERS", "GET_ROUTEINFO_BY_TOPIC", "Broker", "Topic", "base_topic", "heartbeat", "registration",
    "request", "route_body", "topics",
]  # fmt: skip

REGISTER_BROKER = 103
UNREGISTER_BROKER = 104
GET_ROUTEINFO_BY_TOPIC = 105
BROKER_HEARTBEAT = 904
VERSION = 513  # 5.5.0
ZLIB_LEVEL = 9  # Java's choice
CRC_MASK = 0x7FFFFFFF
TIMEOUT_MILLIS = 600_000  # nothing expires during a run
DATA_VERSION = {"counter": 3, "stateVersion": 0, "timestamp": 1_700_000_000_000}

Topic = tuple[str, int, int]
"""Name, read queues, write queues."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A master broker of a group of its own."""

    name: str
    addr: str
    cluster: str = "BenchCluster"


BASE_BROKERS = tuple(Broker(f"bench-{letter}", f"10.0.0.{n}:9091") for n, letter in enumerate("abcd", 1))
"""The brokers behind every look-up; names and addresses are such that a route has 859 bytes."""


def base_topic(index: int) -> Topic:
    """One of the topics that are looked up."""
    queues = 4 if index % 2 else 8
    return f"BenchTopic{index:05}", queues, queues


def topics(prefix: str, indexes: Iterable[int]) -> list[Topic]:
    """Other topics, with a few kinds of queue counts as real clusters have them."""
    return [(f"{prefix}{i:07}", 4 + 4 * (i % 4), 4 + 4 * (i % 4)) for i in indexes]


def distinct_topics(prefix: str, indexes: Iterable[int]) -> list[Topic]:
    """Topics of which 10,000 in a row differ in their queue counts: no two rows of a broker are equal."""
    return [(f"{prefix}{i:07}", 1 + i % 100, 1 + i // 100 % 100) for i in indexes]


def request(code: int, fields: dict[str, str], body: bytes = b"", *, opaque: int = 1) -> bytes:
    """Frame a request with a JSON header as Java 5.5.0 writes it: no whitespace, keys in order."""
    header = _json({
        "code": code, "extFields": fields, "flag": 0, "language": "JAVA", "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON", "version": VERSION,
    })  # fmt: skip
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def registration(broker: Broker, rows: Sequence[Topic], *, compressed: bool, changes: int = 0) -> bytes:
    """Frame a registration of a 5.x master without acting-master mode.

    Args:
        broker: Who registers.
        rows: All its topics; once it is registered, those that changed will do.
        compressed: Whether the body is.
        changes: How often its topics changed since the first registration.
    """
    version = DATA_VERSION | {"counter": DATA_VERSION["counter"] + changes}
    body = _compressed_body(rows, version) if compressed else _json_body(rows, version)
    fields = {
        "bodyCrc32": str(zlib.crc32(body) & CRC_MASK),
        "brokerAddr": broker.addr,
        "brokerId": "0",
        "brokerName": broker.name,
        "clusterName": broker.cluster,
        "compressed": "true" if compressed else "false",
        "enableActingMaster": "false",
        "haServerAddr": f"{broker.addr.partition(':')[0]}:9092",
        "heartbeatTimeoutMillis": str(TIMEOUT_MILLIS),
    }
    return request(REGISTER_BROKER, fields, body)


def heartbeat(broker: Broker) -> bytes:
    """Frame a 904, which keeps the live entry and the connection from going idle."""
    fields = {"brokerAddr": broker.addr, "brokerName": broker.name, "clusterName": broker.cluster}
    return request(BROKER_HEARTBEAT, fields)


def goodbye(broker: Broker) -> bytes:
    """Frame an UNREGISTER_BROKER: what only this broker has is gone with it."""
    fields = {
        "brokerAddr": broker.addr,
        "brokerId": "0",
        "brokerName": broker.name,
        "clusterName": broker.cluster,
    }
    return request(UNREGISTER_BROKER, fields)


def route_body(brokers: Sequence[Broker], topic: Topic) -> bytes:
    """The route of a topic of these brokers, as 5.5.0 answers a client of 4.9.4 or later."""
    _, read, write = topic
    return _json({
        "brokerDatas": [
            {
                "brokerAddrs": {"0": b.addr}, "brokerName": b.name, "cluster": b.cluster,
                "enableActingMaster": False,
            } for b in brokers
        ],
        "filterServerTable": {},
        "queueDatas": [
            {
                "brokerName": b.name, "perm": 6, "readQueueNums": read, "topicSysFlag": 0,
                "writeQueueNums": write,
            } for b in brokers
        ],
    })  # fmt: skip


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _json_body(rows: Sequence[Topic], data_version: dict[str, int]) -> bytes:
    """The plain form. Three million rows are made this way, hence text and not values."""
    table = ",".join([
        f'"{name}":{{"attributes":{{}},"order":false,"perm":6,"readQueueNums":{read},"topicFilterType":"SINGLE_TAG",'
        f'"topicName":"{name}","topicSysFlag":0,"writeQueueNums":{write}}}'
        for name, read, write in rows
    ])  # fmt: skip
    version = _json(data_version).decode()
    return (
        f'{{"filterServerList":[],"topicConfigSerializeWrapper":{{"dataVersion":{version},'
        f'"mappingDataVersion":{version},"topicConfigTable":{{{table}}},'
        '"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{}}}'
    ).encode()


def _compressed_body(rows: Sequence[Topic], data_version: dict[str, int]) -> bytes:
    """The 5.x compressed form: data version, topics, filter servers, mappings."""
    lines = [f"{name} {read} {write} 6 SINGLE_TAG {{}}".encode() for name, read, write in rows]
    inflated = b"".join([
        _sized(_json(data_version)),
        struct.pack(">i", len(lines)), *map(_sized, lines),
        _sized(b"[]"),
        struct.pack(">i", 0),
    ])  # fmt: skip
    return zlib.compress(inflated, ZLIB_LEVEL)


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
