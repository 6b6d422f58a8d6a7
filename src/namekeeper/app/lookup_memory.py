"""Remembers the topics that each connection looked up, and when, to find old routes (rememberLookups)."""

from collections.abc import Callable
from sys import getsizeof

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
"""Topics remembered for one connection; a process looks up dozens."""
BYTES_LIMIT = 64 * 1024 * 1024
"""Bytes of all entries. Beyond it, the connection without lookups for the longest time goes. It holds 200
topics of each of 1,500 connections, or 20 topics of each of 14,000."""
TOPIC_CHARACTERS_LIMIT = 512
"""A longer name is not remembered: no topic has one (nameCharactersLimit)."""
LOOKUP_BYTES, CONNECTION_BYTES = 200, 600
"""Memory of an entry beside the text, in its dict, in bytes."""
ADDRESSES_LIMIT = 1_000
"""Addresses of each kind in an answer; the numbers count all."""

Handle = Callable[[RemotingCommand, ServerConnection], "Response | None"]
Position = tuple[int, Revision]
"""(epoch of the numbering, revision)."""


class _Asked(Struct):
    """The lookups of one connection."""

    remote_addr: str
    topics: dict[str, Position] = field(default_factory=dict)
    """Topic -> position of its last lookup, oldest first."""


class LookupMemory:
    """Wraps a handler and remembers lookups (105).

    Args:
        handle: answers the requests.
        watch: has the revision, and the last change of a topic.
    """

    def __init__(self, handle: Handle, watch: RouteWatch) -> None:
        self._handle = handle
        self._watch = watch
        self._asked: dict[int, _Asked] = {}
        """Channel id -> its lookups; the connection with the newest lookup is last."""
        self.used_bytes = 0
        """Approximate memory of all entries."""

    def __call__(self, request: RemotingCommand, connection: ServerConnection) -> Response | None:
        """Answer a request; a refused lookup is not remembered."""
        response = self._handle(request, connection)
        if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC and request.ext_fields is not None:
            topic = request.ext_fields.get("topic")
            if topic is not None:
                self._note(connection.channel, topic)
        return response

    def forget(self, channel: Channel) -> None:
        """Forget a closed connection."""
        asked = self._asked.pop(channel.channel_id, None)
        if asked is not None:
            self.used_bytes -= CONNECTION_BYTES + sum(map(_weight, asked.topics))

    def who_knows(self, topic: str) -> WhoKnows:
        """The connections that looked up a topic since its last change, and those that did so before."""
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
        if len(topic) > TOPIC_CHARACTERS_LIMIT:
            return
        asked = self._asked.pop(channel.channel_id, None)
        if asked is None:
            asked = _Asked(channel.remote_addr)
            self.used_bytes += CONNECTION_BYTES
        self._asked[channel.channel_id] = asked
        if asked.topics.pop(topic, None) is None:
            self.used_bytes += _weight(topic)
        asked.topics[topic] = self._watch.position
        if len(asked.topics) > TOPICS_LIMIT:
            self._forget_oldest(asked)
        while self.used_bytes > BYTES_LIMIT:
            channel_id, oldest = next(iter(self._asked.items()))
            self._forget_oldest(oldest)
            if not oldest.topics:
                del self._asked[channel_id]
                self.used_bytes -= CONNECTION_BYTES

    def _forget_oldest(self, asked: _Asked) -> None:
        topic = next(iter(asked.topics))
        del asked.topics[topic]
        self.used_bytes -= _weight(topic)


def _weight(topic: str) -> int:
    return LOOKUP_BYTES + getsizeof(topic)
