"""A stream of bytes to frames: a header and a body each, not decoded (protocol.md 1.1, 1.2)."""

from io import BytesIO
from struct import Struct

from namekeeper.errors import ProtocolError

__all__ = ["DEFAULT_MAX_FRAME_BYTES", "HTTP_SPOKEN", "MAX_HEADER_BYTES", "Frame", "FrameDecoder"]

DEFAULT_MAX_FRAME_BYTES = 16_777_216
"""Java's `com.rocketmq.remoting.frameMaxLength`: bounds a frame with its length field."""

MAX_HEADER_BYTES = 1_048_576
"""Java has no limit but the frame's. Headers have hundreds of bytes; the longest hold a KV value. This many
bytes of ext fields take about 30 ms of the event loop, sixteen times as many would stop it for half a second.
"""

_SMALL_CHUNK_BYTES = 4_096
"""Smaller chunks are gathered in one buffer: kept apart, single bytes would take fifty times their size."""

_LARGE_FRAME_BYTES = 1_048_576
"""A body of this size is gathered, too: of hundreds of pieces, some would keep the heap large."""

_UNCLAIMED_BYTES = 262_144
"""Bytes of one read, before a connection had to request room. No more is reserved for a frame that only
announces its size."""

_LENGTH = Struct(">i").unpack_from
_PREFIX = Struct(">iI").unpack_from
_PREFIX_BYTES = 8
_LENGTH_BYTES = 4
_MIN_LENGTH = 4
_HEADER_LENGTH_MASK = 0xFF_FFFF
_JSON = 0
_HTTP_STARTS = frozenset({b"GET ", b"HEAD", b"OPTI", b"POST", b"PUT ", b"CONN"})
HTTP_SPOKEN = "it speaks HTTP: the port for probes and pages is httpPort"
"""The failure of a peer that sends a request of HTTP."""


Frame = tuple[int, bytes, bytes]
"""Type of the header (see `SerializeType`; may be unknown), header, body."""


class FrameDecoder:
    """Bytes in as they come, frames out as they are complete; the first broken frame ends it.

    A frame that announces too large a length is broken as soon as its length is known.
    """

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        """Begin with an empty stream; `max_frame_bytes` bounds a frame with its length field."""
        self._max_length = max_frame_bytes - _LENGTH_BYTES
        self._chunks: list[bytes | bytearray] = []
        self._wanted = 0
        self._head = _JSON, b""
        """Type of the header of a large frame, and the header."""
        self._body: BytesIO | None = None
        """Received part of the body of a large frame; None while no large frame arrives."""
        self.failure = ""
        """Why this decoder returns nothing more after a broken frame; empty if there was none.

        Code that finds the content of a frame broken sets it, too. It is a text, because an exception would
        keep the frame and the connection in memory.
        """
        self.announced = 0
        """Bytes of the incomplete frame at the end, length field included; 0 while its length is unknown."""
        self.buffered = 0
        """Bytes held because their frame is incomplete."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that they complete."""
        if self._body is not None and not self.failure:
            return self._add_to(self._body, data)
        return self._split(self._with_buffered(data) if self.buffered or self.failure else data)

    def _split(self, data: bytes | memoryview) -> list[Frame]:
        frames: list[Frame] = []
        size = len(data)
        start = 0
        try:
            while start + _PREFIX_BYTES <= size:
                length, word = _PREFIX(data, start)
                end = start + 4 + length
                if end > size or length < _MIN_LENGTH or length > self._max_length:
                    break
                header_start = start + 8
                header_end = header_start + word
                if word > MAX_HEADER_BYTES or header_end > end:
                    frames.append(_other_frame(bytes(data[header_start:end]), word))
                else:
                    frames.append((_JSON, bytes(data[header_start:header_end]), bytes(data[header_end:end])))
                start = end
            if start < size:
                self._keep_rest(data, start)
        except ProtocolError as failure:
            self.failure = str(failure)
        return frames

    def _with_buffered(self, data: bytes) -> bytes | memoryview:
        """Return all bytes from the start of the incomplete frame; nothing while it stays incomplete."""
        if self.failure:
            return b""
        self._keep(data)
        if self.buffered < self._wanted:
            return b""
        chunks, self._chunks = self._chunks, []
        self.buffered = self.announced = 0
        return memoryview(chunks[0]) if len(chunks) == 1 else b"".join(chunks)

    def _add_to(self, body: BytesIO, data: bytes) -> list[Frame]:
        missing = self._wanted - self.buffered
        self.buffered += body.write(data[:missing])
        if len(data) < missing:
            return []
        self._body = None
        self.buffered = self.announced = 0
        return [(*self._head, body.getvalue()), *self._split(data[missing:])]

    def _keep_rest(self, data: bytes | memoryview, start: int) -> None:
        """Keep the incomplete frame at the end of `data`; raise ProtocolError if it is broken already."""
        self._expect(data, start)
        self._keep(bytes(data[start:]))

    def _expect(self, data: bytes | memoryview, start: int) -> None:
        """Set how many bytes the frame that begins at `start` needs, or find it broken."""
        self._wanted = _LENGTH_BYTES
        if start + _LENGTH_BYTES <= len(data):
            (length,) = _LENGTH(data, start)
            if not _MIN_LENGTH <= length <= self._max_length:
                if bytes(data[start : start + _LENGTH_BYTES]) in _HTTP_STARTS:
                    raise ProtocolError(HTTP_SPOKEN)
                raise ProtocolError(f"bad frame: length {length}, not {_MIN_LENGTH} to {self._max_length}")
            self._wanted = self.announced = _LENGTH_BYTES + length

    def _keep(self, data: bytes) -> None:
        self.buffered += len(data)
        if len(data) >= _SMALL_CHUNK_BYTES and self._wanted < _LARGE_FRAME_BYTES:
            self._chunks.append(data)
        elif self._chunks and isinstance(self._chunks[-1], bytearray):
            self._chunks[-1] += data
        else:
            self._chunks.append(bytearray(data))
        if _LARGE_FRAME_BYTES <= self._wanted > self.buffered > _UNCLAIMED_BYTES:
            self._begin_body(self._chunks[0])

    def _begin_body(self, begin: bytes | bytearray) -> None:
        """Gather the body by itself, unless the header is broken or not there yet.

        Its buffer becomes the body without a copy, which would take some milliseconds for 13 MB. It gets the
        size of the body at once, because a buffer that grows is copied, too. The system gives memory only to
        what has arrived.
        """
        if len(begin) < _PREFIX_BYTES:
            return
        _, word = _PREFIX(begin, 0)
        size = word & _HEADER_LENGTH_MASK
        end = _PREFIX_BYTES + size
        if size > MAX_HEADER_BYTES or end > self._wanted or len(begin) < end:
            return
        self._head = word >> 24, bytes(begin[_PREFIX_BYTES:end])
        self._body = BytesIO(bytes(self._wanted - end))
        self._body.write(memoryview(begin)[end:])
        self._chunks.clear()


def _other_frame(content: bytes, word: int) -> Frame:
    """Split what follows a header word that doesn't announce a JSON header within the limit."""
    size = word & _HEADER_LENGTH_MASK
    if size > MAX_HEADER_BYTES:
        raise ProtocolError(f"bad frame: header of {size} bytes, more than {MAX_HEADER_BYTES}")
    if size > len(content):
        raise ProtocolError(f"bad frame: header of {size} bytes in {len(content)}")
    return word >> 24, content[:size], content[size:]
