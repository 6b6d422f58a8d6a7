"""The parts of a history that its memory has dropped, read again from its source within a limit in bytes."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct, structs

from namekeeper.answers.evidence import DAY_MS
from namekeeper.history.history import History
from namekeeper.history.narrowing import steps_of_broker, steps_of_topic
from namekeeper.history.sources.source import HistorySource
from namekeeper.journal.reading.history import Changed, Step

__all__ = ["EarlierPart", "EarlierParts", "IsEnough", "Use", "records_in"]

REACH_MS = 3_600_000
"""A list of changes first reads so much time before its end, wall ms."""
FURTHER = 4
"""Each further reading reaches so many times as far back as the one before."""
RECORDS_AT_MOST = 200_000
"""After a reading of more records a list does not reach further back: the page asks for older changes. A
reading further back ends unused at `FURTHER` times as many."""


class Use(StrEnum):
    """The purpose of a part."""

    INSTANT = "instant"
    """The state at its last instant."""
    CHANGES = "changes"
    """A list of the changes up to its last instant."""
    TOPIC = "topic"
    """The rows of a topic and of broker groups, from the first record up to its last instant."""
    BROKER = "broker"
    """The live rows of a broker, from the first record up to its last instant."""


class EarlierPart(Struct, frozen=True):
    """The history of a name server up to an instant, as far back as it was read."""

    use: Use
    about: str | None
    """The only name whose topic rows it has, see `History`; None: it has all."""
    until: int
    """The last instant, wall ms."""
    history: History
    has_start: bool
    """Whether it begins with the first record of its source."""
    records: int
    """Number of records that were read."""
    reach_ms: int = 0
    """How long before `until` the reading for a list of changes began."""
    is_final: bool = False
    """Whether no reading reaches further back."""

    @property
    def key(self) -> tuple[Use, str | None, int]:
        """The use, the name and the last instant."""
        return self.use, self.about, self.until

    def knows(self, at: int) -> bool:
        """Whether it has the state at an instant, wall ms."""
        first = self.history.knows_from
        return first is not None and first <= at <= self.until

    @property
    def since(self) -> int | None:
        """Wall ms from which on every change is there; None: from the first record on."""
        if self.has_start:
            dropped = self.history.dropped_until
            return None if dropped is None else dropped + 1
        knows_from = self.history.knows_from
        return (self.until if knows_from is None else knows_from) + 1

    @property
    def is_usable(self) -> bool:
        """Whether it has changes up to its end."""
        return self.since is None or self.since <= self.until


SUBJECTS = frozenset({Use.TOPIC, Use.BROKER})
"""Uses that need the rows of one name only, but from the first record on."""

IsEnough = Callable[[EarlierPart], bool]
"""Whether a part reaches back far enough for a list of changes."""


class EarlierParts:
    """Parts of the history of one name server, within a limit in bytes. One thread at a time reads them.

    Args:
        namesrv: its id.
        source: gives its steps again.
    """

    def __init__(self, namesrv: str, source: HistorySource) -> None:
        self._namesrv, self._source = namesrv, source
        self.limit_bytes = 0
        """Memory of all parts; another part may take as much while it is read."""
        self.kept: list[EarlierPart] = []
        """The parts; the most recently read one comes last."""
        self._in_vain: tuple[Use, str | None, int] | None = None
        """Key of the last part that did not fit: a page asks for the same part again and again."""
        self._first: tuple[int, int] | None = None
        """Boot and seq of the first step; None before it was read."""
        self._last_ts = 0
        self._put_back: list[tuple[int, tuple[int, int]]] = []
        """Where the clock was put back: time, boot and seq of the next step; in the order of all three."""

    def note(self, step: Step) -> None:
        """Note the position and the time of a step; all steps are noted in their order."""
        if self._first is None:
            self._first = step.boot, step.seq
        if step.ts < self._last_ts:
            while self._put_back and self._put_back[-1][0] >= step.ts:
                self._put_back.pop()
            self._put_back.append((step.ts, (step.boot, step.seq)))
        self._last_ts = step.ts

    def at(self, at: int, about: str | None) -> History | None:
        """A history that knows an instant (wall ms) of a topic; None if it was not read."""
        for part in reversed(self.kept):
            if part.use not in SUBJECTS and part.about in {None, about} and part.knows(at):
                return part.history
        return None

    def changes(self, until: int) -> EarlierPart | None:
        """The part that has the most changes up to an instant (wall ms); None if none was read."""
        found = [each for each in self.kept if each.about is None and until <= each.until]
        found = [each for each in found if each.since is None or each.since <= until]
        return min(found, key=lambda each: each.since or 0, default=None)

    def subject(self, use: Use, name: str, until: int) -> History | None:
        """The history that `read_subject` has read; None: none."""
        part = self._kept_as((use, name, until))
        return None if part is None else part.history

    def read_instant(self, at: int, about: str | None) -> None:
        """Read the state at an instant, unless it was read or did not fit.

        Args:
            at: wall ms.
            about: only rows of topics with this name are needed; None: all.

        Raises:
            JournalError: the source can't be read.
        """
        key = Use.INSTANT, about, at
        if self.at(at, about) is not None or self._in_vain == key:
            return
        found = self._read(key, at)
        if found is not None and not found.knows(at):
            # A checkpoint that was not completed has another one before it.
            found = self._read(key, at - DAY_MS)
        if found is None or not found.knows(at):
            self._in_vain = key
        else:
            self._keep(found)

    def read_changes(self, until: int, first: int, is_enough: IsEnough) -> None:
        """Read the changes before an instant, back until there are enough of them or they don't fit.

        Args:
            until: wall ms of the last change.
            first: wall ms of the first instant of the source.
            is_enough: asked about each part that was read.

        Raises:
            JournalError: the source can't be read.
        """
        key = Use.CHANGES, None, until
        found = self.changes(until)
        if (found is not None and is_enough(found)) or self._in_vain == key:
            return
        part = self._kept_as(key)
        while part is None or not (part.is_final or is_enough(part)):
            further = self._read_further(key, first, part)
            if further is None:
                self._in_vain = key
                return
            part = further
            self._keep(part)

    def read_subject(self, use: Use, name: str, until: int) -> None:
        """Read the rows of a topic or a broker from the first record up to an instant, as far as they fit.

        Args:
            use: one of `SUBJECTS`.
            name: of the topic; or of the broker, or its address.
            until: wall ms.

        Raises:
            JournalError: the source can't be read.
        """
        key = use, name, until
        if self._kept_as(key) is not None or self._in_vain == key:
            return
        found = self._read(key, 0)
        if found is None:
            self._in_vain = key
        else:
            self._keep(found)

    def _kept_as(self, key: tuple[Use, str | None, int]) -> EarlierPart | None:
        return next((each for each in self.kept if each.key == key), None)

    def _read_further(
        self, key: tuple[Use, str | None, int], first: int, part: EarlierPart | None
    ) -> EarlierPart | None:
        """A part for a list that reaches further back than another one; None if not even the rows fit."""
        until = key[2]
        reach = REACH_MS if part is None else part.reach_ms * FURTHER
        since = 0 if until - reach <= first else until - reach
        has_changes = part is not None and part.is_usable
        found = self._read(key, since, RECORDS_AT_MOST * FURTHER if has_changes else None)
        if found is None:
            return None if part is None else structs.replace(part, is_final=True)
        is_full = found.history.dropped is not None or found.records > RECORDS_AT_MOST
        is_final = since == 0 or (is_full and found.is_usable)
        return structs.replace(found, reach_ms=reach, is_final=is_final)

    def _read(
        self, key: tuple[Use, str | None, int], since: int, records_at_most: int | None = None
    ) -> EarlierPart | None:
        """Read a part from a time on; None if it needs more memory than it may, or has too many records."""
        use, about, until = key
        found = History(self._namesrv, about, limit_bytes=self.limit_bytes)
        needed = max((position for ts, position in self._put_back if ts <= until), default=(0, 0))
        first: tuple[int, int] | None = None
        records = 0
        for step in self._steps(key, since):
            first = first or (step.boot, step.seq)
            found.take(step)
            records += records_in(step)
            if found.size > self.limit_bytes:  # by the rows alone, without older changes
                return None
            if records_at_most is not None and records > records_at_most:
                return None
            if step.ts > until and (step.boot, step.seq) >= needed:  # no later step is of an earlier time
                break
        return EarlierPart(use, about, until, found, first == self._first, records)

    def _steps(self, key: tuple[Use, str | None, int], since: int) -> Iterable[Step]:
        use, about, until = key
        steps = self._source.steps(self._namesrv, about, since, until)
        if use is Use.TOPIC:
            return steps_of_topic(steps)
        return steps_of_broker(steps, about or "") if use is Use.BROKER else steps

    def _keep(self, part: EarlierPart) -> None:
        """Keep a part instead of one with its key; drop those that were read first until the others fit."""
        kept = [*(each for each in self.kept if each.key != part.key), part]
        while sum(each.history.size for each in kept) > self.limit_bytes:
            del kept[0]
        self.kept = kept


def records_in(step: Step) -> int:
    """The number of records that a step applies."""
    return len(step.records) if isinstance(step, Changed) else 1
