"""The JSON objects of request and response bodies as peers send them, and their values for the server.

Every member may be missing or `null`, as fastjson allows; the resulting values are checked. A number that is
`null` is 0, as in Java since 5.4 (protocol.md 1.11).
"""

from typing import Annotated, TypeVar

from msgspec import Meta, Struct, field

from namekeeper.errors import RequestError
from namekeeper.messages.fields import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.model.version import DataVersion
from namekeeper.wire import fastjson
from namekeeper.wire.codes import ResponseCode

__all__ = [
    "RawBrokerData",
    "RawBrokerMemberGroup",
    "RawBrokerMemberGroupBody",
    "RawClusterInfo",
    "RawDataVersion",
    "RawKVTable",
    "RawMapping",
    "RawQueueData",
    "RawTopicConfig",
    "RawTopicList",
    "RawTopicRouteData",
    "decode_body",
]

T = TypeVar("T")

Int32 = Annotated[int, Meta(ge=INT32_MIN, le=INT32_MAX)]
Int64 = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)]
"""Java's long: the server refuses a number that no peer can hold, so that it never sends one on."""


def decode_body(body: bytes, raw_type: type[T], name: str) -> T:
    """Read a body in any accepted dialect; raise RequestError (code 1) with its name if that fails."""
    try:
        return fastjson.decode(body, raw_type)
    except fastjson.DialectError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"Failed to decode {name}, {error}") from None


class RawTopicConfig(Struct, gc=False, rename="camel"):
    """The members of a TopicConfig that a name server needs (protocol.md 3.3); the decoder skips all others.

    Attributes are among the others, so that a `$ref` instead of them does no harm (trap T16).
    """

    perm: Int32 | None = 6
    read_queue_nums: Int32 | None = 16
    topic_name: str | None = None
    topic_sys_flag: Int32 | None = 0
    write_queue_nums: Int32 | None = 16


class RawDataVersion(Struct, gc=False, rename="camel"):
    """A DataVersion; a missing member is 0 (trap T17)."""

    counter: Int64 | None = 0
    state_version: Int64 | None = 0
    timestamp: Int64 | None = 0

    def to_model(self) -> DataVersion:
        """Return the version as a value."""
        return DataVersion(
            counter=self.counter or 0,
            state_version=self.state_version or 0,
            timestamp=self.timestamp or 0,
        )


class RawMapping(Struct, rename="camel"):
    """A TopicQueueMappingInfo (protocol.md 3.5); the broker name is the key it is stored under."""

    bname: str
    curr_id_map: dict[Int32, Int32] | None = None
    dirty: bool | None = False
    epoch: Int64 | None = 0
    scope: str | None = None
    topic: str | None = None
    total_queues: Int32 | None = 0

    def to_model(self) -> TopicQueueMappingInfo:
        """Return the mapping as a value."""
        return TopicQueueMappingInfo(
            bname=self.bname,
            curr_id_map=self.curr_id_map or {},
            dirty=self.dirty or False,
            epoch=self.epoch or 0,
            scope="__global__" if self.scope is None else self.scope,
            topic=self.topic or "",
            total_queues=self.total_queues or 0,
        )


class RawBrokerData(Struct, rename="camel"):
    """A BrokerData (protocol.md 2.1)."""

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[Int64, str] | None = None
    enable_acting_master: bool | None = False
    zone_name: str | None = None

    def to_model(self) -> BrokerData:
        """Return the broker name as a value."""
        return BrokerData(
            cluster=self.cluster or "",
            broker_name=self.broker_name or "",
            broker_addrs=self.broker_addrs or {},
            enable_acting_master=self.enable_acting_master or False,
            zone_name=self.zone_name,
        )


class RawQueueData(Struct, rename="camel"):
    """A QueueData (protocol.md 2.1), with the system flag under either of its names (trap T15)."""

    broker_name: str | None = None
    perm: Int32 | None = 0
    read_queue_nums: Int32 | None = 0
    topic_syn_flag: Int32 | None = 0
    topic_sys_flag: Int32 | None = None
    write_queue_nums: Int32 | None = 0

    def to_model(self) -> QueueData:
        """Return the queues as a value."""
        sys_flag = self.topic_syn_flag if self.topic_sys_flag is None else self.topic_sys_flag
        return QueueData(
            broker_name=self.broker_name or "",
            perm=self.perm or 0,
            read_queue_nums=self.read_queue_nums or 0,
            topic_sys_flag=sys_flag or 0,
            write_queue_nums=self.write_queue_nums or 0,
        )


class RawTopicRouteData(Struct, rename="camel"):
    """A TopicRouteData (protocol.md 2.1)."""

    broker_datas: list[RawBrokerData] | None = None
    filter_server_table: dict[str, list[str] | None] | None = None
    order_topic_conf: str | None = None
    queue_datas: list[RawQueueData] | None = None
    topic_queue_mapping_by_broker: dict[str, RawMapping] | None = None

    def to_model(self) -> TopicRouteData:
        """Return the route as a value; addresses without filter servers vanish (trap T35)."""
        mappings = self.topic_queue_mapping_by_broker
        filter_servers = self.filter_server_table or {}
        return TopicRouteData(
            broker_datas=[broker.to_model() for broker in self.broker_datas or ()],
            queue_datas=[queues.to_model() for queues in self.queue_datas or ()],
            filter_server_table={addr: some for addr, some in filter_servers.items() if some is not None},
            order_topic_conf=self.order_topic_conf,
            topic_queue_mapping_by_broker=(
                None if mappings is None else {bname: raw.to_model() for bname, raw in mappings.items()}
            ),
        )


class RawClusterInfo(Struct, rename="camel"):
    """A ClusterInfo (protocol.md 2.2)."""

    broker_addr_table: dict[str, RawBrokerData] | None = None
    cluster_addr_table: dict[str, list[str]] | None = None

    def to_model(self) -> ClusterInfo:
        """Return the clusters as a value."""
        brokers = self.broker_addr_table or {}
        return ClusterInfo(
            broker_addr_table={name: broker.to_model() for name, broker in brokers.items()},
            cluster_addr_table=self.cluster_addr_table or {},
        )


class RawBrokerMemberGroup(Struct, rename="camel"):
    """A BrokerMemberGroup (protocol.md 2.7)."""

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[Int64, str] | None = None


class RawBrokerMemberGroupBody(Struct, rename="camel"):
    """The envelope around the one member of the answer to 901."""

    broker_member_group: RawBrokerMemberGroup = field(default_factory=RawBrokerMemberGroup)

    def to_model(self) -> BrokerMemberGroup:
        """Return the group as a value."""
        group = self.broker_member_group
        return BrokerMemberGroup(
            cluster=group.cluster or "",
            broker_name=group.broker_name or "",
            broker_addrs=group.broker_addrs or {},
        )


class RawTopicList(Struct, rename="camel"):
    """A TopicList (protocol.md 2.5)."""

    broker_addr: str | None = None
    topic_list: list[str] | None = None

    def to_model(self) -> TopicList:
        """Return the list as a value."""
        return TopicList(topic_list=self.topic_list or [], broker_addr=self.broker_addr)


class RawKVTable(Struct):
    """A KVTable (protocol.md 2.3, 3.8)."""

    table: dict[str, str | None] | None = None

    def to_model(self) -> dict[str, str]:
        """Return the entries; one without a value is left out."""
        return {key: value for key, value in (self.table or {}).items() if value is not None}
