"""Registration bodies that no broker sends: each is refused or harmless, and leaves the tables consistent."""

import json
import zlib
from itertools import product
from typing import Any

import pytest

from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.encode import Stamp, encode_change
from namekeeper.journal.contract.lines import Line
from namekeeper.route.events import Cause, Change
from tests.support.server.builders import World, channel, check_consistency
from tests.support.server.in_memory import InMemoryNameServer
from tests.support.system.errors import case

STAMP = Stamp("ns_1", 1_700_000_000_000, 1, 1_700_000_000_000, 0)
TOPIC = {"topicName": "T", "perm": 6, "readQueueNums": 4, "writeQueueNums": 4}
VERSION = {"counter": 3, "timestamp": 1_700_000_000_000}
REFUSED, ACCEPTED = 1, 0


def wrapped(table: object, **more: object) -> bytes:
    wrapper = {"dataVersion": VERSION, "topicConfigTable": table, **more}
    return json.dumps({"topicConfigSerializeWrapper": wrapper, "filterServerList": []}).encode()


def with_topic(**fields: object) -> bytes:
    return wrapped({"T": {**TOPIC, **fields}})


def mapped(**fields: object) -> bytes:
    mapping = {
        "topic": "T",
        "bname": "broker-a",
        "currIdMap": {"0": 0},
        "totalQueues": 1,
        "epoch": 1,
        **fields,
    }
    return wrapped({"T": TOPIC}, topicQueueMappingInfoMap={"T": mapping})


def sections(
    *topics: bytes, count: int | None = None, version: bytes = b"{}", tail: bytes = bytes(4)
) -> bytes:
    def item(text: bytes) -> bytes:
        return len(text).to_bytes(4) + text

    number = (len(topics) if count is None else count).to_bytes(4, signed=True)
    return zlib.compress(item(version) + number + b"".join(map(item, topics)) + item(b"[]") + tail)


BODIES: dict[str, tuple[bytes, int | None]] = {
    "null": (b"null", REFUSED),
    "a number": (b"7", REFUSED),
    "a string": (b'"text"', REFUSED),
    "a list": (b"[]", REFUSED),
    "an empty object": (b"{}", ACCEPTED),
    "blanks": (b"   ", None),
    "a zero byte": (b"\0", REFUSED),
    "a BOM": (b"\xef\xbb\xbf" + wrapped({"T": TOPIC}), None),
    "UTF-16": (wrapped({"T": TOPIC}).decode().encode("utf-16"), REFUSED),
    "bytes that are no UTF-8": (with_topic().replace(b'"T"', b'"\xff\xfe"'), None),
    "a lone surrogate": (with_topic(topicName="\ud800"), None),
    "lists in lists": (b"[" * 100_000, REFUSED),
    "objects in objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, None),
    "a table of lists in lists": (wrapped({}).replace(b"{}", b"[" * 50_000 + b"]" * 50_000), None),
    "a wrapper that is a list": (b'{"topicConfigSerializeWrapper":[]}', REFUSED),
    "a table that is a list": (wrapped([TOPIC]), REFUSED),
    "a table that is null": (wrapped(None), ACCEPTED),
    "a topic that is null": (wrapped({"T": None}), None),
    "a topic that is a number": (wrapped({"T": 4}), REFUSED),
    "a topic without a name": (wrapped({"T": {"perm": 6}}), REFUSED),
    "a topic whose name is empty": (with_topic(topicName=""), REFUSED),
    "a topic whose name is null": (with_topic(topicName=None), REFUSED),
    "a topic whose name is a number": (with_topic(topicName=7), None),
    "a topic whose name has blanks, quotes and lines": (with_topic(topicName='a "b"\n\0c'), None),
    "a topic of 100,000 characters": (with_topic(topicName="x" * 100_000), REFUSED),
    "a topic that is a path": (with_topic(topicName="../../etc/passwd"), ACCEPTED),
    "two keys of one topic": (wrapped({"A": TOPIC, "B": TOPIC}), None),
    "the same key twice": (wrapped({"T": TOPIC}).replace(b'{"T":', b'{"T":{"topicName":"T"},"T":'), None),
    "negative queues": (with_topic(readQueueNums=-1, writeQueueNums=-(2**31)), None),
    "more queues than an int holds": (with_topic(readQueueNums=2**63), None),
    "queues of 400 digits": (with_topic().replace(b'"readQueueNums": 4', b'"readQueueNums": ' + b"9" * 400), None),
    "queues of a fraction": (with_topic(readQueueNums=4.5), None),
    "queues that are infinite": (with_topic(readQueueNums=float("inf")), None),
    "queues that are no number": (with_topic(readQueueNums=float("nan")), None),
    "permission as text": (with_topic(perm="6"), None),
    "permission of 2**31": (with_topic(perm=2**31), None),
    "a version that is a list": (wrapped({}).replace(json.dumps(VERSION).encode(), b"[]"), REFUSED),
    "a version of text": (wrapped({}).replace(b'"counter": 3', b'"counter": "x"'), REFUSED),
    "a version of -2**63": (wrapped({}).replace(b'"counter": 3', b'"counter": %d' % -(2**63)), None),
    "a version of 2**64": (wrapped({}).replace(b'"counter": 3', b'"counter": %d' % 2**64), None),
    "filter servers that are no list": (b'{"filterServerList":{"a":1}}', REFUSED),
    "filter servers that are null": (b'{"filterServerList":[null]}', None),
    "1,001 filter servers": (json.dumps({"filterServerList": ["f"] * 1_001}).encode(), REFUSED),
    "a mapping of another broker": (mapped(bname="broker-z"), None),
    "a mapping without a broker": (mapped(bname=None), None),
    "a mapping of another topic": (mapped(topic="Other"), None),
    "a mapping with negative queues": (mapped(currIdMap={"-1": -1}, totalQueues=-1), None),
    "a mapping with queues that are no numbers": (mapped(currIdMap={"a": "b"}), None),
    "a mapping with queues of 20 digits": (mapped(currIdMap={"9" * 20: 1}), None),
    "a mapping that is null": (wrapped({"T": TOPIC}, topicQueueMappingInfoMap={"T": None}), None),
    "mappings that are a list": (wrapped({"T": TOPIC}, topicQueueMappingInfoMap=[1]), None),
    "half a body": (wrapped({"T": TOPIC})[:-20], REFUSED),
    "a body and a comma": (wrapped({"T": TOPIC}) + b",", None),
    "a body twice": (wrapped({"T": TOPIC}) * 2, None),
    "the first byte of zlib": (b"x", REFUSED),
    "zlib that ends": (sections(b"T 4 4 6 SINGLE_TAG")[:-8], REFUSED),
    "zlib with another checksum": (sections(b"T 4 4 6 SINGLE_TAG")[:-4] + b"abcd", None),
    "zlib with a dictionary": (b"\x78\xbb" + bytes(20), REFUSED),
    "zlib with bytes after it": (sections(b"T 4 4 6 SINGLE_TAG") + b"more", None),
    "fewer topics than announced": (sections(b"T 4 4 6 SINGLE_TAG", count=2), REFUSED),
    "minus one topic": (sections(count=-1), None),
    "two thousand million topics": (sections(count=2**31 - 1), REFUSED),
    "a topic text of one word": (sections(b"T"), REFUSED),
    "a topic text of blanks": (sections(b"     "), REFUSED),
    "a topic text of letters": (sections(b"T a b c d"), REFUSED),
    "a topic text that is no UTF-8": (sections(b"\xff\xfe 4 4 6 SINGLE_TAG"), None),
    "an item of minus one byte": (zlib.compress(b"\xff\xff\xff\xff"), REFUSED),
    "an item of 2 GiB": (zlib.compress(b"\x7f\xff\xff\xff{}"), REFUSED),
    "mappings that are cut off": (sections(b"T 4 4 6 SINGLE_TAG", tail=b"\0\0\0\1"), REFUSED),
}  # fmt: skip
"""What a body is -> its bytes and the code of its answer; None: either, as long as nothing is harmed."""


def started() -> InMemoryNameServer:
    """A server with a broker of another name, whose route must stay as it is."""
    made = InMemoryNameServer()
    own = wrapped({"Own": {**TOPIC, "topicName": "Own"}})
    assert (
        made.register(own, over=channel(9), brokerName="owner", brokerAddr="10.0.0.9:10911").code == ACCEPTED
    )
    return made


@pytest.mark.parametrize("body", BODIES)
def test_a_strange_body_is_refused_or_harmless(body: str) -> None:
    for version, compressed in product((0, 373, 513), ("false", "true")):
        with case(version, compressed):
            check_body(started(), *BODIES[body], version, compressed)


def check_body(
    server: InMemoryNameServer, data: bytes, code: int | None, version: int, compressed: str
) -> None:
    route = server.ask(105, {"topic": "Own"}).body
    before = list(server.events)
    answer = server.register(data, version=version, compressed=compressed)
    assert answer.code in (REFUSED, ACCEPTED)
    if version == 513 and code is not None and compressed == "false":
        assert answer.code == code, answer.remark
    if answer.code == REFUSED:
        assert answer.remark
        assert len(answer.remark) < 1_000
        assert server.events == before, "what is refused changes nothing"
    _harms_nothing(server, route)


def _harms_nothing(server: InMemoryNameServer, route: bytes) -> None:
    """The tables are consistent, the journal can keep and read them, and every list and route is answered."""
    world = World(server.state.tables)
    world.copy.apply_all(server.events)
    check_consistency(world)
    reader = RecordReader()
    for line in encode_change(Change(Cause.REGISTER, "p:1", tuple(server.events)), STAMP):
        assert reader(Line(1, line.rstrip(b"\n"))) is not None, line[:300]
    for code in (106, 206):
        assert server.ask(code).code == ACCEPTED
    assert server.ask(105, {"topic": "Own"}).body == route
    for topic in server.state.tables.topics():
        found: Any = json.loads(server.ask(105, {"topic": topic}).body)
        assert found["brokerDatas"], topic
    again = wrapped({"T2": {**TOPIC, "topicName": "T2"}})
    assert (
        server.register(again, over=channel(3), brokerName="next", brokerAddr="10.0.0.3:10911").code
        == ACCEPTED
    )
