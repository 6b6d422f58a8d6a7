"""What a broker writes into the body of REGISTER_BROKER (protocol.md 3); the way back is `registration_body`.

JSON is strict: every key quoted and spelled as Java does, no `null` (trap T56).
"""

import zlib
from collections.abc import Iterable

from msgspec import Struct, json

from namekeeper.messages.bodies import encode_data_version, encode_mapping
from namekeeper.messages.registration_body import MAPPING_SECTION_VERSION
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import OUR_VERSION

__all__ = ["RegisterBrokerBody", "encode_registration_body"]

_encode = json.Encoder().encode
_BOOLS = {False: b"false", True: b"true"}
_ZLIB_LEVEL = 9
"""Java's, so that the bytes are the same."""


class RegisterBrokerBody(Struct, frozen=True):
    """A broker's topics and what belongs to them, as one registration says it."""

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
        return zlib.compress(_sections(body, has_mappings=has_mappings, standard=standard), _ZLIB_LEVEL)
    wrapper = _wrapper_5x(body, standard=standard) if has_mappings else _wrapper_4x(body)
    return b'{"filterServerList":%b,"topicConfigSerializeWrapper":%b}' % (
        _encode(body.filter_servers),
        wrapper,
    )


def _wrapper_4x(body: RegisterBrokerBody) -> bytes:
    return b'{"dataVersion":%b,"topicConfigTable":%b}' % (
        _data_version_4x(body.data_version),
        _object((topic.topic_name, _topic_config(topic, b"")) for topic in body.topics),
    )


def _wrapper_5x(body: RegisterBrokerBody, *, standard: bool) -> bytes:
    return (
        b'{"dataVersion":%b,"mappingDataVersion":%b,"topicConfigTable":%b,'
        b'"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":%b}'
    ) % (
        encode_data_version(body.data_version),
        encode_data_version(body.mapping_data_version),
        _object(
            (topic.topic_name, _topic_config(topic, b'"attributes":%b,' % _encode(topic.attributes)))
            for topic in body.topics
        ),
        _object((mapping.topic, encode_mapping(mapping, standard=standard)) for mapping in body.mappings),
    )


def _topic_config(topic: TopicConfig, attributes: bytes) -> bytes:
    return (
        b'{%b"order":%b,"perm":%d,"readQueueNums":%d,"topicFilterType":%b,'
        b'"topicName":%b,"topicSysFlag":%d,"writeQueueNums":%d}'
    ) % (
        attributes,
        _BOOLS[topic.order],
        topic.perm,
        topic.read_queue_nums,
        _encode(topic.topic_filter_type),
        _encode(topic.topic_name),
        topic.topic_sys_flag,
        topic.write_queue_nums,
    )


def _data_version_4x(version: DataVersion) -> bytes:
    return b'{"counter":%d,"timestamp":%d}' % (version.counter, version.timestamp)


def _object(members: Iterable[tuple[str, bytes]]) -> bytes:
    return b"{%b}" % b",".join(b"%b:%b" % (_encode(key), value) for key, value in members)


def _sections(body: RegisterBrokerBody, *, has_mappings: bool, standard: bool) -> bytes:
    version = encode_data_version(body.data_version) if has_mappings else _data_version_4x(body.data_version)
    sections = [
        _item(version),
        _items(_topic_string(topic, has_attributes=has_mappings) for topic in body.topics),
        _item(_encode(body.filter_servers)),
    ]
    if has_mappings:
        sections.append(_items(encode_mapping(mapping, standard=standard) for mapping in body.mappings))
    return b"".join(sections)


def _topic_string(topic: TopicConfig, *, has_attributes: bool) -> bytes:
    text = b"%b %d %d %d %b" % (
        topic.topic_name.encode(),
        topic.read_queue_nums,
        topic.write_queue_nums,
        topic.perm,
        topic.topic_filter_type.encode(),
    )
    return b"%b %b" % (text, _encode(topic.attributes)) if has_attributes else text


def _items(items: Iterable[bytes]) -> bytes:
    encoded = [_item(item) for item in items]
    return len(encoded).to_bytes(4) + b"".join(encoded)


def _item(item: bytes) -> bytes:
    return len(item).to_bytes(4) + item
