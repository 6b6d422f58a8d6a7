"""Secrets that tell a test how they are compared."""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

__all__ = ["Untouchable", "comparisons"]


class Untouchable(str):
    """A secret that Python must not compare: the time of that reveals how many characters are right."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a secret is compared by hmac.compare_digest only")

    def __ne__(self, other: object) -> bool:
        raise AssertionError("a secret is compared by hmac.compare_digest only")


@contextmanager
def comparisons() -> Iterator[list[tuple[bytes, bytes]]]:
    """The pairs that hmac.compare_digest compares, in order."""
    seen: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        seen.append((one, other))
        return compare(one, other)

    with patch.object(hmac, "compare_digest", noted):
        yield seen
