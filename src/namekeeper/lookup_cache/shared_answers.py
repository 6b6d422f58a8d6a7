"""Answers without the digits of their opaque, by body: topics with the same route share one."""

from struct import Struct as Format

from msgspec import Struct

from namekeeper.wire.codec import BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL

__all__ = ["MAX_DIGITS", "SharedAnswer", "SharedAnswers"]

MAX_DIGITS = 9
"""Digits of an `opaque`. A longer one may not be an int32: such a request is decoded."""

_PREFIX = Format(">II").pack


class SharedAnswer(Struct, gc=False):
    """An answer with SUCCESS, without the digits of its opaque."""

    heads: list[bytes]
    """Bytes before the digits, by the number of digits."""
    tail: bytes
    users: int = 0
    """Number of those who have it."""


class SharedAnswers:
    """Body -> the answer with it, as long as somebody has it."""

    __slots__ = ("_by_body",)

    def __init__(self) -> None:
        self._by_body: dict[bytes, SharedAnswer] = {}

    def lacking_bytes(self, body: bytes) -> int:
        """Approximate size of the answer with this body; 0 if somebody has it."""
        return 0 if body in self._by_body else _size_of(body)

    def take(self, body: bytes) -> SharedAnswer:
        """The answer with this body, which has one more user now."""
        shared = self._by_body.get(body)
        if shared is None:
            shared = self._by_body[body] = _made(body)
        shared.users += 1
        return shared

    def drop(self, body: bytes) -> int:
        """One user less; returns how many bytes are free now."""
        shared = self._by_body[body]
        shared.users -= 1
        if shared.users:
            return 0
        del self._by_body[body]
        return _size_of(body)


def _size_of(body: bytes) -> int:
    return len(body) + len(BARE_SUCCESS_TAIL) + (MAX_DIGITS + 1) * len(BARE_SUCCESS_HEAD)


def _made(body: bytes) -> SharedAnswer:
    fixed = len(BARE_SUCCESS_HEAD) + len(BARE_SUCCESS_TAIL)
    heads = [
        _PREFIX(4 + fixed + digits + len(body), fixed + digits) + BARE_SUCCESS_HEAD
        for digits in range(MAX_DIGITS + 1)
    ]
    return SharedAnswer(heads, BARE_SUCCESS_TAIL + body)
