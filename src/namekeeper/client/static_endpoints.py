"""Logical queues of static topics: which broker stands behind each of them now (protocol.md 7.6)."""

from collections import defaultdict

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.queue_limit import check_queue_count
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData

__all__ = ["NO_BROKER", "mock_broker_name", "static_endpoints"]

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
