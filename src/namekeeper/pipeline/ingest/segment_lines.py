"""The lines of a segment as the driver reads them: none fills its memory, and none keeps it busy."""

import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import accumulate
from typing import IO, NamedTuple

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["LINE_BYTES", "TEXT_BYTES", "SegmentTooLargeError", "TextSize", "lines_in", "size_of"]

PIECE_BYTES = 32 << 20
"""Longest piece of a line: only the beginning of a longer line is given. Records of a server are shorter."""
LINE_BYTES = 256 << 20
"""Spark reads no longer line either: a row of it has to fit into memory a few times."""
SHORT_BYTES = 48
SHORT_LINES_LIMIT = 100_000
"""No record is shorter, and so many lines that are shorter are no damage of a disk."""
MORE_LINES_LIMIT = 100_000
"""Lines beyond those that the segment's name promises; a damage adds as many as it has line feeds."""
TEXT_BYTES = 16 << 30
"""No segment has more text: `journalSegmentBytes` allows 4 GiB, and one change follows."""
TEXT_RATIO_LIMIT = 256
"""Text of a segment as a multiple of its file, see `journal.contract.blocks`."""
TEXT_RATIO_FROM_BYTES = 256 << 20
"""The ratio counts beyond this much text."""
NESTING_LIMIT = 1_000
"""Lists and objects in each other; a record has four."""

_TEXT_IN_JSON = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BEFORE_VALUES = (b"[", b"{", b",")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class TextSize(NamedTuple):
    """How much text a segment has."""

    refusal: str | None = None
    """Why no parser may read it."""
    lines: int | None = None
    """Number of lines; None if the file can't be read to the end."""
    row_bytes: int = 0
    """Most bytes of its rows: a line has no more rows than values, and no row is longer than the line."""


class SegmentTooLargeError(Exception):
    """A segment that was made to fill a memory, or to keep a reader busy; the message names the limit."""


def size_of(folder: Folder, segment: Segment) -> TextSize:
    """Read a segment, and measure what parsers would get of it.

    Args:
        folder: The folder of the file.
        segment: Says whether it is compressed, and how many records it has.
    """
    lines = row_bytes = 0
    try:
        with folder.open(segment.path) as stream:
            for line in lines_in(stream, segment):
                lines += 1 + line.count(b"\r")  # Spark ends lines there, too
                row_bytes += len(line) * (1 + sum(map(line.count, _BEFORE_VALUES)))
    except SegmentTooLargeError as error:
        return TextSize(str(error))
    except (OSError, EOFError, zlib.error):
        return TextSize()
    return TextSize(None, lines, row_bytes)


def lines_in(stream: IO[bytes], segment: Segment) -> Iterator[bytes]:
    """The lines of a segment; of one that is too long only the beginning.

    Args:
        stream: The file, from its beginning.
        segment: Says whether it is compressed, and how many records it has.

    Raises:
        SegmentTooLargeError: It holds what no segment of ours does.
        OSError: It can't be read, or is no gzip.
        EOFError: Its compressed data end too early.
        zlib.error: Its compressed data are damaged.
    """
    text: IO[bytes] = gzip.GzipFile(fileobj=stream) if segment.compressed else stream  # type: ignore[assignment]
    size = length = shorts = lines = 0
    while piece := text.readline(PIECE_BYTES):
        size += len(piece)
        lines += not length
        shorts += not length and len(piece) < SHORT_BYTES
        length += len(piece)
        _check_size(size, stream)
        if length > LINE_BYTES:
            raise SegmentTooLargeError(f"a line has more than {LINE_BYTES:,} bytes")
        if shorts > SHORT_LINES_LIMIT:
            raise SegmentTooLargeError(
                f"more than {SHORT_LINES_LIMIT:,} lines have fewer than {SHORT_BYTES} bytes"
            )
        if lines > segment.records + MORE_LINES_LIMIT:
            raise SegmentTooLargeError(
                f"its name promises {shown_count(segment.records, 'record')}, and it has more than"
                f" {MORE_LINES_LIMIT:,} lines beyond these"
            )
        if _nests_deeply(piece):
            raise SegmentTooLargeError(
                f"a line has more than {NESTING_LIMIT:,} lists and objects in each other"
            )
        if length == len(piece):
            yield piece
        if piece.endswith(b"\n"):
            length = 0


def _check_size(size: int, stream: IO[bytes]) -> None:
    """Refuse more text than a segment can have."""
    if size > TEXT_BYTES:
        raise SegmentTooLargeError(f"it has more than {TEXT_BYTES:,} bytes of text")
    if size > TEXT_RATIO_FROM_BYTES and size > TEXT_RATIO_LIMIT * stream.tell():
        raise SegmentTooLargeError(
            f"its compressed data have more than {TEXT_RATIO_FROM_BYTES:,} bytes of text, and more than"
            f" {TEXT_RATIO_LIMIT} times the bytes of the file"
        )


def _nests_deeply(piece: bytes) -> bool:
    """Whether lists and objects are in each other beyond the limit; brackets in texts do not count."""
    if piece.count(b"[") + piece.count(b"{") <= NESTING_LIMIT:
        return False
    brackets = _TEXT_IN_JSON.sub(b"", piece).translate(None, _NO_BRACKETS)
    depths = accumulate(1 if bracket in b"[{" else -1 for bracket in brackets)
    return any(depth > NESTING_LIMIT for depth in depths)
