"""The history of name servers from their journals, also while those are written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import ConfigError, JournalError
from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey, Rows
from namekeeper.history.sources.source import Present, Steps
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.disk.heard_file import HeardTimes, load_heard
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.reading.coverage import Coverage, Knowledge
from namekeeper.journal.reading.following import JournalFollower
from namekeeper.journal.reading.history import CheckpointApplied, Step, StepMaker
from namekeeper.journal.reading.reader import FoundJournal, JournalReader

__all__ = [
    "NO_ROWS",
    "QUIET_MS",
    "JournalSource",
    "JournalSteps",
    "goes_on",
    "history_since",
    "one_of_each",
    "part_of",
    "written_until",
]

QUIET_MS = 90_000
"""A running name server, or its observer, writes at least one record in each minute; if not, its disk may be
full."""
_ANSWERS_MS = 10_000
"""An observer notes the time of the last answer each second; if not for so long, its disk may be full."""
_LOOK_MS = 2_000
"""Interval at which it is checked whether a stopped name server runs again."""

NO_ROWS = frozenset(
    {
        "access", "broker_minute", "cluster", "clock_changed", "denied", "lookup_hour", "segments_deleted",
        "server_alive", "unknown_topic_minute",
    }
)  # fmt: skip
"""Kinds that make no row of a history."""


class JournalSource:
    """Journals, each of another name server; a `HistorySource`.

    Args:
        journals: where they are; one that is named twice counts once.
        clock: tells the present; None is the system's.

    Raises:
        JournalError: one is not a journal, or can't be read.
        ConfigError: two are of one name server.
    """

    keeps_past = True

    def __init__(self, journals: Iterable[FoundJournal], clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._journals = one_of_each(
            (JournalReader(found).namesrv, found) for found in dict.fromkeys(journals)
        )

    def namesrvs(self) -> list[str]:
        """Ids of the name servers, sorted."""
        return sorted(self._journals)

    def steps(
        self, namesrv: str, about: str | None = None, since: int | None = None, _until: int | None = None, /
    ) -> Steps:
        """The steps of a name server; with a name or a time, those that the journal has now."""
        found = self._journals[namesrv]
        if about is None and since is None:
            return JournalSteps(found, self._clock)
        return _PartSteps(found, about, since)


class JournalSteps(Steps):
    """All steps of a journal, and then those that its name server writes.

    Args:
        found: where the journal is.
        clock: gives the present time.
    """

    def __init__(self, found: FoundJournal, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._follower = JournalFollower(found, Rows)
        self._looked_ms = -_LOOK_MS
        self._is_running = False
        self._last_answer, self._last_answer_ms = 0, 0
        """Wall ms of the last answer to an observer, and monotonic ms at which it was first read here."""
        self._is_idle = False
        """Whether no name server wrote when that was looked at last."""

    def __iter__(self) -> Iterator[Step]:
        """The steps since the last iteration."""
        count = 0
        try:
            for step in self._follower.new_steps():
                count += 1
                self.progress = self._follower.progress
                yield step
            self.progress = self._follower.progress
            was_idle = self._is_idle
            self._look_who_writes(has_new=bool(count))
            if was_idle and self._is_idle and not count:
                yield from self._follower.end_steps()
            self.problem = ""
        except (JournalError, OSError) as error:
            self.problem = str(error)
        self.notes = self._follower.notes

    def end(self) -> History | None:
        """The rows that the name server held last: found at once, while a month takes seconds to read."""
        found = self._follower.found
        try:
            running_at = written_until(found, self._clock)
            # Only its last rows count: one change may have a hundred thousand, and there may be any number.
            journal = JournalReader(found)
            every = partial(part_of, journal, RecordReader(skip=NO_ROWS))
            history = history_since(journal, None, every, limit_bytes=0)
        except (JournalError, OSError):
            return None  # the same is found, and said, when everything is read
        last = history.coverage.knows_up_to
        if last is None or history.knowledge(last) is not Knowledge.KNOWN:
            return None
        end = History(history.namesrv)
        at = running_at if running_at is not None and goes_on(last, running_at) else last
        rows, label = history.last_rows(), history.cluster_label
        end.take(CheckpointApplied(boot=0, seq=0, ts=at, state=rows, cluster_label=label))
        return end

    def present(self, coverage: Coverage, /) -> Present:
        """The last rows of a running name server are those of the present, unless it is silent for long."""
        if not self._is_running:
            return Present()
        heard = load_heard(self._follower.found.folder)
        last, until = coverage.knows_up_to, _valid_until(heard, self._clock)
        is_current = last is not None and (goes_on(last, until) or self._is_of_last_answer(last, until))
        return Present(self._is_running, until if is_current else None, _last_heard(heard, coverage))

    def _is_of_last_answer(self, last: int, until: int) -> bool:
        """Whether a record has the time of the last answer, or is newer than the note of it.

        Then answers follow, unless the disk of the observer is full.
        """
        now_ms = self._clock.now().mono_ms
        if until != self._last_answer:
            self._last_answer, self._last_answer_ms = until, now_ms
        return until <= last and now_ms - self._last_answer_ms <= _ANSWERS_MS

    def _look_who_writes(self, *, has_new: bool) -> None:
        """Check whether its name server runs; only at intervals while it does not."""
        now_ms = self._clock.now().mono_ms
        if self._is_running or has_new or now_ms - self._looked_ms >= _LOOK_MS:
            self._looked_ms = now_ms
            self._is_running = self._follower.is_written()
            self._is_idle = not self._is_running


class _PartSteps(Steps):
    """The steps about a name, or from a time on, that a journal has now; once."""

    def __init__(self, found: FoundJournal, about: str | None, since: int | None) -> None:
        self._journal = JournalReader(found)
        self._about, self._since = about, since

    def __iter__(self) -> Iterator[Step]:
        """The steps from the last checkpoint before the time on."""
        begin = 0 if self._since is None else self._journal.begin_of(self._since)
        return part_of(self._journal, RecordReader(self._about, NO_ROWS), begin)

    def present(self, _coverage: Coverage, /) -> Present:
        """The last step says all."""
        return Present()


def part_of(journal: JournalReader, reader: RecordReader, begin: int) -> Iterator[Step]:
    """The steps of a journal from a segment on, without the rows of checkpoints that say nothing new."""
    maker = StepMaker(Rows)
    for record in journal.records(reader, begin, maker.can_skip):
        yield from maker.follow(record)
    yield from maker.finish()


def history_since(
    journal: JournalReader,
    since: int | None,
    steps_from: Callable[[int], Iterator[Step]],
    about: str | None = None,
    *,
    limit_bytes: int | None = None,
) -> History:
    """The history from the last complete checkpoint before a time on, or of the whole journal.

    Args:
        journal: the segments.
        since: wall ms; None is the end of the journal.
        steps_from: gives the steps from a segment on.
        about: a name, see `History`.
        limit_bytes: bounds its memory, see `History`.
    """
    begin = journal.begin_of(since)
    while True:
        history = History(journal.namesrv, about, limit_bytes=limit_bytes)
        for step in steps_from(begin):
            history.take(step)
        first = history.coverage.knows_from
        if begin == 0 or (first is not None and (since is None or first <= since)):
            return history
        begin = journal.checkpoint_before(begin - 1)


def one_of_each(journals: Iterable[tuple[str, FoundJournal]]) -> dict[str, FoundJournal]:
    """The journals by the ids of their name servers.

    Raises:
        ConfigError: two are of one name server.
    """
    by_name: dict[str, FoundJournal] = {}
    for namesrv, found in journals:
        twin = by_name.setdefault(namesrv, found)
        if twin is not found:
            raise ConfigError(f"{twin} and {found} are both the journal of {namesrv}: give one of them")
    return by_name


def written_until(found: FoundJournal, clock: Clock) -> int | None:
    """Wall ms until which a journal that is being written may give the state without another record.

    That is the present. An observer knows no more than the last answer showed. None: nobody writes.
    """
    is_running = is_locked(found.folder) if found.is_running is None else found.is_running
    return _valid_until(load_heard(found.folder), clock) if is_running else None


def goes_on(last: int, at: int) -> bool:
    """Whether the last record of a journal that is being written gives the state at a later time.

    Args:
        last: wall ms of the record.
        at: wall ms, not after `written_until`.
    """
    return last < at <= last + QUIET_MS


def _valid_until(heard: HeardTimes, clock: Clock) -> int:
    return heard.ts if heard.is_observed else clock.now().wall_ms


def _last_heard(heard: HeardTimes, coverage: Coverage) -> Mapping[LiveKey, int]:
    """When each broker was heard last, as a running name server writes it down each second."""
    boots = coverage.boots
    if not boots:
        return {}
    return {LiveKey(*key): boots[-1].since + up_ms for key, up_ms in heard.of_boot(boots[-1].boot).items()}
