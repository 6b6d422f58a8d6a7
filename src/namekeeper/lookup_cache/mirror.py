"""A copy of the look-up cache in the native front, which counts the answers that it gives."""

from typing import Protocol

__all__ = ["Mirror"]


class Mirror(Protocol):
    """A copy of the cache. Each call returns when it has taken effect.

    Keys are headers without the digits of their opaque and the comma after them, as in the cache.
    """

    def learn(self, key: bytes, counter: int, body: bytes) -> None:
        """Answer requests with this key, and count them under a number."""
        ...

    def forget(self, keys: list[bytes]) -> None:
        """Stop answering requests with these keys."""
        ...

    def forget_all(self) -> None:
        """Stop answering requests until answers are learned again."""
        ...

    def take_counts(self) -> list[tuple[int, int]]:
        """Return (number, requests answered since the last call)."""
        ...
