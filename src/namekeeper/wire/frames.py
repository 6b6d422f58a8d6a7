"""A stream of bytes to remoting commands (protocol.md 1.1, 1.2)."""

from collections.abc import Callable
from struct import Struct
from typing import cast

from namekeeper.errors import ProtocolError
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.json_header import STRICT_ERRORS, decode_leniently, decode_strictly
from namekeeper.wire.rocketmq_header import decode_rocketmq_header

__all__ = ["DEFAULT_MAX_FRAME_BYTES", "MAX_HEADER_BYTES", "FrameDecoder"]

DEFAULT_MAX_FRAME_BYTES = 16_777_216
"""Java's `com.rocketmq.remoting.frameMaxLength`: bounds a frame with its length field."""

MAX_HEADER_BYTES = 1_048_576
"""Java has no limit but the frame's. Headers have hundreds of bytes; the longest hold a KV value. This many
bytes of ext fields take some 30 ms of the event loop, sixteen times as many would stop it for half a second.
"""

_SMALL_CHUNK_BYTES = 4_096
"""Chunks below are gathered in one buffer: kept apart, single bytes would cost fifty times their size."""

_LENGTH = Struct(">i").unpack_from
_PREFIX = Struct(">iI").unpack_from
_PREFIX_BYTES = 8
_LENGTH_BYTES = 4
_MIN_LENGTH = 4
_HEADER_LENGTH_MASK = 0xFF_FFFF


class FrameDecoder:
    """Bytes in as they come, commands out as they are complete; the first broken frame ends it.

    A frame that announces too much is broken as soon as its length is known.
    """

    def __init__(
        self,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        *,
        answer: Callable[[bytes], bytes | None] | None = None,
    ) -> None:
        """Begin with an empty stream.

        Args:
            max_frame_bytes: bounds a frame with its length field.
            answer: asked for each JSON header without a body, before it is decoded; what it returns takes the
                command's place. Commands keep their header then.
        """
        self._max_length = max_frame_bytes - _LENGTH_BYTES
        self._answer = answer
        self._chunks: list[bytes | bytearray] = []
        self._wanted = 0
        self.failure: ProtocolError | None = None
        """Why nothing more will come out of this decoder; frames before the broken one did."""
        self.announced = 0
        """Bytes of the incomplete frame at the end, length field included; 0 while its length is unknown."""
        self.buffered = 0
        """Bytes held because their frame is incomplete."""

    def feed(self, data: bytes) -> list[RemotingCommand]:
        """Take the next bytes of the stream; return the commands that they complete, bodies included."""
        assert self._answer is None
        return cast("list[RemotingCommand]", self.feed_or_answer(data))

    def feed_or_answer(self, data: bytes) -> list[RemotingCommand | bytes]:
        """The same, with whole answers in the place of commands that `answer` knew."""
        if self.failure is not None:
            return []
        if self.buffered:
            self._keep(data)
            if self.buffered < self._wanted:
                return []
            data = b"".join(self._chunks)
            self._chunks.clear()
            self.buffered = self.announced = 0
        commands: list[RemotingCommand | bytes] = []
        try:
            rest = self._decode(data, commands)
        except ProtocolError as failure:
            self.failure = failure
            return commands
        if rest < len(data):
            self._keep(data[rest:] if rest else data)
        return commands

    def _decode(self, data: bytes, commands: list[RemotingCommand | bytes]) -> int:
        """Append the commands of all complete frames; return where the incomplete one begins."""
        size = len(data)
        max_length = self._max_length
        answer = self._answer
        start = 0
        while start + _PREFIX_BYTES <= size:
            length, word = _PREFIX(data, start)
            end = start + 4 + length
            if end > size or length < _MIN_LENGTH or length > max_length:
                break
            header_start = start + 8
            header_end = header_start + word
            if word > MAX_HEADER_BYTES or header_end > end:
                commands.append(_decode_other(data[header_start:end], word))
            else:
                header = data[header_start:header_end]
                known = answer(header) if answer is not None and header_end == end else None
                commands.append(known or _decode_json(header, data[header_end:end], keep=answer is not None))
            start = end
        if start < size:
            self._expect(data, start)
        return start

    def _expect(self, data: bytes, start: int) -> None:
        """Note how much the frame that begins at `start` needs, unless it is broken already."""
        self._wanted = _LENGTH_BYTES
        if start + _LENGTH_BYTES <= len(data):
            (length,) = _LENGTH(data, start)
            if not _MIN_LENGTH <= length <= self._max_length:
                raise ProtocolError(f"bad frame: length {length}, not {_MIN_LENGTH} to {self._max_length}")
            self._wanted = self.announced = _LENGTH_BYTES + length

    def _keep(self, data: bytes) -> None:
        self.buffered += len(data)
        if len(data) >= _SMALL_CHUNK_BYTES:
            self._chunks.append(data)
        elif self._chunks and isinstance(self._chunks[-1], bytearray):
            self._chunks[-1] += data
        else:
            self._chunks.append(bytearray(data))


def _decode_json(header: bytes, body: bytes, *, keep: bool) -> RemotingCommand:
    try:
        command = decode_strictly(header)
    except STRICT_ERRORS:
        command = decode_leniently(header)
    command.body = body
    if keep:
        command.header = header
    return command


def _decode_other(content: bytes, word: int) -> RemotingCommand:
    """Decode what follows a header word that doesn't announce a JSON header of decent size."""
    size = word & _HEADER_LENGTH_MASK
    if size > MAX_HEADER_BYTES:
        raise ProtocolError(f"bad frame: header of {size} bytes, more than {MAX_HEADER_BYTES}")
    if size > len(content):
        raise ProtocolError(f"bad frame: header of {size} bytes in {len(content)}")
    if word >> 24 != SerializeType.ROCKETMQ:
        raise ProtocolError(f"bad frame: header of unknown type {word >> 24}")
    command, used = decode_rocketmq_header(content[:size])
    command.body = content[used : used + len(content) - size]
    return command
