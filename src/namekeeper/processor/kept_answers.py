"""Answers of topics, kept until they are forgotten; topics with the same body share one."""

from collections.abc import Callable, Collection, KeysView

from msgspec import Struct

from namekeeper.wire.command import Response

__all__ = ["KeptAnswers"]


class _Shared(Struct, gc=False):
    """An answer that topics with the same queues on the same brokers share."""

    answer: Response
    users: int = 0


class KeptAnswers:
    """Topic -> answer to 105, in one form of JSON; only those that fit into the room."""

    __slots__ = ("_answers", "_shared", "bytes", "find")

    def __init__(self) -> None:
        self.bytes = 0
        """Of the answers that are kept."""
        self._answers: dict[str, Response] = {}
        self._shared: dict[bytes, _Shared] = {}
        """Answers by their body."""
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
            if answer is None:
                continue
            self.bytes -= len(topic)
            shared = self._shared[answer.body]
            shared.users -= 1
            if not shared.users:
                del self._shared[answer.body]
                self.bytes -= len(answer.body)

    def forget_all(self) -> None:
        """Forget every answer."""
        self.bytes = 0
        self._answers.clear()
        self._shared.clear()
