"""Bodies of answers: routes, cluster information, member groups, lists."""

from msgspec import Struct, field

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueData

__all__ = ["BrokerMemberGroup", "ClusterInfo", "TopicList", "TopicRouteData"]


class TopicRouteData(Struct, frozen=True, rename="camel"):
    """The route of a topic (protocol.md 2.1)."""

    broker_datas: list[BrokerData] = field(default_factory=list)
    queue_datas: list[QueueData] = field(default_factory=list)
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)
    order_topic_conf: str | None = None
    topic_queue_mapping_by_broker: dict[str, TopicQueueMappingInfo] | None = None


class ClusterInfo(Struct, frozen=True, rename="camel"):
    """Every broker name, and the names of each cluster (protocol.md 2.2)."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, list[str]] = field(default_factory=dict)


class BrokerMemberGroup(Struct, frozen=True, rename="camel"):
    """The members of one broker name (protocol.md 2.7)."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)


class TopicList(Struct, frozen=True, rename="camel"):
    """Topic names, and for code 304 some broker to ask further (protocol.md 2.5)."""

    topic_list: list[str] = field(default_factory=list)
    broker_addr: str | None = None
