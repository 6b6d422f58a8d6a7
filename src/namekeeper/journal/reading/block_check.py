"""Compares the summary of each block of a sealed segment with the lines that it stands for.

Readers that pass over a block believe its summary. Here nothing is passed over.
"""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from namekeeper.files import Os, read_chunks
from namekeeper.journal.contract.blocks import (
    BLOCK_BEGIN,
    SEGMENT_BYTES_LIMIT,
    Block,
    BlockSummary,
    envelope_of,
    summary_of,
)
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.segment import read_parts

__all__ = ["BlockCheck"]

_ALTERED = "the summary of the block that begins here was altered: readers unpack the rest"
_TRAILER_BYTES = 8


class BlockCheck:
    """Reads segments, and keeps the problems of the summaries of their blocks."""

    def __init__(self) -> None:
        self.problems: list[tuple[int, str]] = []
        """Number of the first line of a block, and the problem."""

    def read(self, folder: str, name: SegmentName, *, system: Os = os) -> Iterator[bytes]:
        """The text of a segment, as `read_segment` gives it."""
        number = 0
        has_blocks = not name.is_open and _begins_with_a_block(folder, name, system)
        for part in read_parts(folder, name, system=system):
            if isinstance(part, Block):
                text = part.text()
                self.problems += [(number + 1, what) for what in _problems(part, text, name)]
                number += text.count(b"\n")
                yield text
            else:
                if has_blocks:
                    self.problems.append((number + 1, _ALTERED))
                yield from part


def _begins_with_a_block(folder: str, name: SegmentName, system: Os) -> bool:
    chunks = read_chunks(str(Path(folder) / str(name)), limit=SEGMENT_BYTES_LIMIT, system=system)
    return next(chunks, b"").startswith(BLOCK_BEGIN)


def _problems(block: Block, text: bytes, segment: SegmentName) -> Iterator[str]:
    lines = text.split(b"\n")
    envelopes = [envelope_of(line, segment) for line in lines[:-1]] + [None] * bool(lines[-1])
    stated = block.summary
    found = structs.replace(summary_of(envelopes), size=stated.size, crc=stated.crc, is_last=stated.is_last)
    if stated != found:
        wrong = _differences(stated, found)
        yield f"the summary of the block that begins here does not say what is in it: {wrong}"
    trailer = zlib.crc32(text).to_bytes(4, "little") + (len(text) & 0xFFFFFFFF).to_bytes(4, "little")
    if block.packed[-_TRAILER_BYTES:] != trailer:
        yield "the block that begins here has a wrong checksum of gzip: other programs can't unpack it"


def _differences(stated: BlockSummary, found: BlockSummary) -> str:
    pairs = zip(structs.asdict(stated).items(), structs.asdict(found).values(), strict=True)
    return ", ".join(
        f"{name} is {value!r}, not {right!r}" for (name, value), right in pairs if value != right
    )
