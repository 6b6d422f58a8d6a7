"""Turns the bytes of a connection into requests; a cached answer replaces its request."""

from struct import Struct

from namekeeper.errors import ProtocolError
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.wire.codec import decode_frame
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import ZONE_MODE, RemotingCommand
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES, Frame, FrameDecoder
from namekeeper.wire.json_header import STRICT_ERRORS, decode_strictly

__all__ = [
    "ANSWER_BYTES_PER_TURN", "PART_BYTES", "SHORT_HEADER_BYTES", "Item", "RequestReader", "is_lookup",
]  # fmt: skip

Item = RemotingCommand | bytes | Frame
"""A request, the answer to a cached request, or an undecoded frame. The header of such a frame is long,
perhaps only the slow header reader can read it, or it comes after as many answers as one turn writes. The
connection decodes the frame when there is time."""

ANSWER_BYTES_PER_TURN = 256 * 1024
"""Bytes of answers after which a turn ends: large ones must not pile up for a peer that reads nothing.
Nor may they before they are written, so requests behind as many bytes of answers stay undecoded."""

MAX_BODY_LEFT_BYTES = 64 * 1024
"""A frame with a larger body is always decoded at once: one read contains few of them."""

PART_BYTES = 16 * 1024
"""Holds about 200 lookups."""

SHORT_HEADER_BYTES = 2_048
"""A header of ordinary size: a lookup's has 200 to 400 bytes. A longer one may take some milliseconds, and
thousands of connections may send one at the same moment."""

SHORT_LENGTH = 4 + SHORT_HEADER_BYTES
"""Length field of a frame with such a header and without a body."""

_LOOKUP = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)

_PREFIX = Struct(">iI").unpack_from
_PREFIX_BYTES = 8


def is_lookup(item: Item) -> bool:
    """Whether an item is a lookup that the cache does not answer.

    One that is narrowed to a zone is none: its answer is made each time.
    """
    return (
        isinstance(item, RemotingCommand)
        and item.code == _LOOKUP
        and ZONE_MODE not in (item.ext_fields or ())
    )


class RequestReader:
    """Splits a stream into frames, queries the cache for each, and decodes the misses."""

    __slots__ = ("_find", "_scope", "_short_length", "frames")

    def __init__(
        self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES, cache: LookupCache | None = None
    ) -> None:
        """Start with an empty stream.

        Args:
            max_frame_bytes: bounds a frame with its length field.
            cache: None decodes everything.
        """
        self.frames = FrameDecoder(max_frame_bytes)
        """The state of the frame that is arriving, and of the broken one."""
        self._scope = b""
        self._find = cache.find if cache is not None else None
        self._short_length = min(SHORT_LENGTH, max_frame_bytes - 4)

    @property
    def may_find_all(self) -> bool:
        """Whether the peer may get every cached answer, also one made for another peer."""
        return self._find is not None and not self._scope

    def use_cache(self, cache: LookupCache | None, scope: bytes = b"") -> None:
        """Query this cache from now on; None decodes everything.

        Args:
            cache: answers requests by their bytes.
            scope: prefix of each header: a lookup in one scope does not find an answer of another one. Used
                when only some peers may have an answer.
        """
        self._scope = scope
        if cache is None:
            self._find = None
        elif scope:
            find = cache.find
            self._find = lambda header: find(scope + header)
        else:
            self._find = cache.find

    def feed(self, data: bytes, left: int = ANSWER_BYTES_PER_TURN) -> list[Item]:
        """Take the next bytes of the stream; return an item for each complete frame.

        The first frame that can't be decoded ends the stream, see `frames.failure`.

        Args:
            data: the bytes.
            left: bytes of cached answers; the frames behind them stay undecoded.
        """
        items: list[Item] = []
        find = self._find
        if find is None or self.frames.buffered:
            return self._read(data, items, left)
        # The usual case, kept short: complete frames with a short JSON header and without a body.
        start, size, short = 0, len(data), self._short_length
        while start + _PREFIX_BYTES < size and left >= 0:
            length, word = _PREFIX(data, start)
            end = start + 4 + length
            if word != length - 4 or end > size or length > short:
                break
            header = data[start + _PREFIX_BYTES : end]
            answer = find(header)
            if answer is not None:
                left -= len(answer)
                items.append(answer)
            else:
                try:
                    request = decode_strictly(header)
                except STRICT_ERRORS:
                    break
                request.header = self._scope + header
                items.append(request)
            start = end
        return items if start == size else self._read(data[start:], items, left)

    def feed_part(self, data: bytes, enough: int) -> tuple[list[Item], bytes]:
        """Take only as many of the next bytes as give `enough` items; return the items and the other bytes.

        Requests take several times their bytes, so bytes that can't be processed soon should stay bytes. The
        reader takes a frame that is longer than a part at once.

        Args:
            data: the next bytes.
            enough: number of items that the server can process soon.
        """
        items: list[Item] = []
        start, left = 0, ANSWER_BYTES_PER_TURN
        while start < len(data) and len(items) < enough:
            end = start + max(PART_BYTES, self.frames.announced - self.frames.buffered)
            part = self.feed(data[start:end], left)
            left -= sum(len(item) for item in part if isinstance(item, bytes))
            items += part
            start = end
        return items, data[start:]

    def answer(self, frame: Frame) -> bytes | None:
        """The cached answer to a frame that `feed` left undecoded, if there is one."""
        form, header, body = frame
        is_short = not form and not body and len(header) <= SHORT_HEADER_BYTES
        return self._find(header) if is_short and self._find is not None else None

    def take(self, frame: Frame) -> RemotingCommand | bytes:
        """The request of such a frame, or its cached answer. Raises ProtocolError if it is broken."""
        item = self._item(frame)
        return item if isinstance(item, (RemotingCommand, bytes)) else decode_frame(item)

    def _read(self, data: bytes, items: list[Item], left: int) -> list[Item]:
        """Append the items that any bytes complete; return all items."""
        try:
            for frame in self.frames.feed(data):
                item = frame if left < 0 and not frame[2] else self._item(frame)
                if isinstance(item, bytes):
                    left -= len(item)
                items.append(item)
        except ProtocolError as failure:
            self.frames.failure = str(failure)
            self._find = None
        return items

    def _item(self, frame: Frame) -> Item:
        """Return the answer to a cached frame, else its request; the frame itself if decoding takes long."""
        form, header, body = frame
        if len(body) > MAX_BODY_LEFT_BYTES:
            return decode_frame(frame)
        if len(header) > SHORT_HEADER_BYTES:
            return frame
        if form:
            return decode_frame(frame)
        find = None if body else self._find
        answer = None if find is None else find(header)
        if answer is not None:
            return answer
        try:
            request = decode_strictly(header)
        except STRICT_ERRORS:
            return frame
        request.body = body
        if find is not None:
            request.header = self._scope + header
        return request
