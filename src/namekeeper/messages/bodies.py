"""JSON bodies: values to bytes as name servers send them, and back (protocol.md 2.1 to 2.8).

There are two forms: *standard* quotes the numeric keys of maps, *legacy* writes them bare, as Java does for
clients before 4.9.4. Both are compact (trap T5), have members in alphabetical order and leave out absent
values. In the legacy form queue data carries `topicSynFlag` as well as `topicSysFlag` (trap T15).

Fragments also make a route, so that a server can keep encoded brokers and queues.
"""

from collections.abc import Collection, Generator, Iterable, Mapping

from msgspec import json

from namekeeper.common.slices import run_slices
from namekeeper.errors import RequestError
from namekeeper.messages.body_types import (
    RawBrokerMemberGroupBody,
    RawClusterInfo,
    RawDataVersion,
    RawKVTable,
    RawTopicList,
    RawTopicRouteData,
    decode_body,
)
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.model.version import DataVersion
from namekeeper.wire.codes import ResponseCode

__all__ = [
    "EMPTY_FILTER_SERVER_TABLE",
    "SLICE_NAMES",
    "RouteSize",
    "assemble_topic_route",
    "decode_broker_member_group",
    "decode_cluster_info",
    "decode_data_version",
    "decode_kv_table",
    "decode_topic_list",
    "decode_topic_route",
    "encode_broker_data",
    "encode_broker_member_group",
    "encode_cluster_info",
    "encode_data_version",
    "encode_filter_server_table",
    "encode_filter_servers_in_slices",
    "encode_kv_table",
    "encode_mapping",
    "encode_mappings_by_broker",
    "encode_mappings_in_slices",
    "encode_queue_data",
    "encode_topic_list",
    "encode_topic_route",
    "is_absent",
]

SLICE_NAMES = 128
"""Broker names encoded in one slice: about 400 microseconds."""

SLICE_PARTS = 2_048
"""Mapped queues, or filter servers, encoded in one slice: a millisecond at most."""
PARTS_OF_NAME = SLICE_PARTS // SLICE_NAMES
"""Parts that a broker name or an address counts besides."""
BYTES_OF_PART = 64
"""Encoded bytes of filter servers that count as one part more: their names may be long."""

ROUTE_BYTES_LIMIT = 16 * 1024 * 1024
"""Bytes of a route: a stock client closes the connection at a longer frame. Rows of a few registrations, each
within its limits, would otherwise make an answer of hundreds of megabytes."""

EMPTY_FILTER_SERVER_TABLE = b"{}"
"""The usual value of `filterServerTable`."""

_MAX_SAFE_INTEGER = 2**53 - 1
"""Above it, JavaScript rounds, and Java's standard form writes a string instead (protocol.md 1.11)."""

_encode = json.Encoder().encode
_BOOLS = {False: b"false", True: b"true"}


class RouteSize:
    """The bytes of one route, counted while it is encoded."""

    def __init__(self) -> None:
        self._left = ROUTE_BYTES_LIMIT

    def add(self, encoded: bytes) -> bytes:
        """Count encoded bytes, and return them.

        Raises:
            RequestError: SYSTEM_ERROR (1), the route has become longer than clients read.
        """
        self._left -= len(encoded)
        if self._left < 0:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR,
                f"the route of this topic has more than {ROUTE_BYTES_LIMIT} bytes: no client reads it",
            )
        return encoded


def encode_topic_route(route: TopicRouteData, *, standard: bool) -> bytes:
    """Write the answer to 105 (protocol.md 2.1)."""
    mappings = route.topic_queue_mapping_by_broker
    return assemble_topic_route(
        [encode_broker_data(broker, standard=standard) for broker in route.broker_datas],
        [encode_queue_data(queues, standard=standard) for queues in route.queue_datas],
        encode_filter_server_table(route.filter_server_table),
        route.order_topic_conf,
        None if mappings is None else encode_mappings_by_broker(mappings, standard=standard),
    )


def assemble_topic_route(
    broker_fragments: Iterable[bytes],
    queue_fragments: Iterable[bytes],
    filter_server_table: bytes = EMPTY_FILTER_SERVER_TABLE,
    order_topic_conf: str | None = None,
    mappings: bytes | None = None,
) -> bytes:
    """Join encoded brokers, queues, filter servers and mapping table into the answer to 105.

    All fragments must be of one form; the result then is that of `encode_topic_route`.
    """
    order = b"" if order_topic_conf is None else b',"orderTopicConf":' + _encode(order_topic_conf)
    tail = b"" if mappings is None else b',"topicQueueMappingByBroker":' + mappings
    return b'{"brokerDatas":[%b],"filterServerTable":%b%b,"queueDatas":[%b]%b}' % (
        b",".join(broker_fragments),
        filter_server_table,
        order,
        b",".join(queue_fragments),
        tail,
    )


def encode_broker_data(broker: BrokerData, *, standard: bool) -> bytes:
    """Write one broker name as routes and cluster information show it; an absent zone is left out."""
    zone = b"" if broker.zone_name is None else b',"zoneName":' + _encode(broker.zone_name)
    return b'{"brokerAddrs":%b,"brokerName":%b,"cluster":%b,"enableActingMaster":%b%b}' % (
        _encode_addrs(broker.broker_addrs, standard=standard),
        _encode(broker.broker_name),
        _encode(broker.cluster),
        _BOOLS[broker.enable_acting_master],
        zone,
    )


def encode_queue_data(queues: QueueData, *, standard: bool) -> bytes:
    """Write the queues of one topic on one broker name."""
    return _QUEUE_DATA[standard] % {
        b"name": _encode(queues.broker_name),
        b"perm": queues.perm,
        b"read": queues.read_queue_nums,
        b"flag": queues.topic_sys_flag,
        b"write": queues.write_queue_nums,
    }


_QUEUE_DATA = {
    False: b'{"brokerName":%(name)b,"perm":%(perm)d,"readQueueNums":%(read)d,"topicSynFlag":%(flag)d,'
    b'"topicSysFlag":%(flag)d,"writeQueueNums":%(write)d}',
    True: b'{"brokerName":%(name)b,"perm":%(perm)d,"readQueueNums":%(read)d,"topicSysFlag":%(flag)d,'
    b'"writeQueueNums":%(write)d}',
}


def encode_filter_server_table(filter_servers: Mapping[str, Collection[str]]) -> bytes:
    """Write broker address -> filter servers."""
    if not filter_servers:
        return EMPTY_FILTER_SERVER_TABLE
    return run_slices(encode_filter_servers_in_slices(filter_servers, RouteSize()))


def encode_filter_servers_in_slices(
    filter_servers: Mapping[str, Collection[str]], size: RouteSize
) -> Generator[None, None, bytes]:
    """Write broker address -> filter servers, yielding wherever an event-loop iteration may end.

    Raises:
        RequestError: the route is too large.
    """
    members: list[bytes] = []
    parts = 0
    for addr in sorted(filter_servers):
        servers = filter_servers[addr]
        member = size.add(b"%b:%b" % (_encode(addr), _encode(servers)))
        members.append(member)
        parts += PARTS_OF_NAME + len(servers) + len(member) // BYTES_OF_PART
        if parts >= SLICE_PARTS:
            parts = 0
            yield
    return b"{%b}" % b",".join(members)


def encode_mappings_by_broker(mappings: Mapping[str, TopicQueueMappingInfo], *, standard: bool) -> bytes:
    """Write `topicQueueMappingByBroker`: broker name -> mapping."""
    return run_slices(encode_mappings_in_slices(mappings, RouteSize(), standard=standard))


def encode_mappings_in_slices(
    mappings: Mapping[str, TopicQueueMappingInfo], size: RouteSize, *, standard: bool
) -> Generator[None, None, bytes]:
    """Write `topicQueueMappingByBroker`, yielding wherever an event-loop iteration may end.

    Raises:
        RequestError: the route is too large.
    """
    members: list[bytes] = []
    parts = 0
    for name in sorted(mappings):
        mapping = mappings[name]
        encoded = yield from _encode_mapping_in_slices(mapping, standard=standard)
        members.append(size.add(b"%b:%b" % (_encode(name), encoded)))
        parts += PARTS_OF_NAME + len(mapping.curr_id_map) % SLICE_PARTS
        if parts >= SLICE_PARTS:
            parts = 0
            yield
    return b"{%b}" % b",".join(members)


def encode_mapping(mapping: TopicQueueMappingInfo, *, standard: bool) -> bytes:
    """Write one static-topic mapping (protocol.md 3.5)."""
    return run_slices(_encode_mapping_in_slices(mapping, standard=standard))


def _encode_mapping_in_slices(
    mapping: TopicQueueMappingInfo, *, standard: bool
) -> Generator[None, None, bytes]:
    is_text = standard and not -_MAX_SAFE_INTEGER <= mapping.epoch <= _MAX_SAFE_INTEGER
    ids = mapping.curr_id_map
    key = b'"%d":%d' if standard else b"%d:%d"
    ordered = sorted(ids)
    members: list[bytes] = []
    for start in range(0, len(ordered), SLICE_PARTS):
        if start:
            yield
        some = ordered[start : start + SLICE_PARTS]
        members.append(b",".join(key % (logical, ids[logical]) for logical in some))
    return b'{"bname":%b,"currIdMap":{%b},"dirty":%b,"epoch":%b,"scope":%b,"topic":%b,"totalQueues":%d}' % (
        _encode(mapping.bname),
        b",".join(members),
        _BOOLS[mapping.dirty],
        (b'"%d"' if is_text else b"%d") % mapping.epoch,
        _encode(mapping.scope),
        _encode(mapping.topic),
        mapping.total_queues,
    )


def encode_cluster_info(info: ClusterInfo, *, standard: bool) -> Generator[None, None, bytes]:
    """Write the answer to 106 (protocol.md 2.2), yielding wherever an event-loop iteration may end."""
    brokers = info.broker_addr_table
    names = sorted(brokers)
    members: list[bytes] = []
    for start in range(0, len(names), SLICE_NAMES):
        members += (
            b"%b:%b" % (_encode(name), encode_broker_data(brokers[name], standard=standard))
            for name in names[start : start + SLICE_NAMES]
        )
        yield
    clusters = {name: sorted(info.cluster_addr_table[name]) for name in sorted(info.cluster_addr_table)}
    return b'{"brokerAddrTable":{%b},"clusterAddrTable":%b}' % (b",".join(members), _encode(clusters))


def encode_broker_member_group(group: BrokerMemberGroup, *, standard: bool) -> bytes:
    """Write the answer to 901 (protocol.md 2.7)."""
    return b'{"brokerMemberGroup":{"brokerAddrs":%b,"brokerName":%b,"cluster":%b}}' % (
        _encode_addrs(group.broker_addrs, standard=standard),
        _encode(group.broker_name),
        _encode(group.cluster),
    )


def encode_topic_list(topics: TopicList) -> bytes:
    """Write the answer to 206, 224, 304, 311, 312 and 313 (protocol.md 2.5)."""
    addr = b"" if topics.broker_addr is None else b'"brokerAddr":%b,' % _encode(topics.broker_addr)
    return b'{%b"topicList":%b}' % (addr, _encode(topics.topic_list))


def encode_kv_table(table: Mapping[str, str]) -> bytes:
    """Write the answer to 219, which is also a registration's order-topic table (protocol.md 2.3, 3.8)."""
    return _encode({"table": dict(table)})


def encode_data_version(version: DataVersion) -> bytes:
    """Write the body of 322, request and answer alike (protocol.md 2.8)."""
    return _encode(version)


def is_absent(body: bytes) -> bool:
    """Whether a body holds no value: it is empty, or the JSON value null, which Java takes for no body."""
    return not body or body.strip(b" \t\r\n") == b"null"


def decode_topic_route(body: bytes) -> TopicRouteData:
    """Read a route in either form, with missing members too; RequestError for other bodies."""
    return decode_body(body, RawTopicRouteData, "TopicRouteData").to_model()


def decode_cluster_info(body: bytes) -> ClusterInfo:
    """Read the answer to 106 in either form; RequestError for other bodies."""
    return decode_body(body, RawClusterInfo, "ClusterInfo").to_model()


def decode_broker_member_group(body: bytes) -> BrokerMemberGroup:
    """Read the answer to 901 in either form; RequestError for other bodies."""
    return decode_body(body, RawBrokerMemberGroupBody, "BrokerMemberGroup").to_model()


def decode_topic_list(body: bytes) -> TopicList:
    """Read a list of topics; RequestError for other bodies."""
    return decode_body(body, RawTopicList, "TopicList").to_model()


def decode_kv_table(body: bytes) -> dict[str, str]:
    """Read a table of keys and values; RequestError for other bodies."""
    return decode_body(body, RawKVTable, "KVTable").to_model()


def decode_data_version(body: bytes) -> DataVersion:
    """Read a version, missing members as 0 (trap T17); RequestError for other bodies."""
    return decode_body(body, RawDataVersion, "DataVersion").to_model()


def _encode_addrs(addrs: Mapping[int, str], *, standard: bool) -> bytes:
    member = b'"%d":%b' if standard else b"%d:%b"
    return b"{%b}" % b",".join(member % (broker_id, _encode(addrs[broker_id])) for broker_id in sorted(addrs))
