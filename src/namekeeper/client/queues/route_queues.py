"""From a route to queues: where a producer may send to, and what consumers share (protocol.md 7.5, 7.6)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from namekeeper.client.queues.message_queue import MessageQueue, java_order, java_split, parse_java_int
from namekeeper.common.writable import is_writable
from namekeeper.errors import RouteDataError
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.perm import Perm
from namekeeper.model.route import TopicRouteData

__all__ = [
    "MAX_QUEUES",
    "NO_BROKER",
    "TopicPublishInfo",
    "cap_default_topic_queues",
    "check_queue_count",
    "mock_broker_name",
    "static_endpoints",
    "topic_publish_info",
    "topic_subscribe_info",
]


MAX_QUEUES = 1_000_000
"""Queues of one topic. 300 brokers with 1,024 queues each are under a third of it; these take about 70 MB."""


def check_queue_count(topic: str, count: int, where: str) -> None:
    """Refuse more queues than a topic can have.

    Raises:
        RouteDataError: There are more than MAX_QUEUES; `where` says what claims them.
    """
    if count > MAX_QUEUES:
        raise RouteDataError(topic, f"{where} makes {count} queues; more than {MAX_QUEUES} can't be true")


NO_BROKER = "__syslo__none__"
"""The broker name of a logical queue that no broker hosts."""

_GLOBAL_SCOPE = "__global__"
_MOCK_BROKER_PREFIX = "__syslo__"


def static_endpoints(topic: str, route: TopicRouteData) -> dict[MessageQueue, str]:
    """Return the broker name behind each logical queue; empty if the topic is not a static one.

    Among brokers that host the same logical queue the highest epoch counts, and of equal epochs the last
    broker name in the answer. (There Java follows the order of a hash table.)

    Raises:
        RouteDataError: The mapping claims more queues than a topic can have.
    """
    endpoints: dict[MessageQueue, str] = {}
    for scope, infos in _by_scope(route).items():
        total = max(info.total_queues for info in infos)
        check_queue_count(topic, len(endpoints) + total, f"the mapping of scope {scope!r}")
        hosts = _hosts(infos)
        broker_name = mock_broker_name(scope)
        for queue_id in range(total):
            endpoints[MessageQueue(topic, broker_name, queue_id)] = hosts.get(queue_id, NO_BROKER)
    return endpoints


def mock_broker_name(scope: str) -> str:
    """Return the broker name that logical queues of a scope carry instead of a real one."""
    return _MOCK_BROKER_PREFIX + (scope[2:] if scope == _GLOBAL_SCOPE else scope)


def _by_scope(route: TopicRouteData) -> dict[str, list[TopicQueueMappingInfo]]:
    scopes: defaultdict[str, list[TopicQueueMappingInfo]] = defaultdict(list)
    for info in (route.topic_queue_mapping_by_broker or {}).values():
        scopes[info.scope].append(info)
    return scopes


def _hosts(infos: list[TopicQueueMappingInfo]) -> dict[int, str]:
    """Return the broker name of each logical queue id that some broker hosts."""
    hosts: dict[int, str] = {}
    for info in sorted(infos, key=lambda info: info.epoch):
        hosts.update(dict.fromkeys(info.curr_id_map, info.bname))
    return hosts


_SHOWN = 80  # characters of a broken item that an error message repeats


class TopicPublishInfo(Struct, frozen=True):
    """The queues of a topic for a producer; without arguments, none yet."""

    order_topic: bool = False
    """Whether the queues come from the topic's order configuration, which stays the same when brokers go."""
    has_topic_router_info: bool = False
    """Whether a name server has a route of the topic; if there are no queues then, it can't be written to."""
    message_queues: tuple[MessageQueue, ...] = ()
    """The queues to send to, in the order in which they take turns."""
    route: TopicRouteData | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a queue to send to."""
        return bool(self.message_queues)


def topic_publish_info(topic: str, route: TopicRouteData) -> TopicPublishInfo:
    """Return the queues of a topic that a producer may send to.

    An order configuration alone decides where there is one; then the mapping of a static topic; else the
    write queues of each broker that has a master and may be written to, by broker name.

    Raises:
        RouteDataError: An item of the order configuration is not `broker:queues`, or the route claims more
            queues than a topic can have.
    """
    if route.order_topic_conf:
        queues = _ordered_queues(topic, route.order_topic_conf)
    elif route.order_topic_conf is None and route.topic_queue_mapping_by_broker:
        # Java leaves queues of several scopes with one id in the order of a hash table; here by scope.
        queues = sorted(static_endpoints(topic, route), key=lambda queue: (queue.queue_id, queue))
    else:
        queues = _queues(topic, "the write queues", _writable(route))
    return TopicPublishInfo(
        order_topic=bool(route.order_topic_conf),
        has_topic_router_info=True,
        message_queues=tuple(queues),
        route=route,
    )


def topic_subscribe_info(topic: str, route: TopicRouteData) -> frozenset[MessageQueue]:
    """Return the queues of a topic that consumers share: all that may be read, with or without a master.

    Raises:
        RouteDataError: The route claims more queues than a topic can have.
    """
    if route.topic_queue_mapping_by_broker:
        return frozenset(static_endpoints(topic, route))
    readable = (
        (queues.broker_name, queues.read_queue_nums)
        for queues in route.queue_datas
        if queues.perm & Perm.READ
    )
    return frozenset(_queues(topic, "the read queues", readable))


def cap_default_topic_queues(route: TopicRouteData, default_topic_queue_nums: int) -> TopicRouteData:
    """Return the route for a topic that doesn't exist yet, made from the template's (protocol.md 7.4 step 1).

    Each broker offers its read queues for both reading and writing, at most `default_topic_queue_nums`.
    """
    capped = []
    for queues in route.queue_datas:
        nums = min(default_topic_queue_nums, queues.read_queue_nums)
        capped.append(replace(queues, read_queue_nums=nums, write_queue_nums=nums))
    return replace(route, queue_datas=capped)


def _ordered_queues(topic: str, order_topic_conf: str) -> list[MessageQueue]:
    return _queues(
        topic, "its orderTopicConf", (_order_item(topic, item) for item in java_split(order_topic_conf, ";"))
    )


def _order_item(topic: str, item: str) -> tuple[str, int]:
    """Return broker name and number of queues; what follows a second colon is ignored, as Java does."""
    parts = java_split(item, ":")
    try:
        return parts[0], parse_java_int(parts[1])
    except (IndexError, ValueError):
        raise RouteDataError(
            topic,
            f"orderTopicConf has an item {item[:_SHOWN]!r} where broker:queues is needed; "
            "repair it with `mqadmin updateOrderConf`",
        ) from None


def _writable(route: TopicRouteData) -> Iterator[tuple[str, int]]:
    with_master: dict[str, bool] = {}
    for broker in route.broker_datas:
        with_master.setdefault(broker.broker_name, MASTER_ID in broker.broker_addrs)
    for queues in sorted(route.queue_datas, key=lambda queues: java_order(queues.broker_name)):
        has_master = with_master.get(queues.broker_name, False)
        if is_writable(queues.perm, queues.write_queue_nums, has_master=has_master):
            yield queues.broker_name, queues.write_queue_nums


def _queues(topic: str, where: str, nums: Iterable[tuple[str, int]]) -> list[MessageQueue]:
    """Make queues 0 to n - 1 of each broker name, in this order."""
    queues: list[MessageQueue] = []
    for broker_name, count in nums:
        check_queue_count(topic, len(queues) + count, f"{where} of broker {broker_name[:_SHOWN]!r}")
        queues += [MessageQueue(topic, broker_name, queue_id) for queue_id in range(count)]
    return queues
