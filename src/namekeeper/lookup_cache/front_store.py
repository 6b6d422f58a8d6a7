"""What the native front knows: answers by topic."""

from typing import Protocol

__all__ = ["FrontStore"]


class FrontStore(Protocol):
    """The answers that the front gives. Each call returns when it has taken effect.

    A topic has two forms of answers: in standard JSON, and in that of clients before 4.9.4.
    """

    def learn(self, topic: str, standard: bool, counter: int, body: bytes) -> None:  # noqa: FBT001
        """Answer look-ups of a topic in one form with this body, and count them under a number."""
        ...

    def forget(self, topics: list[str]) -> bytes:
        """Answer look-ups of these topics no more.

        Returns:
            A byte for each topic: 0 if it was not asked for since it was learned.
        """
        ...

    def pause(self) -> None:
        """Answer nothing until `resume`, and still learn and forget."""
        ...

    def resume(self) -> None:
        """Answer what is known."""
        ...

    def forget_all(self) -> None:
        """Answer nothing until it is learned again."""
        ...

    def take_counts(self) -> list[tuple[int, int]]:
        """Return (number, look-ups answered since the last call)."""
        ...
