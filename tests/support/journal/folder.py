"""Journal folders made of lines, cut into segments as a writer would."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from namekeeper.journal.contract.blocks import BlockPacker
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.lines import split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope, Record
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.journal.segments import lines_of

__all__ = ["UUID8", "journals_of", "of_namesrvs", "read_records", "write_journal"]

UUID8 = "0a1b2c3d"


def read_records(lines: list[bytes], topic: str | None = None) -> list[Record | Envelope]:
    """Records of lines, all of which must be good."""
    reader = RecordReader(topic)
    records = [reader(line) for line in split_lines(iter(lines))]
    assert not reader.unreadable, reader.first_unreadable
    return [record for record in records if record is not None]


BLOCK_BYTES = 2_000
"""Size of a block; a writer's have a hundred times as much."""


def write_journal(
    folder: Path, lines: list[bytes], per_segment: int = 1_000, block_bytes: int = BLOCK_BYTES
) -> Path:
    """Write lines of one name server into sealed segments of small blocks, the last of which is open."""
    folder.mkdir(parents=True, exist_ok=True)
    placed = list(zip(read_records(lines), lines, strict=True))
    segments: list[list[tuple[Record | Envelope, bytes]]] = []
    for record, line in placed:
        last = segments[-1][-1][0] if segments else None
        if last is None or last.boot != record.boot or (last.end and len(segments[-1]) >= per_segment):
            segments.append([])
        segments[-1].append((record, line))
    for number, segment in enumerate(segments, 1):
        first, last = segment[0][0], segment[-1][0]
        data = b"".join(line for _, line in segment)
        name = SegmentName(namesrv=first.namesrv, uuid8=UUID8, boot=first.boot, first_seq=first.seq)
        if number < len(segments):
            name = SegmentName(
                namesrv=first.namesrv,
                uuid8=UUID8,
                boot=first.boot,
                first_seq=first.seq,
                last_seq=last.seq,
                form=".gz",
            )
            packer = BlockPacker(name, block_bytes)
            data = packer.add(data) + packer.finish()
        (folder / str(name)).write_bytes(data)
    return folder


def journals_of(folder: Path, of_each: Mapping[str, Sequence[dict[str, Any]]]) -> list[FoundJournal]:
    """The journals of name servers, in a folder each."""
    found = []
    for namesrv, records in of_each.items():
        place = folder / namesrv.replace(".", "-")
        in_order = sorted(records, key=lambda record: (record["boot"], record["seq"]))
        lines = [with_checksum(line) for line in lines_of(in_order).splitlines()]
        write_journal(place, lines)
        found.append(FoundJournal(str(place)))
    return found


def of_namesrvs(records: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The records of each name server."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault(record["namesrv"], []).append(record)
    return found
