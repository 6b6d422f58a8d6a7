"""What our pure functions make of the cases that ClientOracle.java answers, in its words."""

import random
from collections.abc import Callable
from typing import Any

import msgspec

from namekeeper.client.queues.allocation import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueByConfig,
    AllocateMessageQueueByMachineRoom,
    AllocateMessageQueueConsistentHash,
    AllocateMessageQueueStrategy,
)
from namekeeper.client.queues.fault_tolerance import MQFaultStrategy
from namekeeper.client.queues.fault_tolerance_4 import MQFaultStrategy4
from namekeeper.client.queues.message_queue import MessageQueue, java_order
from namekeeper.client.queues.route_queues import static_endpoints, topic_publish_info, topic_subscribe_info
from namekeeper.client.queues.selection import ThreadLocalIndex
from namekeeper.client.routes.events import is_route_changed
from namekeeper.errors import NamekeeperError
from namekeeper.model.route import TopicRouteData
from namekeeper.topic_name import check_send_topic
from tests.interop.client_cases import Case

__all__ = ["REFUSED", "ours"]

REFUSED = "refused"
"""Java threw what it throws at bad input, or we raised one of our errors."""

EQUAL_SHARES: dict[str, AllocateMessageQueueStrategy] = {
    "AVG": AllocateMessageQueueAveragely(),
    "AVG_BY_CIRCLE": AllocateMessageQueueAveragelyByCircle(),
}


def ours(case: Case) -> Any:
    """Return what our functions answer, as ClientOracle.java would."""
    try:
        return ANSWERS[case["op"]](case)
    except NamekeeperError:
        return REFUSED


def _publish(case: Case) -> Any:
    info = topic_publish_info(case["topic"], _route_of(case["route"]))
    return {"order": info.order_topic, "queues": _rows(info.message_queues)}


def _subscribe(case: Case) -> Any:
    return _rows(sorted(topic_subscribe_info(case["topic"], _route_of(case["route"]))))


def _endpoints(case: Case) -> Any:
    found = static_endpoints(case["topic"], _route_of(case["route"]))
    return [[queue.broker_name, queue.queue_id, found[queue]] for queue in sorted(found)]


def _changed(case: Case) -> Any:
    old, new = (None if text is None else _route_of(text) for text in (case["old"], case["new"]))
    return is_route_changed(old, new)


def _sort(case: Case) -> Any:
    return _rows(sorted(MessageQueue(*row) for row in case["queues"]))


def _topic(case: Case) -> Any:
    check_send_topic(case["topic"])
    return True


def _allocate(case: Case) -> Any:
    queues = [MessageQueue(case["topic"], *row) for row in case["queues"]]
    return _rows(_strategy_of(case["strategy"]).allocate(case["cid"], queues, case["cids"]))


def _strategy_of(described: Case) -> AllocateMessageQueueStrategy:
    match described["name"]:
        case "AVG" | "AVG_BY_CIRCLE" as name:
            return EQUAL_SHARES[name]
        case "CONFIG":
            return AllocateMessageQueueByConfig(
                [MessageQueue("configured", *row) for row in described["queues"]]
            )
        case "MACHINE_ROOM":
            return AllocateMessageQueueByMachineRoom(described["rooms"])
        case "CONSISTENT_HASH":
            return _consistent_hash(described["nodes"], described["places"])
        case _:
            return AllocateMachineRoomNearby(
                _strategy_of(described["inner"]), lambda queue: _before_at(queue.broker_name), _before_at
            )


def _consistent_hash(nodes: int, places: int | None) -> AllocateMessageQueueConsistentHash:
    if places is None:
        return AllocateMessageQueueConsistentHash(nodes)
    return AllocateMessageQueueConsistentHash(nodes, lambda key: sum(map(ord, key)) % places)


def _before_at(name: str) -> str:
    return name[: max(0, name.find("@"))]


class _Fixed(random.Random):
    """A random that is not."""

    value = 0

    def randrange(self, *_: Any) -> int:
        return self.value


def _select(case: Case) -> Any:
    chance = _Fixed()
    index, latency = ThreadLocalIndex(chance, case["start"]), case["latency"]
    worst = ThreadLocalIndex(chance, case["worst"])
    strategy = (
        MQFaultStrategy(send_latency_fault_enable=latency)
        if case["five"]
        else MQFaultStrategy4(worst, send_latency_fault_enable=latency)
    )
    info = topic_publish_info(case["topic"], _route_of(case["route"]))
    now_ms = 1_000_000
    answers: list[Any] = []
    for word, *rest in case["steps"]:
        if word == "advance":
            now_ms += rest[0]
        elif word == "update":
            name, latency_ms, isolation, reachable = rest
            strategy.update_fault_item(
                name, latency_ms, isolation=isolation, reachable=reachable or not case["five"], now_ms=now_ms
            )
        else:
            last, reset, chance.value = rest
            queue = strategy.select_one_message_queue(info, index, last, reset_index=reset, now_ms=now_ms)
            answers.append(
                {
                    "queue": queue and [queue.broker_name, queue.queue_id],
                    "table": [
                        [
                            name,
                            strategy.tolerance.is_available(name, now_ms=now_ms),
                            strategy.tolerance.is_reachable(name),
                        ]
                        for name in sorted(strategy.tolerance._items, key=java_order)
                    ],
                }
            )
    return answers


def _route_of(text: str) -> TopicRouteData:
    return msgspec.json.decode(text, type=TopicRouteData)


def _rows(queues: Any) -> list[list[Any]]:
    return [[queue.topic, queue.broker_name, queue.queue_id] for queue in queues]


ANSWERS: dict[str, Callable[[Case], Any]] = {
    "publish": _publish,
    "subscribe": _subscribe,
    "endpoints": _endpoints,
    "changed": _changed,
    "sort": _sort,
    "topic": _topic,
    "allocate": _allocate,
    "select": _select,
}
