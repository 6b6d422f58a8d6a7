"""A second place that finds the answers of the look-up cache, and counts what it finds."""

from typing import Protocol

__all__ = ["Mirror"]


class Mirror(Protocol):
    """Has what the cache has. Each call returns when it has taken effect.

    Keys are headers without their opaque, as in the cache.
    """

    def learn(self, key: bytes, counter: int, body: bytes) -> None:
        """Answer requests with this key, and count them under a number."""
        ...

    def forget(self, keys: list[bytes]) -> None:
        """Answer requests with these keys no more."""
        ...

    def forget_all(self) -> None:
        """Answer nothing more until it is learned."""
        ...

    def take_counts(self) -> list[tuple[int, int]]:
        """Return (number, requests answered since the last call)."""
        ...
