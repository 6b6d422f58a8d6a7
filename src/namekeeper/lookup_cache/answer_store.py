"""The interface of the stores of answers: in Python, and in the native thread."""

from collections.abc import Collection, KeysView
from typing import Protocol

__all__ = ["AnswerStore", "FrontStore"]


class AnswerStore(Protocol):
    """Keeps answers of topics; `Forgetting` decides which of them a change invalidates."""

    @property
    def topics(self) -> KeysView[str]:
        """Topics with answers."""
        ...

    def forget(self, topics: Collection[str]) -> None:
        """Drop the answers of some topics, each named once; other topics do no harm."""
        ...

    def forget_all(self) -> None:
        """Drop every answer."""
        ...


class FrontStore(Protocol):
    """The answers that the native fast path gives. Each call returns when it has taken effect.

    A topic has two forms of answers: in standard JSON, and in that of clients before 4.9.4.
    """

    def learn(self, topic: str, standard: bool, counter: int, body: bytes) -> None:  # noqa: FBT001
        """Answer lookups of a topic in one form with this body, and count them under a number."""
        ...

    def forget(self, topics: list[str]) -> bytes:
        """Stop answering lookups of these topics.

        Returns:
            A byte for each topic: 0 if no client requested it since `learn`.
        """
        ...

    def pause(self) -> None:
        """Answer nothing until `resume`, and still learn and forget."""
        ...

    def resume(self) -> None:
        """Answer again from the store."""
        ...

    def forget_all(self) -> None:
        """Drop every answer."""
        ...

    def take_counts(self) -> list[tuple[int, int]]:
        """Return (number, lookups answered since the last call)."""
        ...
