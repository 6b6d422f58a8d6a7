"""Remembers which topics each connection looked up, and when, to find old routes (rememberLookups)."""

from collections.abc import Callable

from msgspec import Struct, field

from namekeeper.app.watching import RouteWatch
from namekeeper.http.watchers import WhoKnows
from namekeeper.processor.recent_changes import Revision
from namekeeper.remoting.connection import ServerConnection
from namekeeper.route.channel import Channel
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["LookupMemory"]

TOPICS_LIMIT = 200
"""Topics remembered for one connection; a process asks for dozens. For 3,000 connections: 60 MB."""
ADDRESSES_LIMIT = 1_000
"""Addresses of each kind in an answer; the numbers count all."""

Handle = Callable[[RemotingCommand, ServerConnection], "Response | None"]
Position = tuple[int, Revision]
"""(epoch of the numbering, revision)."""


class _Asked(Struct):
    """The look-ups of one connection."""

    remote_addr: str
    topics: dict[str, Position] = field(default_factory=dict)
    """Topic -> position of its last look-up, oldest first."""


class LookupMemory:
    """Wraps a handler and remembers look-ups (105).

    Args:
        handle: answers the requests.
        watch: knows the revision, and the last change of a topic.
    """

    def __init__(self, handle: Handle, watch: RouteWatch) -> None:
        self._handle = handle
        self._watch = watch
        self._asked: dict[int, _Asked] = {}
        """By channel id."""

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> Response | None:
        """Answer a request; a refused look-up is not remembered."""
        response = self._handle(request, connection)
        if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC and request.ext_fields is not None:
            topic = request.ext_fields.get("topic")
            if topic is not None:
                self._note(connection.channel, topic)
        return response

    def forget(self, channel: Channel) -> None:
        """Forget a connection that was closed."""
        self._asked.pop(channel.channel_id, None)

    def who_knows(self, topic: str) -> WhoKnows:
        """Which connections have asked for a topic since its last change, and which only before it."""
        position, change = self._watch.last_change(topic)
        since: list[str] = []
        before: list[str] = []
        for asked in self._asked.values():
            at = asked.topics.get(topic)
            if at is not None:
                (since if at >= position else before).append(asked.remote_addr)
        return WhoKnows(
            topic=topic,
            revision=self._watch.revision(),
            change=change,
            connections=len(self._asked),
            since_count=len(since),
            before_count=len(before),
            since=sorted(since)[:ADDRESSES_LIMIT],
            before=sorted(before)[:ADDRESSES_LIMIT],
        )

    def _note(self, channel: Channel, topic: str) -> None:
        asked = self._asked.get(channel.channel_id)
        if asked is None:
            asked = self._asked[channel.channel_id] = _Asked(channel.remote_addr)
        asked.topics.pop(topic, None)
        if len(asked.topics) >= TOPICS_LIMIT:
            del asked.topics[next(iter(asked.topics))]
        asked.topics[topic] = self._watch.position
