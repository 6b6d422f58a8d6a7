"""From the bytes of a connection to requests, and to answers in the place of requests that are cached."""

from namekeeper.errors import ProtocolError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.wire.codec import decode_frame
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES, FrameDecoder

__all__ = ["RequestReader"]


class RequestReader:
    """Splits a stream into frames, asks the cache about each, and decodes those that it doesn't know."""

    __slots__ = ("_cache", "_split", "frames")

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
        self._cache = cache

    def feed(self, data: bytes) -> list[RemotingCommand | bytes]:
        """Take the next bytes of the stream; return a request, or a whole answer, for each complete frame.

        The first frame that can't be decoded ends the stream, see `frames.failure`.
        """
        cache = self._cache
        items: list[RemotingCommand | bytes] = []
        try:
            for frame in self._split(data):
                if cache is None or frame[2] or frame[0]:
                    items.append(decode_frame(frame))
                    continue
                header = frame[1]
                answer = cache.find(header)
                if answer is None:
                    request = decode_frame(frame)
                    request.header = header
                    items.append(request)
                else:
                    items.append(answer)
        except ProtocolError as failure:
            self.frames.failure = failure
        return items
