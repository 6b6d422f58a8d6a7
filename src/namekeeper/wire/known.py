"""Requests that came before: equal but for `opaque`, they have equal answers but for `opaque`.

Clients poll the same topics with the same header for as long as they live, so most look-ups need no decoding:
the header without the digits of its `opaque` is the key, the digits are copied into the answer. A header is
learned only after it was decoded in full and answered; from then on everything but the digits is the same
bytes, so the decoder would say the same.
"""

from struct import Struct as Format

from msgspec import Struct

from namekeeper.wire.codec import BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL
from namekeeper.wire.command import RemotingCommand

__all__ = ["KnownRequests", "Tally"]

_OPAQUE = b'"opaque":'
_MAX_DIGITS = 9
"""Larger ones may not fit an int32: they take the long way."""
_ZERO = ord("0")
_MAX_KEY_BYTES = 1_024
"""A header of a look-up has 200 bytes, 400 with a signature."""

_PREFIX = Format(">II").pack

_Around = tuple[list[bytes], bytes]
"""What comes before the digits of the opaque, by their number, and what comes after them."""


class Tally(Struct, gc=False):
    """Counts requests for one thing; shared by all headers that ask for it."""

    count: int = 0


_Known = tuple[list[bytes], bytes, Tally]


class KnownRequests:
    """Headers without their opaque -> the answer around it; who knows what answers depend on forgets them.

    When there is no room left nothing more is learned: polls go round all topics, so what came first is as
    good as what comes now.
    """

    __slots__ = ("_around", "_bytes", "_known", "_limit")

    def __init__(self, limit_bytes: int) -> None:
        self._known: dict[bytes, _Known] = {}
        self._around: dict[bytes, _Around] = {}
        self._bytes = 0
        self._limit = limit_bytes

    def answer(self, header: bytes) -> bytes | None:
        """The whole answer to a request that has this header and no body; None if it isn't known."""
        before, _, rest = header.partition(_OPAQUE)
        digits, _, after = rest.partition(b",")
        known = self._known.get(before + after)
        if known is None or not digits.isdigit() or digits[0] == _ZERO or len(digits) > _MAX_DIGITS:
            return None
        heads, tail, tally = known
        tally.count += 1
        return heads[len(digits)] + digits + tail

    def learn(self, request: RemotingCommand, body: bytes, tally: Tally) -> None:
        """Remember that a request with the header of this one is answered with SUCCESS and `body`.

        Args:
            request: Decoded, and answered by who knows how.
            body: The answer's.
            tally: Counts the requests that are answered from here.
        """
        header = request.header
        before, _, rest = header.partition(_OPAQUE)
        digits, comma, after = rest.partition(b",")
        if request.flag or not comma or _OPAQUE in after or digits != b"%d" % request.opaque:
            return
        key = before + after
        around = self._around.get(body) or self._make_around(body)
        if len(key) > _MAX_KEY_BYTES or around is None or self._bytes + len(key) > self._limit:
            return
        self._known[key] = (*around, tally)
        self._bytes += len(key)

    def close(self) -> None:
        """Forget everything and learn nothing any more."""
        self._limit = -1
        self.forget()

    def forget(self) -> None:
        """Answer nothing until learned anew: what answers depend on has changed."""
        if self._known:
            self._known = {}
            self._around = {}
            self._bytes = 0

    def _make_around(self, body: bytes) -> _Around | None:
        """Topics with the same queues on the same brokers have the same body, and share one of these."""
        fixed = len(BARE_SUCCESS_HEAD) + len(BARE_SUCCESS_TAIL)
        tail = BARE_SUCCESS_TAIL + body
        size = len(tail) + _MAX_DIGITS * len(BARE_SUCCESS_HEAD)
        if self._bytes + size > self._limit:
            return None
        heads = [
            _PREFIX(4 + fixed + digits + len(body), fixed + digits) + BARE_SUCCESS_HEAD
            for digits in range(_MAX_DIGITS + 1)
        ]
        self._bytes += size
        self._around[body] = around = (heads, tail)
        return around
