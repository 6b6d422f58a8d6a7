"""Finds name servers with two journals for the same time: two processes with one id, or a copied folder."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from namekeeper.pipeline.errors import ConflictError
from namekeeper.pipeline.files.folder import Folder
from namekeeper.pipeline.ingest.ledger import BootKey, Ledger
from namekeeper.pipeline.ingest.segment_lines import SegmentTooLargeError, lines_in
from namekeeper.pipeline.ingest.segments import Segment

__all__ = ["Conflict", "Settled", "first_ts_of", "last_ts_of", "settle"]


class Conflict(NamedTuple):
    """Journals of one name server that overlap in time."""

    namesrv: str
    uuids: tuple[str, ...]

    @property
    def message(self) -> str:
        """The problem, and what to do."""
        flags = " or ".join(f"--take {self.namesrv}={uuid8}" for uuid8 in self.uuids)
        return (
            f"{self.namesrv}: {len(self.uuids)} journals ({', '.join(self.uuids)}) claim the same time; none"
            " of them is taken. Give one of two name servers another id (journalNamesrvId), or say which is"
            f" right: {flags}"
        )


class Settled(NamedTuple):
    """The result of `settle`: the segments that a run may take."""

    segments: Sequence[Segment]
    conflicts: Sequence[Conflict]
    """Name servers that are left out."""
    several: Mapping[str, tuple[str, ...]]
    """Name servers with several journals one after another; this is allowed, and reported."""
    ledger: Ledger
    """The ledger, with the user's choice."""


def settle(
    segments: Sequence[Segment], ledger: Ledger, taken: Mapping[str, str], last_ts: Callable[[Segment], int]
) -> Settled:
    """Leave out name servers with several journals for the same time, unless the user chose one.

    Args:
        segments: New segments.
        ledger: The records in the warehouse.
        taken: Name server -> digits of the UUID that is right, as the user chose; the ledger remembers it.
        last_ts: Gives the wall clock of the last record of a segment; only called if a name has several.

    Raises:
        ConflictError: A journal that the user did not choose is in the warehouse already.
    """
    refused = set(ledger.refused)
    names = {segment.namesrv for segment in segments}
    uuids: dict[str, set[str]] = {name: set() for name in names}
    for namesrv, uuid8, _ in [*ledger.boots, *(segment.boot_key for segment in segments)]:
        uuids.setdefault(namesrv, set()).add(uuid8)
    doubtful = {
        name: tuple(sorted(found)) for name, found in uuids.items() if len(found) > 1 and name in names
    }
    conflicts: list[Conflict] = []
    for namesrv, found in doubtful.items():
        ends = _ends(namesrv, segments, ledger, last_ts)
        if not _overlap(ends):
            continue
        right = taken.get(namesrv)
        if right is None:
            conflicts.append(Conflict(namesrv, found))
        else:
            _check_choice(namesrv, right, found, ledger)
            refused |= {(namesrv, uuid8) for uuid8 in found if uuid8 != right}
    doubted = {conflict.namesrv for conflict in conflicts}
    kept = [each for each in segments if each.boot_key[:2] not in refused and each.namesrv not in doubted]
    several = {name: found for name, found in doubtful.items() if name not in doubted}
    return Settled(kept, conflicts, several, ledger._replace(refused=frozenset(refused)))


def first_ts_of(folder: Folder, segment: Segment) -> int:
    """Wall clock of the first record of a segment that can be read, ms; 0 if there is none."""
    return next(_times(folder, segment), 0)


def last_ts_of(folder: Folder, segment: Segment) -> int:
    """Wall clock of the last record of a segment that can be read, ms; 0 if there is none."""
    return reduce(lambda _, ts: ts, _times(folder, segment), 0)


def _times(folder: Folder, segment: Segment) -> Iterator[int]:
    """Wall clocks of the records of a segment up to the first damage."""
    try:
        with folder.open(segment.path) as stream:
            yield from filter(None, map(_ts, lines_in(stream, segment)))
    except (OSError, EOFError, zlib.error, SegmentTooLargeError):
        return


def _ts(line: bytes) -> int:
    try:
        return int(json.loads(line)["ts"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0


def _ends(
    namesrv: str, segments: Sequence[Segment], ledger: Ledger, last_ts: Callable[[Segment], int]
) -> Mapping[BootKey, int]:
    """The end of each boot of a name server, as far as it is known."""
    ends = {key: max(loaded.last_ts, key[2]) for key, loaded in ledger.boots.items() if key[0] == namesrv}
    last: dict[BootKey, Segment] = {}
    for segment in segments:
        if segment.namesrv == namesrv:
            before = last.get(segment.boot_key, segment)
            last[segment.boot_key] = max(before, segment, key=lambda each: each.last_seq)
    for key, segment in last.items():
        ends[key] = max(ends.get(key, 0), last_ts(segment), key[2])
    return ends


def _overlap(ends: Mapping[BootKey, int]) -> bool:
    """Whether boots of different journals overlap in time."""
    furthest: dict[str, int] = {}
    for (_, uuid8, boot), end in sorted(ends.items(), key=lambda item: item[0][2]):
        if any(boot <= other_end for other, other_end in furthest.items() if other != uuid8):
            return True
        furthest[uuid8] = max(end, furthest.get(uuid8, 0))
    return False


def _check_choice(namesrv: str, right: str, found: Sequence[str], ledger: Ledger) -> None:
    if right not in found:
        raise ConflictError(f"{namesrv} has no journal {right}; there are {', '.join(found)}")
    wrong = sorted({uuid8 for name, uuid8, _ in ledger.boots if name == namesrv and uuid8 != right})
    if wrong:
        raise ConflictError(
            f"{namesrv}: journal {right} was chosen, but {', '.join(wrong)} is in the warehouse"
            " already; build a new warehouse from the journals in another folder, with the same --take"
        )
