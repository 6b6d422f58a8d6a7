"""Which lines of a segment count: those of complete changes."""

from collections.abc import Callable, Iterable, Iterator

from namekeeper.journal.contract.lines import Line, foreign_to, read_envelope
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope

__all__ = ["INCOMPLETE_CHANGE", "NOTHING_BEFORE", "CompleteChanges"]

INCOMPLETE_CHANGE = "of an incomplete change"
NOTHING_BEFORE = "what comes before it is missing"
"""Parts of the reasons for lines that are undamaged themselves: another line is the cause."""
CHANGE_BYTES_LIMIT = 512 << 20
"""Bytes of a change: a registration of 130 MB has less than a third of it."""


class CompleteChanges:
    """Filters the lines of a segment: only complete changes pass, from their first record to their end."""

    def __init__(self, name: SegmentName, reject: Callable[[Line, str], None]) -> None:
        """Begin.

        Args:
            name: The segment; lines of another name server or boot are rejected.
            reject: Called for each rejected line, with the reason.
        """
        self.last_seq = 0
        """The last seq that has passed; 0 if none has."""
        self._name = name
        self._reject = reject
        self._started: list[Line] = []
        self._size = 0
        self._next = 0

    def read(self, lines: Iterable[Line]) -> Iterator[list[Line]]:
        """Complete changes, each as the list of its lines."""
        for line in lines:
            envelope = read_envelope(line)
            if isinstance(envelope, str):
                self._reject_started("a broken line comes before its end")
                self._reject(line, envelope)
            elif problem := self._problem(envelope):
                self._reject_started("another change comes before its end")
                self._reject(line, problem)
            else:
                if envelope.seq == envelope.change:
                    self._reject_started("another change comes before its end")
                    self._size = 0
                self._started.append(line)
                self._size += len(line.data)
                self._next = envelope.seq + 1
                if self._size > CHANGE_BYTES_LIMIT:
                    self._reject_started(f"it has more than {CHANGE_BYTES_LIMIT} bytes")
                    continue
                if envelope.end:
                    self.last_seq = envelope.seq
                    yield self._started
                    self._started = []
        self._reject_started("its end is missing")

    def _problem(self, envelope: Envelope) -> str:
        if problem := foreign_to(self._name, envelope):
            return problem
        if envelope.seq <= self.last_seq:
            return f"seq {envelope.seq} comes after {self.last_seq}"
        begins = envelope.seq == envelope.change
        if not begins and (not self._started or envelope.seq != self._next):
            return f"seq {envelope.seq} of change {envelope.change}: {NOTHING_BEFORE}"
        return ""

    def _reject_started(self, why: str) -> None:
        started, self._started = self._started, []
        for line in started:
            self._reject(line, f"{INCOMPLETE_CHANGE}: {why}")
