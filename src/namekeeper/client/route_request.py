"""Request 105 as a client makes it: one name server, one answer, or an error (protocol.md 2.1)."""

import xxhash
from msgspec import Struct

from namekeeper.errors import RemotingError, RequestError, ResponseError
from namekeeper.messages.bodies import decode_topic_route
from namekeeper.messages.fields import encode_header
from namekeeper.messages.routing import GetRouteInfoRequestHeader
from namekeeper.model.route import TopicRouteData
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.wire.codes import RequestCode, ResponseCode

__all__ = ["FetchedRoute", "fetch_route"]


class FetchedRoute(Struct, frozen=True):
    """A route as a name server gave it."""

    digest: bytes
    """Of its bytes: equal ones need not be read again."""
    route: TopicRouteData | None
    """None: the bytes have the digest that was known."""


async def fetch_route(
    sender: RequestSender, addr: str, topic: str, *, timeout_ms: int, known_digest: bytes = b""
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
    if digest == known_digest:
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
