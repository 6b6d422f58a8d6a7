"""From the bytes of a connection to requests, and to answers in the place of requests that are cached."""

from struct import Struct

from namekeeper.errors import ProtocolError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.wire.codec import decode_frame
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES, FrameDecoder

__all__ = ["RequestReader"]

_PREFIX = Struct(">iI").unpack_from
_PREFIX_BYTES = 8


class RequestReader:
    """Splits a stream into frames, asks the cache about each, and decodes those that it doesn't know."""

    __slots__ = ("_find", "_split", "frames")

    def __init__(
        self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES, cache: LookupCache | None = None
    ) -> None:
        """Begin with an empty stream.

        Args:
            max_frame_bytes: bounds a frame with its length field.
            cache: None decodes everything.
        """
        self.frames = FrameDecoder(max_frame_bytes)
        """What is known of the frame that is arriving, and of the one that was broken."""
        self._split = self.frames.feed
        self._find = cache.find if cache is not None else None

    def feed(self, data: bytes) -> list[RemotingCommand | bytes]:
        """Take the next bytes of the stream; return a request, or a whole answer, for each complete frame.

        The first frame that can't be decoded ends the stream, see `frames.failure`.
        """
        find = self._find
        size = len(data)
        if find is not None and size > _PREFIX_BYTES and _PREFIX(data) == (size - 4, size - _PREFIX_BYTES):
            # The usual case, kept short: the data is one frame, with a JSON header and without a body.
            answer = find(data[_PREFIX_BYTES:]) if not self.frames.buffered else None
            if answer is not None:
                return [answer]
        items: list[RemotingCommand | bytes] = []
        try:
            for frame in self._split(data):
                form, header, body = frame
                if find is None or body or form:
                    items.append(decode_frame(frame))
                    continue
                answer = find(header)
                if answer is None:
                    request = decode_frame(frame)
                    request.header = header
                    items.append(request)
                else:
                    items.append(answer)
        except ProtocolError as failure:
            self.frames.failure = failure
            self._find = None
        return items
