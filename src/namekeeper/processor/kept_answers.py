"""Answers of topics, kept until they are forgotten; topics with the same body share one."""

from collections import deque
from collections.abc import Callable, Collection, KeysView

from msgspec import Struct

from namekeeper.wire.command import Response

__all__ = ["DROPPED_FREED", "KeptAnswers"]

DROPPED_FREED = 4
"""So many answers that are kept no more are freed at each change, and for each answer that is kept."""


class _Shared(Struct, gc=False):
    """An answer that topics with the same queues on the same brokers share."""

    answer: Response
    users: int = 0


class _Dropped(Struct, gc=False):
    """What an answer takes that is kept no more; the garbage collector has nothing to do with thousands."""

    topic_bytes: int
    body: bytes


class KeptAnswers:
    """Topic -> answer to 105, in one form of JSON; only those that fit into the room."""

    __slots__ = ("_answers", "_dropped", "_shared", "bytes", "find")

    def __init__(self) -> None:
        self.bytes = 0
        """Of the answers that are kept."""
        self._answers: dict[str, Response] = {}
        self._shared: dict[bytes, _Shared] = {}
        """Answers by their body."""
        self._dropped: deque[_Dropped] = deque()
        """Answers that are kept no more, and whose bytes are not free yet: there may be thousands."""
        self.find: Callable[[str], Response | None] = self._answers.get
        """The answer of a topic; None if it is not kept."""

    @property
    def topics(self) -> KeysView[str]:
        """Topics with answers."""
        return self._answers.keys()

    def keep(self, topic: str, body: bytes, may_keep: Callable[[int], bool]) -> Response:
        """Return the answer with this body, and keep it while there is room.

        Clients poll all topics in turn, so no answer is worth more than another.

        Args:
            topic: whose answer this is from now on.
            body: the answer's.
            may_keep: whether there is room for so many bytes more.
        """
        if topic in self._answers:
            self.forget((topic,))
        self._free_dropped()
        shared = self._shared.get(body)
        size = len(topic) + (len(body) if shared is None else 0)
        if not may_keep(size):
            return Response(body=body) if shared is None else shared.answer
        if shared is None:
            shared = self._shared[body] = _Shared(Response(body=body))
        self.bytes += size
        shared.users += 1
        self._answers[topic] = shared.answer
        return shared.answer

    def forget(self, topics: Collection[str]) -> None:
        """Forget the answers of some topics, where they have any."""
        pop = self._answers.pop
        for topic in topics:
            answer = pop(topic, None)
            if answer is not None:
                self._dropped.append(_Dropped(len(topic), answer.body))
        self._free_dropped()

    def forget_all(self) -> None:
        """Forget every answer."""
        self.bytes = 0
        self._answers.clear()
        self._shared.clear()
        self._dropped.clear()

    def _free_dropped(self) -> None:
        """Free some of the room that answers take which are kept no more."""
        for _ in range(min(DROPPED_FREED, len(self._dropped))):
            dropped = self._dropped.popleft()
            self.bytes -= dropped.topic_bytes
            shared = self._shared[dropped.body]
            shared.users -= 1
            if not shared.users:
                del self._shared[dropped.body]
                self.bytes -= len(dropped.body)
