"""Reads a zlib stream piece by piece, so that neither a large nor a broken one does harm (trap T12).

The readers are generators that yield wherever an event-loop iteration may end.
"""

import zlib
from collections.abc import Generator

__all__ = ["MAX_INFLATED_BYTES", "MAX_ITEM_BYTES", "InflateError", "InflateReader"]

MAX_INFLATED_BYTES = 128 * 1024 * 1024
"""Eight times the largest frame: room for a million topics. A hostile stream inflates to a thousand times."""

MAX_ITEM_BYTES = 1024 * 1024
"""Largest single string inside the stream; a mapping of 50,000 logical queues fits."""

_INPUT_BYTES = 16 * 1024
"""Compressed bytes passed to zlib at once: it copies the bytes that it does not use."""

_CHUNK_BYTES = 64 * 1024
"""Inflated bytes made at once: a tenth of a millisecond."""


class InflateError(ValueError):
    """A stream that isn't zlib, ends early, or holds more than the limits allow."""


class InflateReader:
    """The inflated bytes of a body, from the front; it holds at most a chunk and one item at a time.

    `buffer` from `position` on holds the inflated bytes that no caller has taken yet; a caller with many
    small items may take them from there itself.
    """

    __slots__ = ("_body", "_fed", "_inflated", "_stream", "buffer", "position")

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._fed = 0
        self._inflated = 0
        self._stream = zlib.decompressobj()
        self.buffer = b""
        self.position = 0

    def fill(self) -> None:
        """Inflate one more chunk, which may turn out empty; raise InflateError where the stream ends."""
        source = self._stream.unconsumed_tail or self._next_input()
        if self._stream.eof or not source:
            raise InflateError("unexpected end of the zlib stream")
        try:
            chunk = self._stream.decompress(source, _CHUNK_BYTES)
        except zlib.error as error:
            raise InflateError(f"not a zlib stream: {error}") from None
        self._inflated += len(chunk)
        if self._inflated > MAX_INFLATED_BYTES:
            raise InflateError(f"more than {MAX_INFLATED_BYTES} bytes inflated")
        self.buffer = self.buffer[self.position :] + chunk
        self.position = 0

    def load(self, size: int) -> Generator[None, None, None]:
        """Inflate until `size` bytes lie in the buffer; raise InflateError if the stream has fewer."""
        if not 0 <= size <= MAX_ITEM_BYTES + 4:
            raise InflateError(f"a length of {size} is not in 0 to {MAX_ITEM_BYTES}")
        while len(self.buffer) - self.position < size:
            self.fill()
            yield

    def load_item(self) -> Generator[None, None, None]:
        """Inflate until the next item, with its int32 length, is completely in the buffer."""
        yield from self.load(4)
        size = int.from_bytes(self.buffer[self.position : self.position + 4], signed=True)
        yield from self.load(size)
        yield from self.load(4 + size)

    def take(self, size: int) -> Generator[None, None, bytes]:
        """Take exactly `size` bytes; raise InflateError if the stream has fewer."""
        yield from self.load(size)
        start = self.position
        self.position = start + size
        return self.buffer[start : self.position]

    def take_int32(self) -> Generator[None, None, int]:
        """Take a big-endian int32."""
        return int.from_bytes((yield from self.take(4)), signed=True)

    def take_item(self) -> Generator[None, None, bytes]:
        """Take bytes with an int32 length before them."""
        size = yield from self.take_int32()
        return (yield from self.take(size))

    def take_count(self) -> Generator[None, None, int]:
        """Take the number of items that follow."""
        count = yield from self.take_int32()
        if count < 0:
            raise InflateError(f"a count of {count}")
        return count

    def _next_input(self) -> memoryview:
        piece = self._body[self._fed : self._fed + _INPUT_BYTES]
        self._fed += len(piece)
        return piece
