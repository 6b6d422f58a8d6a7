"""Encodes the body of REGISTER_BROKER as a broker does (protocol.md 3); `registration_body` decodes it.

JSON is strict: every key is quoted and spelled as in Java, without `null` (trap T56).
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from operator import add, attrgetter
from struct import Struct as BinaryStruct

from msgspec import Struct, json, structs

from namekeeper.messages.bodies import encode_data_version, encode_mapping
from namekeeper.messages.registration_body import MAPPING_SECTION_VERSION
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import OUR_VERSION

__all__ = ["RegisterBrokerBody", "encode_registration_body", "encode_topic_config_table"]

_encode = json.Encoder().encode
_BOOLS = {False: b"false", True: b"true"}
_encode_sorted = json.Encoder(order="sorted").encode
"""Members by name, as Java writes them."""
_name_of: Callable[[TopicConfig], str] = attrgetter("topic_name")
_ZLIB_LEVEL = 9
"""Java's, so that the bytes are the same."""
_LARGE_BYTES = 1 << 20
_LARGE_ZLIB_LEVEL = 3
"""The zlib level above this size: writing must not be slower than reading. Name servers read every level."""
_INT32: Callable[[int], bytes] = BinaryStruct(">i").pack


class RegisterBrokerBody(Struct, frozen=True):
    """A broker's topics and their related data, as in one registration."""

    data_version: DataVersion = DataVersion()
    topics: tuple[TopicConfig, ...] = ()
    filter_servers: tuple[str, ...] = ()
    mappings: tuple[TopicQueueMappingInfo, ...] = ()
    """Static topics (5.x)."""
    mapping_data_version: DataVersion = DataVersion()
    """5.x, JSON only; no name server reads it."""


def encode_registration_body(
    body: RegisterBrokerBody, *, compressed: bool = False, version: int = OUR_VERSION, standard: bool = True
) -> bytes:
    """Write a body as a broker of this version does (protocol.md 3.2, 3.4).

    Before 5.0 there are no attributes, mappings or state versions; name servers of 4.x fail on a compressed
    body that has them. `standard=False` writes the keys of a mapping's `currIdMap` bare, as Java does.
    """
    has_mappings = version >= MAPPING_SECTION_VERSION
    if compressed:
        sections = _sections(body, has_mappings=has_mappings, standard=standard)
        return zlib.compress(sections, _ZLIB_LEVEL if len(sections) <= _LARGE_BYTES else _LARGE_ZLIB_LEVEL)
    wrapper = _wrapper_5x(body, standard=standard) if has_mappings else _wrapper_4x(body)
    return b'{"filterServerList":%b,"topicConfigSerializeWrapper":%b}' % (
        _encode(body.filter_servers),
        wrapper,
    )


def encode_topic_config_table(topics: Sequence[TopicConfig], *, has_attributes: bool = True) -> bytes:
    """Write topics as the object that maps names to them: in registrations, and in a broker's `topics.json`.

    Args:
        topics: each name once.
        has_attributes: False before 5.0, when there were none.
    """
    if not has_attributes:
        topics = [structs.replace(topic, attributes={}) if topic.attributes else topic for topic in topics]
    # One list of alternating names and topics costs a third of one item at a time. JSON escapes a quote in a
    # text, so the replaced bytes occur only between a name and its topic.
    pairs: list[str | TopicConfig] = [""] * (2 * len(topics))
    pairs[::2] = map(_name_of, topics)
    pairs[1::2] = topics
    members = _encode_sorted(pairs)[1:-1].replace(b'",{"attributes"', b'":{"attributes"')
    return b"{%b}" % (members if has_attributes else members.replace(b'{"attributes":{},', b"{"))


def _wrapper_4x(body: RegisterBrokerBody) -> bytes:
    return b'{"dataVersion":%b,"topicConfigTable":%b}' % (
        _data_version_4x(body.data_version),
        encode_topic_config_table(body.topics, has_attributes=False),
    )


def _wrapper_5x(body: RegisterBrokerBody, *, standard: bool) -> bytes:
    return (
        b'{"dataVersion":%b,"mappingDataVersion":%b,"topicConfigTable":%b,'
        b'"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":%b}'
    ) % (
        encode_data_version(body.data_version),
        encode_data_version(body.mapping_data_version),
        encode_topic_config_table(body.topics),
        _object((mapping.topic, encode_mapping(mapping, standard=standard)) for mapping in body.mappings),
    )


def _data_version_4x(version: DataVersion) -> bytes:
    return b'{"counter":%d,"timestamp":%d}' % (version.counter, version.timestamp)


def _object(members: Iterable[tuple[str, bytes]]) -> bytes:
    return b"{%b}" % b",".join(b"%b:%b" % (_encode(key), value) for key, value in members)


def _sections(body: RegisterBrokerBody, *, has_mappings: bool, standard: bool) -> bytes:
    version = encode_data_version(body.data_version) if has_mappings else _data_version_4x(body.data_version)
    sections = [
        _item(version),
        _topic_strings(body.topics, has_attributes=has_mappings),
        _item(_encode(body.filter_servers)),
    ]
    if has_mappings:
        sections.append(_items(encode_mapping(mapping, standard=standard) for mapping in body.mappings))
    return b"".join(sections)


def _topic_strings(topics: Sequence[TopicConfig], *, has_attributes: bool) -> bytes:
    """Write section 2; a column at a time, because that runs in C."""
    names = [topic.topic_name.encode() for topic in topics]
    tails = list(map(_Tails(has_attributes=has_attributes).of, topics))
    pieces = [b""] * (3 * len(topics))
    pieces[::3] = map(_INT32, map(add, map(len, names), map(len, tails)))
    pieces[1::3] = names
    pieces[2::3] = tails
    return _INT32(len(topics)) + b"".join(pieces)


class _Tails:
    """The text after the name in a topic string; nearly all topics of a broker share a few of them."""

    def __init__(self, *, has_attributes: bool) -> None:
        self._known: dict[tuple[int, int, int, str], bytes] = {}
        self._empty = b" {}" if has_attributes else b""
        self._has_attributes = has_attributes

    def of(self, topic: TopicConfig) -> bytes:
        """Return the tail of one topic."""
        key = (topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_filter_type)
        tail = self._known.get(key)
        if tail is None:
            tail = self._known[key] = b" %d %d %d %b" % (*key[:3], key[3].encode()) + self._empty
        if topic.attributes and self._has_attributes:
            return tail[:-2] + _encode(topic.attributes)
        return tail


def _items(items: Iterable[bytes]) -> bytes:
    encoded = [_item(item) for item in items]
    return _INT32(len(encoded)) + b"".join(encoded)


def _item(item: bytes) -> bytes:
    return _INT32(len(item)) + item
