"""The body of REGISTER_BROKER in all its forms (protocol.md 3).

The forms are JSON, a zlib stream of sections, or before 3.0.11 a bare topic-config wrapper. The request's
header and version determine the form, with two exceptions:

* A body that starts like a zlib stream is one, with any header: 5.x brokers set a wrong flag (trap T9).
* Below version 37 (a missing version is 0) the members tell a wrapper from a register body (trap T14).

Java neither refuses nor can use some values. Here a table, wrapper or version that is `null` is empty or 0. A
topic configuration that is `null` is left out. One without a name is refused, with any key (trap T54). The
reader accepts a mapping section where it may be; only a request from 5.0 on must have one (trap T13).
"""

import re
from collections.abc import Callable, Generator
from itertools import islice
from secrets import token_hex
from struct import Struct as BinaryStruct

from msgspec import Struct, json

from namekeeper.errors import RequestError
from namekeeper.messages.body_types import RawDataVersion, RawMapping, RawTopicConfig
from namekeeper.messages.inflating import InflateReader
from namekeeper.messages.queue_specs import specs_by_numbers, specs_by_text
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.registration import RegistrationBody
from namekeeper.model.topic import QueueSpec
from namekeeper.wire import fastjson
from namekeeper.wire.codes import ResponseCode

__all__ = [
    "MAPPING_SECTION_VERSION",
    "MARK",
    "REGISTER_BODY_VERSION",
    "TopicConfigTable",
    "decode_registration_body",
    "topic_config_pieces",
]

REGISTER_BODY_VERSION = 37
"""3.0.11: the first release that sends a register body rather than a bare wrapper."""

MAPPING_SECTION_VERSION = 413
"""5.0.0: the first release whose compressed bodies have a section of static-topic mappings."""

WHOLE_JSON_BYTES = 1024 * 1024
"""The server reads a JSON body up to this size, about 6,000 topics, at once, in about 4 ms."""

MAX_TOPICS = 1_000_000
"""Topics of one broker, a hundred times as many as the largest have."""

MAX_FILTER_SERVERS = 1_000
"""A broker starts a few, if any."""

MAX_MAPPINGS = 10_000
"""Static topics of one broker: all change in one event-loop iteration."""

MAX_MAPPED_QUEUES = 50_000
"""Logical queues in one mapping: each build of the route sorts them."""

MAX_OBJECTS_AT_ONCE = 262_144
MAX_COMMAS_AT_ONCE = 1_048_576
"""Most objects and commas that are read at once of a large JSON body: up to half and an eighth of a
microsecond each. A body of 16 MiB with topics alone has fewer of both."""

_ZLIB_FIRST_BYTE = 0x78
_MAX_QUOTED = 128
_FAILED = (
    "org.apache.rocketmq.remoting.exception.RemotingCommandException: Failed to decode RegisterBrokerBody"
)
"""The start of Java's remark (protocol.md 2.10)."""

_int32_at: Callable[[bytes, int], tuple[int]] = BinaryStruct(">i").unpack_from

TopicConfigTable = dict[str, RawTopicConfig]

MARK = f"pieces-{token_hex(16)}"
"""A key that no peer can know; one configuration under it replaces those in pieces."""

PIECE_BYTES = 131_072
"""Size of a piece in bytes: about a millisecond."""

MAX_BYTES_BEFORE = 131_072
"""Bytes in which to search for the table: versions stand before it, or short lists."""

_TABLE = re.compile(rb'(?<!\\)"topicConfigTable"\s*+:\s*+\{')
"""The start of the table. No string contains this: its quotes would be escaped."""
_BETWEEN_TWO = re.compile(rb'\}\s*+,\s*+(?="[^"\\]*+"\s*+:\s*+\{)')
_MARKED = b'"%b":{"topicName":"-"},' % MARK.encode()
_decode = json.Decoder(TopicConfigTable, strict=False).decode


def decode_registration_body(
    body: bytes, *, version: int, compressed: bool, slice_topics: int = 2_000
) -> Generator[None, None, RegistrationBody]:
    """Decode a body, yielding wherever an event-loop iteration may end.

    One iteration reads a JSON text, or a piece of it beyond `WHOLE_JSON_BYTES`, or inflates a chunk, or takes
    at most `slice_topics` topics.

    Raises:
        RequestError: the body can't be read (code 1, Java's remark with the reason).
    """
    if not body:
        return _nothing(version)
    is_zlib = compressed or body[0] == _ZLIB_FIRST_BYTE
    try:
        if is_zlib:
            return (yield from _decode_sections(body, version, slice_topics))
        return (yield from _decode_json(body, version, slice_topics))
    except ValueError as error:  # InflateError and DialectError among them
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"{_FAILED}, {error}") from None


class _Wrapper(Struct, rename="camel"):
    data_version: RawDataVersion | None = None
    topic_config_table: TopicConfigTable | None = None
    topic_queue_mapping_info_map: dict[str, RawMapping] | None = None


class _RegisterBody(Struct, rename="camel"):
    filter_server_list: list[str] | None = None
    topic_config_serialize_wrapper: _Wrapper | None = None


class _BodyOrWrapper(_Wrapper, rename="camel"):
    """Either form, so that one decoding finds out the form."""

    filter_server_list: list[str] | None = None
    topic_config_serialize_wrapper: _Wrapper | None = None

    @property
    def is_register_body(self) -> bool:
        return self.topic_config_serialize_wrapper is not None or self.filter_server_list is not None


def _nothing(version: int) -> RegistrationBody:
    is_old = 0 < version < REGISTER_BODY_VERSION
    return RegistrationBody(filter_servers=None if is_old else ())


def _decode_json(body: bytes, version: int, slice_topics: int) -> Generator[None, None, RegistrationBody]:
    topics, rest = _JsonTopics(), body
    if len(body) > WHOLE_JSON_BYTES:
        rest = yield from _read_pieces(body, topics, slice_topics)
        _check_cost(rest)
    filter_servers, wrapper = yield from _read_json(rest, version)
    table = wrapper.topic_config_table or {}
    if rest is not body and table.pop(MARK, None) is None:  # the pieces were of another object
        topics = _JsonTopics()
        _check_cost(body)
        filter_servers, wrapper = yield from _read_json(body, version)
        table = wrapper.topic_config_table or {}
    yield
    yield from topics.add(table, slice_topics)
    version_of_data = wrapper.data_version or RawDataVersion()
    raw_mappings = wrapper.topic_queue_mapping_info_map or {}
    _check_count(len(raw_mappings), MAX_MAPPINGS, "static topics")
    return RegistrationBody(
        data_version=version_of_data.to_model(),
        topics=topics.specs,
        topic_keys=None if topics.keys is None else frozenset(topics.keys),
        topic_count=len(topics.specs if topics.keys is None else topics.keys),
        filter_servers=filter_servers,
        mappings={key: _mapping(raw) for key, raw in raw_mappings.items()},
    )


def _read_pieces(body: bytes, topics: "_JsonTopics", slice_topics: int) -> Generator[None, None, bytes]:
    """Add the topics that can be read in pieces; return the rest of the body."""
    pieces = topic_config_pieces(body)
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            rest: bytes = end.value
            return rest
        yield
        yield from topics.add(piece, slice_topics)


def _read_json(body: bytes, version: int) -> Generator[None, None, tuple[tuple[str, ...] | None, _Wrapper]]:
    """Return filter servers, None where the form has none, and the wrapper with everything else."""
    if version < REGISTER_BODY_VERSION:
        either = yield from fastjson.decode_in_slices(body, _BodyOrWrapper)
        if not either.is_register_body:
            return None, either
        return _few(either.filter_server_list), either.topic_config_serialize_wrapper or _Wrapper()
    whole = yield from fastjson.decode_in_slices(body, _RegisterBody)
    return _few(whole.filter_server_list), whole.topic_config_serialize_wrapper or _Wrapper()


def _few(filter_servers: list[str] | None) -> tuple[str, ...]:
    _check_count(len(filter_servers or ()), MAX_FILTER_SERVERS, "filter servers")
    return tuple(filter_servers or ())


def _mapping(raw: RawMapping) -> TopicQueueMappingInfo:
    mapping = raw.to_model()
    _check_count(len(mapping.curr_id_map), MAX_MAPPED_QUEUES, "logical queues of one topic")
    return mapping


def _check_count(count: int, limit: int, what: str) -> None:
    if count > limit:
        raise ValueError(f"{count} {what}; {limit} are allowed")


def _check_cost(text: bytes) -> None:
    """Refuse JSON that would take too long to read, before reading it."""
    _check_count(text.count(b"{"), MAX_OBJECTS_AT_ONCE, "objects")
    _check_count(text.count(b","), MAX_COMMAS_AT_ONCE, "commas")


class _JsonTopics:
    """Topics of a JSON table, added some at a time."""

    def __init__(self) -> None:
        self.specs: dict[str, QueueSpec] = {}
        self.keys: set[str] | None = None
        """Keys of the table; None as long as each is the name of its topic."""

    def add(self, table: TopicConfigTable, slice_topics: int) -> Generator[None, None, None]:
        """Add configurations with their keys."""
        entries = iter(table.items())
        while some := list(islice(entries, slice_topics)):
            self._add(some)
            yield

    def _add(self, entries: list[tuple[str, RawTopicConfig]]) -> None:
        count = len(self.specs)
        is_keyed_by_name = _add_topics(self.specs, entries)
        if self.keys is None and not is_keyed_by_name:
            self.keys = set(islice(self.specs, count))
        if self.keys is not None:
            keys = {key for key, _ in entries}
            if not self.keys.isdisjoint(keys):  # the topic of the first key would have to be removed again
                raise ValueError("a key of topicConfigTable comes twice, and keys are not names of topics")
            self.keys |= keys


def _add_topics(topics: dict[str, QueueSpec], entries: list[tuple[str, RawTopicConfig]]) -> bool:
    """Add configurations by name; return whether that is their key. The hot loop of JSON bodies."""
    specs = specs_by_numbers
    is_keyed_by_name = True
    for key, config in entries:
        name = config.topic_name
        if name != key:
            is_keyed_by_name = False
        if not name:
            raise ValueError(f"the topic configuration under {key[:_MAX_QUOTED]!r} has no topicName")
        numbers = config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag
        topics[name] = specs[numbers]
    return is_keyed_by_name


def _decode_sections(body: bytes, version: int, slice_topics: int) -> Generator[None, None, RegistrationBody]:
    reader = InflateReader(body)
    data_version = fastjson.decode((yield from reader.take_item()), RawDataVersion).to_model()
    topics = yield from _read_topics(reader, slice_topics)
    filter_servers = _read_filter_servers((yield from reader.take_item()))
    try:
        mappings = yield from _read_mappings(reader)
    except ValueError:
        if version >= MAPPING_SECTION_VERSION:
            raise
        mappings = {}
    return RegistrationBody(
        data_version=data_version,
        topics=topics,
        topic_count=len(topics),
        filter_servers=filter_servers,
        mappings=mappings,
    )


def _read_topics(reader: InflateReader, slice_topics: int) -> Generator[None, None, dict[str, QueueSpec]]:
    left = yield from reader.take_count()
    _check_count(left, MAX_TOPICS, "topics")
    topics: dict[str, QueueSpec] = {}
    while left:
        read = _read_topics_at_hand(reader, topics, min(left, slice_topics))
        left -= read
        yield
        if not read:
            yield from reader.load_item()
    return topics


def _read_topics_at_hand(reader: InflateReader, topics: dict[str, QueueSpec], limit: int) -> int:
    """Read the completely inflated topic strings; return their number. The hot loop of zlib bodies."""
    buffer, position = reader.buffer, reader.position
    stop = len(buffer)
    specs, int32_at = specs_by_text, _int32_at
    read = 0
    while read < limit and (start := position + 4) <= stop:
        (size,) = int32_at(buffer, position)
        end = start + size
        if end > stop or size < 0:
            break
        name, _, rest = buffer[start:end].partition(b" ")
        try:
            topics[name.decode()] = specs[rest]
        except ValueError:
            _read_odd_topic(topics, name, rest)
        position = end
        read += 1
    reader.position = position
    if "" in topics:
        raise ValueError("a topic string has no name")
    return read


def _read_odd_topic(topics: dict[str, QueueSpec], name: bytes, rest: bytes) -> None:
    """Read a topic whose name isn't UTF-8, as Java does, or raise ValueError with the problem."""
    try:
        topics[name.decode("utf-8", "replace")] = specs_by_text[rest]
    except ValueError as error:
        raise ValueError(f"the topic string of {name[:_MAX_QUOTED]!r} {error}") from None


def _read_filter_servers(text: bytes) -> tuple[str, ...]:
    """Read section 3; Java logs an error in it and goes on without filter servers."""
    try:
        filter_servers = fastjson.decode(text, list[str])
    except fastjson.DialectError:
        return ()
    return _few(filter_servers)


def _read_mappings(reader: InflateReader) -> Generator[None, None, dict[str, TopicQueueMappingInfo]]:
    mappings = {}
    count = yield from reader.take_count()
    _check_count(count, MAX_MAPPINGS, "static topics")
    for _ in range(count):
        mapping = _mapping(fastjson.decode((yield from reader.take_item()), RawMapping))
        if not mapping.topic:
            raise ValueError("a static-topic mapping has no topic")
        mappings[mapping.topic] = mapping
    return mappings


def topic_config_pieces(body: bytes) -> Generator[TopicConfigTable, None, bytes]:
    """Read the start of the `topicConfigTable` of a large body; the caller may yield after a piece.

    13 MB in one go stop the loop for 80 ms. A piece ends where the text looks like the end of one topic
    configuration and the start of the next. If that position is in fact inside a configuration, the piece is
    not JSON, and the server reads the rest in one go. So a piece that can be read starts and ends between two
    members of one object.

    The rest of the body shows whether this object is the table: a mark replaces the pieces there, and the
    reader finds it at the position of the pieces.

    Returns the body with `MARK` in place of the pieces; the body itself if there was none.
    """
    table = _TABLE.search(body, 0, MAX_BYTES_BEFORE)
    if table is None:
        return body
    begin = start = table.end()
    while (cut := _BETWEEN_TWO.search(body, start + PIECE_BYTES)) is not None:
        try:
            piece = _decode(b"{%b}" % body[start : cut.start() + 1])
        except ValueError:  # cut inside a configuration, or no topic configuration
            break
        yield piece
        start = cut.end()
    return body if start == begin else b"%b%b%b" % (body[:begin], _MARKED, body[start:])
