"""Answers of wide topics, whose routes are very large: made incrementally, and kept while unchanged.

They are apart from other answers, because each request for one of them waits: the server sends an answer of
megabytes while the loop has time and there is room for it.
"""

from collections.abc import Callable, Collection, Generator, KeysView
from functools import partial
from typing import TypeVar

from namekeeper.errors import RequestError
from namekeeper.messages.bodies import (
    SLICE_NAMES,
    RouteSize,
    assemble_topic_route,
    encode_filter_servers_in_slices,
    encode_mappings_in_slices,
)
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.processor.outcome import Sliced
from namekeeper.wire.command import Response

__all__ = ["WideRoutes"]

ADDRS_OF_NAME = 8
"""Addresses that are encoded in the time of one broker name."""

T = TypeVar("T")


class WideRoutes:
    """Topic -> answer to 105, in one form of JSON."""

    def __init__(
        self,
        encode_broker: Callable[[BrokerData], bytes],
        encode_queues: Callable[[QueueData], bytes],
        *,
        standard: bool,
    ) -> None:
        """Start empty.

        Args:
            encode_broker: encodes one broker name.
            encode_queues: encodes the queues of one.
            standard: the form of both.
        """
        self.kept_bytes = 0
        self._encode_broker = encode_broker
        self._encode_queues = encode_queues
        self._is_standard = standard
        self._answers: dict[str, Response] = {}
        self._under_way: dict[str, None] = {}
        """Topics with an answer under way that no change has invalidated since."""

    def answer(
        self,
        topic: str,
        find: Callable[[], TopicRouteData | None],
        otherwise: Response,
        *,
        may_keep: Callable[[int], bool],
    ) -> Sliced:
        """The answer of a topic, from the tables as they are in its first slice.

        Args:
            topic: the topic of the lookup.
            find: finds its route.
            otherwise: the answer without a route.
            may_keep: whether an answer of this number of bytes may be kept.
        """
        return Sliced((topic, self._is_standard), partial(self._make, topic, find, otherwise, may_keep))

    def forget(self, affected: Callable[[KeysView[str]], Collection[str]]) -> None:
        """Drop the answers of changed topics; `affected` selects them from the given ones."""
        for topic in affected(self._answers.keys()):
            answer = self._answers.pop(topic, None)
            self.kept_bytes -= 0 if answer is None else len(answer.body)
        for topic in affected(self._under_way.keys()):
            self._under_way.pop(topic, None)

    def forget_all(self) -> None:
        """Drop every answer."""
        self._answers.clear()
        self._under_way.clear()
        self.kept_bytes = 0

    def encode(self, route: TopicRouteData) -> Generator[None, None, bytes]:
        """Encode a route, yielding wherever an event-loop iteration may end.

        Raises:
            RequestError: the route is too large.
        """
        size = RouteSize()
        brokers = yield from _joined(route.broker_datas, self._encode_broker, _names_worth, size)
        queues = yield from _joined(route.queue_datas, self._encode_queues, lambda _: 1, size)
        mappings, encoded = route.topic_queue_mapping_by_broker, None
        if mappings:
            encoded = yield from encode_mappings_in_slices(mappings, size, standard=self._is_standard)
        filter_servers = yield from encode_filter_servers_in_slices(route.filter_server_table, size)
        yield
        return assemble_topic_route(brokers, queues, filter_servers, route.order_topic_conf, encoded)

    def _make(
        self,
        topic: str,
        find: Callable[[], TopicRouteData | None],
        otherwise: Response,
        may_keep: Callable[[int], bool],
    ) -> Generator[None, None, Response]:
        kept = self._answers.get(topic)
        if kept is not None:
            return kept
        self._under_way[topic] = None
        route = find()
        yield
        if route is None:
            self._under_way.pop(topic, None)
            return otherwise
        try:
            answer = Response(body=(yield from self.encode(route)))
        except RequestError as refusal:  # kept too: the next lookup would encode as much for nothing
            answer = Response(refusal.code, refusal.remark)
        if topic in self._under_way and may_keep(len(answer.body)):
            self.kept_bytes += len(answer.body)
            self._answers[topic] = answer
        self._under_way.pop(topic, None)
        return answer


def _names_worth(broker: BrokerData) -> int:
    """Number of broker names with one broker that take as long as this one."""
    return 1 + len(broker.broker_addrs) // ADDRS_OF_NAME


def _joined(
    values: list[T], encode: Callable[[T], bytes], worth: Callable[[T], int], size: RouteSize
) -> Generator[None, None, list[bytes]]:
    """Encode values; return the fragments of each slice with commas between them."""
    joined: list[bytes] = []
    some: list[bytes] = []
    left = SLICE_NAMES
    for value in values:
        some.append(size.add(encode(value)))
        left -= worth(value)
        if left <= 0:
            joined.append(b",".join(some))
            some, left = [], SLICE_NAMES
            yield
    if some:
        joined.append(b",".join(some))
        yield
    return joined
