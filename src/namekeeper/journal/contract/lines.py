"""Splits the bytes of a segment into lines and reads the envelope of each; damaged lines are reported."""

from collections.abc import Iterable, Iterator

import msgspec

from namekeeper.common.durations import LATEST_MS
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.checksum import Checksum, check_line, is_right
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope, EnvelopeMembers, Record

__all__ = [
    "LINE_LIMIT",
    "SHORT_BYTES",
    "Line",
    "foreign_to",
    "impossible_in",
    "read_envelope",
    "split_lines",
]

LINE_LIMIT = 32 * 1024 * 1024
"""No record is longer: 1,000 topic rows with the longest names are under a megabyte, and one value of the KV
configuration has at most 16 million characters."""

SHORT_BYTES = 48
"""No record is shorter: its envelope has more."""
SHORT_LINES_LIMIT = 100_000
"""More lines that are shorter are no damage of a disk: a file of line feeds would take a reader hours."""

_RECORD = b'{"kind":"'
"""How each record begins."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a segment."""

    number: int
    """From 1."""
    data: bytes
    """Without the line feed."""
    problem: str = ""
    """If the line is torn, altered or too long: the reason. Then `data` may be only its beginning."""


def split_lines(
    chunks: Iterable[bytes],
    *,
    begin: int = 0,
    limit: int = LINE_LIMIT,
    short_lines: int | None = SHORT_LINES_LIMIT,
) -> Iterator[Line]:
    """Split bytes into lines, after `begin` others; of one longer than `limit` only the beginning is kept.

    A last line without a line feed is torn. A line whose checksum is wrong is altered; so is one without a
    checksum after one that has it, because a writer writes it in every line or in none. After more than
    `short_lines` lines that are too short for a record, the last line says that the rest is not read; None:
    there is no such limit.
    """
    number, kept, left_out = begin + 1, b"", 0
    has_checksums = False
    shorts = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        kept, left_out = _longer(kept, left_out, first, limit)
        for part in others:
            if not left_out and is_right(kept):
                has_checksums = True
                problem = ""
            else:
                shorts += len(kept) < SHORT_BYTES
                if short_lines is not None and shorts > short_lines:
                    yield Line(
                        number, kept, f"more than {short_lines} lines are no records: the rest is not read"
                    )
                    return
                problem = _problem_of(kept, left_out, has_checksums=has_checksums)
            yield Line(number, kept, problem)
            number += 1
            kept, left_out = (part, 0) if len(part) <= limit else _longer(b"", 0, part, limit)
    if left_out:
        yield Line(number, kept, _too_long(len(kept) + left_out))
    elif kept:
        yield Line(number, kept, "torn: no line feed ends it")


def read_envelope(line: Line, segment: SegmentName | None = None) -> Envelope | str:
    """The envelope of a line, or why the line is not a record of any version.

    Args:
        line: one line of a segment, with its problem if it has one.
        segment: Where it was read: a record of another name server or boot is none. None: anywhere.
    """
    if line.problem:
        return line.problem
    try:
        envelope = msgspec.json.decode(line.data, type=Envelope)
    except UNREADABLE_JSON as error:
        if not line.data.strip(b"\0"):
            return f"{len(line.data)} NUL bytes" if line.data else "empty"
        return f"no record: {error}"
    if not (envelope.namesrv and envelope.ts):
        return "no record: it has no namesrv or no ts"
    problem = impossible_in(envelope)
    if problem:
        return problem
    return envelope if segment is None else foreign_to(segment, envelope) or envelope


def impossible_in(record: EnvelopeMembers) -> str:
    """The members of an envelope that contradict each other; empty if none do.

    Their types rule out instants that no calendar has. The pipeline refuses the same records.
    """
    boot, seq, change = record.boot, record.seq, record.change
    if not 1 <= change <= seq or not 1 <= boot <= LATEST_MS:
        return f"boot {boot}, change {change}, seq {seq} is impossible"
    checkpoint, window_ms = record.checkpoint, record.window_ms
    if not 0 <= checkpoint <= seq or not 0 <= window_ms <= record.ts:
        return f"checkpoint {checkpoint}, window_ms {window_ms} is impossible"
    return ""


def foreign_to(segment: SegmentName, record: Record | Envelope) -> str:
    """The problem of a record of another name server or boot than its segment; empty if it has none."""
    if (record.namesrv, record.boot) == (segment.namesrv, segment.boot):
        return ""
    return f"it belongs to {record.namesrv}, boot {record.boot}"


def _problem_of(kept: bytes, left_out: int, *, has_checksums: bool) -> str:
    """The problem of a line that does not end with the correct checksum; empty if it has none."""
    if left_out:
        return _too_long(len(kept) + left_out)
    if check_line(kept) is Checksum.WRONG:
        return "altered: its checksum is not that of its bytes"
    if has_checksums and kept.startswith(_RECORD):
        return "altered: it has no checksum, and lines before it have one"
    return ""


def _longer(kept: bytes, left_out: int, part: bytes, limit: int) -> tuple[bytes, int]:
    """A line with another part added, and the number of its bytes beyond the limit."""
    room = limit - len(kept)
    if len(part) <= room:
        return kept + part, left_out
    return kept + part[:room], left_out + len(part) - room


def _too_long(length: int) -> str:
    return f"{length} bytes, more than a line may have"
