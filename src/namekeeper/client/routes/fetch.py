"""Fetches the route of a topic: request 105 to one name server (protocol.md 2.1); equal parts are shared."""

import xxhash
from msgspec import Struct

from namekeeper.errors import RemotingError, RequestError, ResponseError
from namekeeper.messages.bodies import decode_topic_route
from namekeeper.messages.fields import encode_header
from namekeeper.messages.routing import GetRouteInfoRequestHeader
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.wire.codes import RequestCode, ResponseCode

__all__ = ["FetchedRoute", "RouteInterner", "fetch_route"]


MAX_KINDS = 10_000
"""Entries of a table that are kept; then it is cleared, which costs only memory."""


class RouteInterner:
    """Replaces parts of a route by equal parts of earlier ones: many topics share brokers and queues."""

    def __init__(self) -> None:
        self._brokers: dict[str, BrokerData] = {}
        self._queues: dict[QueueData, QueueData] = {}

    def intern(self, route: TopicRouteData) -> TopicRouteData:
        """Return an equal route, made of parts of earlier ones where they are equal."""
        for parts in (self._brokers, self._queues):
            if len(parts) > MAX_KINDS:
                parts.clear()
        return TopicRouteData(
            [self._broker(broker) for broker in route.broker_datas],
            [self._queues.setdefault(queues, queues) for queues in route.queue_datas],
            route.filter_server_table,
            route.order_topic_conf,
            route.topic_queue_mapping_by_broker,
        )

    def _broker(self, broker: BrokerData) -> BrokerData:
        earlier = self._brokers.get(broker.broker_name)
        if earlier == broker:
            return earlier
        self._brokers[broker.broker_name] = broker
        return broker


class FetchedRoute(Struct, frozen=True):
    """A route as a name server gave it."""

    digest: bytes
    """Digest of the answer's body: an equal body need not be decoded again."""
    route: TopicRouteData | None
    """None: the answer has the digest `last_digest`, so the route is the last one."""


async def fetch_route(
    sender: RequestSender, addr: str, topic: str, *, timeout_ms: int, last_digest: bytes = b""
) -> FetchedRoute | None:
    """Ask one name server for a topic's route.

    Returns:
        None if the name server knows no such topic, or names neither a broker nor a queue of it.

    Raises:
        ResponseError: it answered that it can't say.
        RemotingError: it gave no answer, or one that is no route.
    """
    header = encode_header(GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True))
    answer = await sender.invoke(addr, RequestCode.GET_ROUTEINFO_BY_TOPIC, header, timeout_ms=timeout_ms)
    if answer.code == ResponseCode.TOPIC_NOT_EXIST:
        return None
    if answer.code != ResponseCode.SUCCESS:
        raise ResponseError(addr, answer.code, answer.remark)
    digest = xxhash.xxh3_128_digest(answer.body)
    if digest == last_digest:
        return FetchedRoute(digest, None)
    try:
        route = decode_topic_route(answer.body)
    except RequestError as error:
        raise RemotingError(
            addr, f"its route of {topic} can't be read: {error.remark}; is it RocketMQ?"
        ) from None
    if not (route.broker_datas or route.queue_datas):
        return None
    return FetchedRoute(digest, route)
