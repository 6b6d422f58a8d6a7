"""Which lines of a segment count: those of complete changes."""

from collections.abc import Callable, Iterable, Iterator

from namekeeper.journal.contract.lines import Line, read_envelope
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope

__all__ = ["CompleteChanges"]


class CompleteChanges:
    """Goes through the lines of a segment and lets whole changes pass: from first record to end, no hole."""

    def __init__(self, name: SegmentName, reject: Callable[[Line, str], None]) -> None:
        """Begin.

        Args:
            name: The segment; lines of another name server or boot don't pass.
            reject: Told each line that does not pass, and why.
        """
        self.last_seq = 0
        """Of what has passed."""
        self._name = name
        self._reject = reject
        self._held: list[Line] = []
        self._next = 0

    def read(self, lines: Iterable[Line]) -> Iterator[list[Line]]:
        """Whole changes, each as its lines."""
        for line in lines:
            envelope = read_envelope(line)
            if isinstance(envelope, str):
                self._drop_held("a broken line comes before its end")
                self._reject(line, envelope)
            elif problem := self._problem(envelope):
                self._drop_held("another change comes before its end")
                self._reject(line, problem)
            else:
                if envelope.seq == envelope.change:
                    self._drop_held("another change comes before its end")
                self._held.append(line)
                self._next = envelope.seq + 1
                if envelope.end:
                    self.last_seq = envelope.seq
                    yield self._held
                    self._held = []
        self._drop_held("its end is missing")

    def _problem(self, envelope: Envelope) -> str:
        if (envelope.namesrv, envelope.boot) != (self._name.namesrv, self._name.boot):
            return f"it belongs to {envelope.namesrv}, boot {envelope.boot}"
        if envelope.seq <= self.last_seq:
            return f"seq {envelope.seq} comes after {self.last_seq}"
        begins = envelope.seq == envelope.change
        if not begins and (not self._held or envelope.seq != self._next):
            return f"seq {envelope.seq} of change {envelope.change}: what comes before it is missing"
        return ""

    def _drop_held(self, why: str) -> None:
        held, self._held = self._held, []
        for line in held:
            self._reject(line, f"of an incomplete change: {why}")
