"""Blocks of a sealed segment: parts that are compressed separately, each with a summary of its content.

A reader that needs nothing of a block skips it by its summary, without unpacking it. A block is a member of a
gzip file, and the extra field of its header holds the summary. So every program that unpacks gzip reads the
segment (docs/decisions/0023-blocks-of-a-segment.md).

The summary has a checksum of its own and one of the packed bytes. If either is wrong, the reader ignores the
summary. It reads the rest of the file as plain gzip, where an altered byte shows.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct, structs

from namekeeper.common.durations import LATEST_MS
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.checksum import is_right
from namekeeper.journal.contract.lines import LINE_LIMIT, Line, read_envelope
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import CONTRACT_VERSION, Envelope

__all__ = [
    "BLOCK_BEGIN",
    "SEGMENT_BYTES_LIMIT",
    "Block",
    "BlockPacker",
    "BlockSummary",
    "TextBudget",
    "envelope_of",
    "parts_of",
    "summary_of",
]

BLOCK_BYTES = 256 * 1024
"""A block ends when its lines have so many bytes, at the end of a change. Where lines of another sort begin,
a quarter is enough; in smaller ones compression is worse, and there is little to skip."""
MOST_BYTES = 4 << 20
"""A block ends at this size also within a change."""
BLOCK_TEXT_BYTES = MOST_BYTES + LINE_LIMIT + 1
"""No block has more text: it ends with the first line that reaches `MOST_BYTES`."""
COMPRESSION_LEVEL = 6

SEGMENT_BYTES_LIMIT = 16 << 30
"""No segment is larger, packed or unpacked: `journalSegmentBytes` allows 4 GiB, and one change follows."""
TEXT_RATIO_LIMIT = 256
"""Text of a segment as a multiple of its file. Records compress 8 to 15 times; deflate can reach 1,032."""
TEXT_RATIO_FROM_BYTES = 256 << 20
"""The ratio counts beyond this much text: a segment of the usual size may hold one KV value of 16 million
equal characters again and again."""
_CHUNK_BYTES = 1 << 20
"""Text that is unpacked in one step."""

_RAW, _GZIP = -15, 31
"""zlib's numbers for bare compressed data and for the gzip format, with the largest window."""
BLOCK_BEGIN = bytes((0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 255))
"""How a block begins: a gzip member with an extra field, without time and system."""
_EXTRA = struct.Struct("<H2sHI")
"""Bytes of the extra field; its name; bytes of what follows; CRC-32 of the summary."""
_NAME = b"NK"
_VERSION = 1
_TRAILER = struct.Struct("<II")

_QUIET = frozenset({"broker_minute", "lookup_hour", "server_alive"})
"""Kinds of the records that come all the time; where they alternate with others a block may end."""


class BlockSummary(Struct, frozen=True, array_like=True):
    """The content of a block."""

    version: int
    size: int
    """Number of bytes after the header."""
    crc: int
    """CRC-32 of the bytes after the header."""
    lines: int
    is_last: bool
    """Whether the segment ends with it."""
    is_right: bool
    """Whether each line has the checksum of its bytes and is a record of this segment and version."""
    first: int = 0
    """Seq of its first record; those of the others follow without a hole. 0: it must be read."""
    last: int = 0
    first_ts: int = 0
    """Time of the first record that is no row of a checkpoint, wall ms; times do not run backwards in it."""
    last_ts: int = 0
    kinds: list[str] = []
    """Kinds of the records that are no rows of a checkpoint: each is a change of its own."""
    checkpoint: int = 0
    """The checkpoint whose rows are in it; 0: none."""
    rows: dict[str, int] = {}
    """Kind of rows -> number of rows."""

    @property
    def is_possible(self) -> bool:
        """Whether its numbers fit to each other, and its times into a calendar."""
        return (
            0 <= self.first <= self.last
            and 0 <= self.checkpoint <= self.last
            and 0 <= self.first_ts <= self.last_ts <= LATEST_MS
            and min(self.lines, *self.rows.values(), 0) == 0
        )


class TextBudget:
    """Counts the unpacked text of a segment, and ends the reading of one that was made to fill a memory."""

    def __init__(self) -> None:
        self._packed = 0
        self._text = 0

    def __eq__(self, other: object) -> bool:
        """Blocks are equal whatever else was read of their segments."""
        return isinstance(other, TextBudget)

    def __hash__(self) -> int:
        return hash(TextBudget)

    def add_packed(self, count: int) -> None:
        """Count bytes of the file."""
        self._packed += count

    def take(self, count: int) -> None:
        """Count bytes of text.

        Raises:
            zlib.error: It is more than a segment of such a size can have.
        """
        self._text += count
        allowed = min(SEGMENT_BYTES_LIMIT, max(TEXT_RATIO_FROM_BYTES, TEXT_RATIO_LIMIT * self._packed))
        if self._text > allowed:
            raise zlib.error(f"{self._packed} bytes unpack to more than {allowed}, no segment of ours does")


class Block(Struct, frozen=True):
    """A block whose summary and packed bytes are as they were written."""

    summary: BlockSummary
    packed: bytes
    budget: TextBudget
    """The budget of the segment."""

    def text(self) -> bytes:
        """Unpack its lines, each with its line feed.

        Raises:
            zlib.error: It is broken, or has more text than a block or a segment may have.
        """
        unpacker = zlib.decompressobj(_RAW)
        text = unpacker.decompress(memoryview(self.packed)[: -_TRAILER.size], BLOCK_TEXT_BYTES)
        if not unpacker.eof:
            raise zlib.error(
                f"a block of {len(self.packed)} bytes has no end within {BLOCK_TEXT_BYTES} bytes"
            )
        self.budget.take(len(text))
        return text


def parts_of(chunks: Iterator[bytes], segment: SegmentName) -> Iterator[Block | Iterator[bytes]]:
    """The blocks of a sealed segment; from where there is none on, the rest as chunks of its text.

    Raises:
        EOFError: the file is torn: the last block is missing. Chunks raise it, too.
    """
    budget = TextBudget()
    file = _Packed(chunks)
    is_ended = False
    while file.has(1):
        summary, at = _summary_at(file, segment)
        if summary is None or is_ended:
            yield _unpacked(file.rest(), budget)
            return
        packed = file.peek(at + summary.size)[at:]
        if len(packed) < summary.size or zlib.crc32(packed) != summary.crc:
            yield _unpacked(file.rest(), budget)
            return
        file.skip(at + summary.size)
        budget.add_packed(at + summary.size)
        is_ended = summary.is_last
        yield Block(summary, packed, budget)
    if not is_ended:
        raise EOFError("the file is torn: its last block is missing")


class _Packed:
    """The bytes of a file, with a look ahead."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._bytes = b""
        self._at = 0

    def has(self, count: int) -> bool:
        """Whether so many bytes are left."""
        while len(self._bytes) - self._at < count:
            chunk = next(self._chunks, b"")
            if not chunk:
                return False
            self._bytes, self._at = self._bytes[self._at :] + chunk, 0
        return True

    def peek(self, count: int) -> bytes:
        """The next bytes; fewer at the end."""
        self.has(count)
        return self._bytes[self._at : self._at + count]

    def skip(self, count: int) -> None:
        """Skip bytes that were looked at."""
        self._at += count

    def rest(self) -> Iterator[bytes]:
        """All bytes that are left."""
        if self._at < len(self._bytes) or not self._bytes:
            yield self._bytes[self._at :]
        yield from self._chunks


def _summary_at(file: _Packed, segment: SegmentName) -> tuple[BlockSummary | None, int]:
    """The summary of the block that begins here, and the size of its header; None if there is none."""
    fixed = len(BLOCK_BEGIN) + _EXTRA.size
    begin = file.peek(fixed)
    if len(begin) < fixed or not begin.startswith(BLOCK_BEGIN):
        return None, 0
    extra, name, size, crc = _EXTRA.unpack_from(begin, len(BLOCK_BEGIN))
    if name != _NAME or extra != size + 4 or size < 4:
        return None, 0
    at = fixed + size - 4
    data = file.peek(at)[fixed:]
    if _own_crc(data, segment) != crc:
        return None, 0
    try:
        summary = _decoder.decode(data)
    except UNREADABLE_JSON:
        return None, 0
    is_block = summary.version == _VERSION and _TRAILER.size <= summary.size <= BLOCK_TEXT_BYTES
    return (summary if is_block else None), at


def _own_crc(data: bytes, segment: SegmentName) -> int:
    """Checksum of a summary; of a segment that was renamed for another name server or boot it is wrong."""
    return zlib.crc32(data, zlib.crc32(f"{segment.namesrv} {segment.boot} ".encode()))


_decoder = msgspec.json.Decoder(BlockSummary)


def _unpacked(chunks: Iterator[bytes], budget: TextBudget) -> Iterator[bytes]:
    """Decompress gzip, also of several members, as parallel tools write it; each piece is small."""
    unpacker = zlib.decompressobj(_GZIP)
    is_begun = False
    for packed in chunks:
        budget.add_packed(len(packed))
        rest, is_full = packed, False
        while rest or is_full:
            is_begun = True
            text = unpacker.decompress(rest, _CHUNK_BYTES)
            budget.take(len(text))
            yield text
            # Without input left, more text may follow a full piece.
            rest, is_full = unpacker.unconsumed_tail, len(text) == _CHUNK_BYTES
            if unpacker.eof:
                rest, is_full = unpacker.unused_data, False
                unpacker, is_begun = zlib.decompressobj(_GZIP), False
    if is_begun:
        raise EOFError("the file is torn: its compressed data has no end")


class BlockPacker:
    """Packs the lines of a segment as blocks.

    Args:
        segment: whose lines must be of its name server and boot.
        block_bytes: when a block ends.
    """

    def __init__(self, segment: SegmentName, block_bytes: int = BLOCK_BYTES) -> None:
        self._segment = segment
        self._block_bytes = block_bytes
        self._rest = b""
        self._lines: list[bytes] = []
        self._envelopes: list[Envelope | None] = []
        self._size = 0

    def add(self, data: bytes) -> bytes:
        """Add text of the segment; returns the blocks that are complete, packed."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(self._add(line) for line in lines)

    def finish(self) -> bytes:
        """The last block."""
        if self._rest:
            self._lines.append(self._rest)
            self._envelopes.append(None)
        return self._pack(is_last=True)

    def _add(self, line: bytes) -> bytes:
        envelope = envelope_of(line, self._segment)
        packed = self._pack() if self._ends_before(envelope) else b""
        self._lines.append(line + b"\n")
        self._envelopes.append(envelope)
        self._size += len(line) + 1
        if self._size >= MOST_BYTES:
            packed += self._pack()
        return packed

    def _ends_before(self, envelope: Envelope | None) -> bool:
        """Whether a block ends before a line, because it is large or because lines of another sort begin."""
        if not self._lines:
            return False
        before = self._envelopes[-1]
        if envelope is None or before is None or not before.end:
            return False
        if self._size >= self._block_bytes or before.kind == "checkpoint_begin":
            return True
        return self._size >= self._block_bytes // 4 and _sort(envelope) != _sort(before)

    def _pack(self, *, is_last: bool = False) -> bytes:
        text = b"".join(self._lines)
        packer = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, _RAW)
        packed = packer.compress(text) + packer.flush() + _TRAILER.pack(zlib.crc32(text), len(text))
        summary = structs.replace(
            summary_of(self._envelopes), size=len(packed), crc=zlib.crc32(packed), is_last=is_last
        )
        self._lines, self._envelopes, self._size = [], [], 0
        data = msgspec.json.encode(summary)
        extra = _EXTRA.pack(len(data) + 8, _NAME, len(data) + 4, _own_crc(data, self._segment))
        return BLOCK_BEGIN + extra + data + packed


def summary_of(envelopes: Sequence[Envelope | None]) -> BlockSummary:
    """The summary of the records of a block; None stands for a line that is not right."""
    right = [each for each in envelopes if each is not None]
    is_right = len(right) == len(envelopes)
    summary = BlockSummary(_VERSION, 0, 0, len(envelopes), is_last=False, is_right=is_right)
    if not is_right or not right or not _is_passable(right):
        return summary
    others = [each for each in right if not _is_row(each)]
    rows = [each for each in right if _is_row(each)]
    return structs.replace(
        summary,
        first=right[0].seq,
        last=right[-1].seq,
        first_ts=others[0].ts if others else 0,
        last_ts=others[-1].ts if others else 0,
        kinds=sorted({each.kind for each in others}),
        checkpoint=rows[0].checkpoint if rows else 0,
        rows=dict(Counter(each.kind for each in rows)),
    )


def _is_passable(records: Sequence[Envelope]) -> bool:
    """Whether a summary can stand for records: changes of their own in order, and rows of one checkpoint."""
    first = records[0].seq
    times = [each.ts for each in records if not _is_row(each)]
    own = all(each.end and each.change == each.seq for each in records)
    return (
        own
        and all(each.seq == first + at for at, each in enumerate(records))
        and times == sorted(times)
        and len({each.checkpoint for each in records if each.checkpoint}) <= 1
        and all(_is_row(each) or not each.checkpoint for each in records)
    )


def _is_row(record: Envelope) -> bool:
    return record.checkpoint > 0 and record.kind != "checkpoint_end"


def _sort(record: Envelope) -> str:
    """Sort of a line: a row of a checkpoint, one of those that come all the time, or another."""
    if _is_row(record):
        return "row"
    return "quiet" if record.kind in _QUIET else "other"


def envelope_of(line: bytes, segment: SegmentName) -> Envelope | None:
    """The envelope of a line that is right: a record of the segment and of this version; else None."""
    if not is_right(line):
        return None
    envelope = read_envelope(Line(0, line), segment)
    return envelope if isinstance(envelope, Envelope) and envelope.v == CONTRACT_VERSION else None
