"""The lines of a segment as the driver reads them: none fills its memory, and none keeps it busy."""

import gzip
from collections.abc import Iterator
from typing import IO

from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["LINE_BYTES", "SegmentTooLargeError", "lines_in"]

PIECE_BYTES = 32 << 20
"""Longest piece of a line: only the beginning of a longer line is given. Records of a server are shorter."""
LINE_BYTES = 256 << 20
"""Spark reads no longer line either: a row of it has to fit into memory a few times."""
SHORT_BYTES = 48
SHORT_LINES_LIMIT = 100_000
"""No record is shorter, and so many lines that are shorter are no damage of a disk."""
TEXT_BYTES = 16 << 30
"""No segment has more text: `journalSegmentBytes` allows 4 GiB, and one change follows."""


class SegmentTooLargeError(Exception):
    """A segment that was made to fill a memory, or to keep a reader busy."""


def lines_in(stream: IO[bytes], segment: Segment) -> Iterator[bytes]:
    """The lines of a segment; of one that is too long only the beginning.

    Args:
        stream: The file, from its beginning.
        segment: Says whether it is compressed.

    Raises:
        SegmentTooLargeError: It holds what no segment of ours does.
        OSError: It can't be read, or is no gzip.
        EOFError: Its compressed data end too early.
        zlib.error: Its compressed data are damaged.
    """
    text: IO[bytes] = gzip.GzipFile(fileobj=stream) if segment.compressed else stream  # type: ignore[assignment]
    size = length = shorts = 0
    while piece := text.readline(PIECE_BYTES):
        size += len(piece)
        shorts += not length and len(piece) < SHORT_BYTES
        if size > TEXT_BYTES or length + len(piece) > LINE_BYTES or shorts > SHORT_LINES_LIMIT:
            raise SegmentTooLargeError(segment.file)
        if not length:
            yield piece
        length = 0 if piece.endswith(b"\n") else length + len(piece)
