"""Bytes of a segment -> lines -> what every record has; broken lines are told apart, never guessed at."""

from collections.abc import Iterable, Iterator

import msgspec

from namekeeper.journal.contract.record import Envelope

__all__ = ["LINE_LIMIT", "Line", "read_envelope", "split_lines"]

LINE_LIMIT = 32 * 1024 * 1024
"""Longer lines are nobody's: 1,000 topic rows with the longest names are under a megabyte, and one value of
the KV configuration has at most 16 million characters."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a segment: `data` without its line feed."""

    number: int
    """From 1."""
    data: bytes
    problem: str = ""
    """Why it is none: torn or too long; then `data` may be a part of it."""


def split_lines(chunks: Iterable[bytes], *, limit: int = LINE_LIMIT) -> Iterator[Line]:
    """Split bytes into lines; of one that is too long only the beginning is kept in memory.

    The last one is torn if no line feed ends it.
    """
    number, kept, left_out = 1, b"", 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        kept, left_out = _longer(kept, left_out, first, limit)
        for part in others:
            yield Line(number, kept, _too_long(len(kept) + left_out) if left_out else "")
            number += 1
            kept, left_out = _longer(b"", 0, part, limit)
    if left_out:
        yield Line(number, kept, _too_long(len(kept) + left_out))
    elif kept:
        yield Line(number, kept, "torn: no line feed ends it")


def read_envelope(line: Line) -> Envelope | str:
    """What every record has, or why a line is no record of any version."""
    if line.problem:
        return line.problem
    try:
        envelope = msgspec.json.decode(line.data, type=Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not line.data.strip(b"\0"):
            return f"{len(line.data)} NUL bytes" if line.data else "empty"
        return f"no record: {error}"
    if not 1 <= envelope.change <= envelope.seq or envelope.boot < 1:
        return f"boot {envelope.boot}, change {envelope.change}, seq {envelope.seq} can't be"
    return envelope


def _longer(kept: bytes, left_out: int, part: bytes, limit: int) -> tuple[bytes, int]:
    """A line with another part of it; how many bytes of it are not kept."""
    room = limit - len(kept)
    if len(part) <= room:
        return kept + part, left_out
    return kept + part[:room], left_out + len(part) - room


def _too_long(length: int) -> str:
    return f"{length} bytes, more than a line may have"
