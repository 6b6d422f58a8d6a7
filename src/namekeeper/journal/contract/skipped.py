"""Reads skipped records in groups: an answer needs only the positions of most records."""

from collections.abc import Sequence
from operator import attrgetter

import msgspec
from msgspec import Struct

from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.contract.lines import Line, impossible_in
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import CONTRACT_VERSION, Envelope

__all__ = ["SkippedRecords", "skipped_records"]


class SkippedRecords(Struct, frozen=True):
    """Consecutive records in the order of time; each is a change of its own, outside of a checkpoint."""

    first: Envelope
    last: Envelope


def skipped_records(lines: Sequence[Line], segment: SegmentName) -> SkippedRecords | None:
    """Read the envelopes of lines together; None if the lines have to be read one by one.

    Args:
        lines: lines without a problem; at least one.
        segment: where they were read.
    """
    try:
        envelopes = _decoder.decode_lines(b"\n".join([line.data for line in lines]))
    except UNREADABLE_JSON:
        return None
    if len(envelopes) != len(lines) or set(map(_same, envelopes)) != {_own_change_of(segment)}:
        return None
    first, last = envelopes[0], envelopes[-1]
    if impossible_in(first) or not first.ts or last.seq - first.seq + 1 != len(envelopes):
        return None
    seqs, times, windows = list(map(_seq, envelopes)), list(map(_ts, envelopes)), map(_window, envelopes)
    in_order = seqs == list(range(first.seq, last.seq + 1)) and times == sorted(times)
    if not in_order or seqs != list(map(_change, envelopes)) or not all(map(_is_window, windows, times)):
        return None
    return SkippedRecords(first, last)


def _own_change_of(segment: SegmentName) -> tuple[object, ...]:
    return CONTRACT_VERSION, segment.namesrv, segment.boot, True, 0


_decoder = msgspec.json.Decoder(Envelope)
_same = attrgetter("v", "namesrv", "boot", "end", "checkpoint")
_seq, _ts, _change = attrgetter("seq"), attrgetter("ts"), attrgetter("change")
_window = attrgetter("window_ms")


def _is_window(window_ms: int, ts: int) -> bool:
    return 0 <= window_ms <= ts
