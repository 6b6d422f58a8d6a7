"""Disagreements that are over: when name servers saw differently what changed lately."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from namekeeper.drift.disagreement import Seen, Subject
from namekeeper.drift.periods import (
    DifferingPeriod,
    OfSubject,
    OncePerHistory,
    changed_subjects,
    grouped,
    last_end,
    registered_brokers,
    verdicts_on,
)
from namekeeper.drift.verdict import DriftVerdict
from namekeeper.drift.witness import Witness

__all__ = ["EndedDrift", "ended_drift", "ended_verdicts"]

GROUPS_LIMIT = 20
"""Groups of disagreements that ended together with a verdict; older ones are left out."""
TIMES_LIMIT = 200
"""Instants at which name servers are compared about one subject; the newest ones."""


class EndedDrift(Struct, frozen=True):
    """Disagreements that began together, and are all over."""

    verdicts: Sequence[DriftVerdict]
    """As they were just before the first of them ended."""
    to: int
    """Wall ms of the end of the last one."""


def ended_drift(witnesses: Sequence[Witness], at: int, after: int, least_ms: int) -> list[EndedDrift]:
    """The disagreements of one cluster that are over, the newest end first.

    Args:
        witnesses: the name servers, as they are compared at an instant.
        at: this instant, wall ms.
        after: only those that were over after it, wall ms.
        least_ms: shorter ones are left out; of observed name servers those that are as short as a change on
            its way.
    """
    finder = _Finder(witnesses, at, after)
    groups: list[Sequence[OfSubject]] = []
    for some in grouped((subject, each) for subject in finder.subjects() for each in finder.periods(subject)):
        end = last_end(some)
        if end is not None and end > after:
            groups.append([one for one in some if finder.is_long(*one, least_ms)])
    return ended_verdicts(groups, witnesses)


def ended_verdicts(groups: Sequence[Sequence[OfSubject]], witnesses: Sequence[Witness]) -> list[EndedDrift]:
    """The verdicts on the groups that ended last, the newest end first."""
    ends = [(end, some) for some in groups if some and (end := last_end(some)) is not None]
    ends.sort(key=lambda group: -group[0])
    found: list[EndedDrift] = []
    for to, some in ends[:GROUPS_LIMIT]:
        at = min(each.to for _, each in some if each.to is not None) - 1
        found.append(EndedDrift(verdicts_on(some, witnesses, at), to))
    return found


class _Finder:
    def __init__(self, witnesses: Sequence[Witness], at: int, after: int) -> None:
        self._witnesses, self._at, self._after = witnesses, at, after
        self.periods = OncePerHistory(witnesses, self._found)
        """When a subject was seen differently, the last ones."""

    def subjects(self) -> Iterator[Subject]:
        """The topics and entries that changed lately, and all brokers, of which there are few."""
        yield from registered_brokers(self._witnesses)
        yield from changed_subjects(self._witnesses, self._after)

    def is_long(self, subject: Subject, period: DifferingPeriod, least_ms: int) -> bool:
        """Whether a period that is over was more than a change on its way."""
        taking_part = (each for each in self._witnesses if each.namesrv in period.views)
        delay_ms = max((each.delay_ms(type(subject.key)) for each in taking_part), default=0)
        assert period.to is not None
        return period.to - period.since >= max(least_ms, delay_ms)

    def _found(self, subject: Subject) -> list[DifferingPeriod]:
        times = {time for each in self._witnesses for time in subject.times(each) if time <= self._at}
        newest = sorted(times)[-TIMES_LIMIT:]
        found: list[DifferingPeriod] = []
        since: int | None = None
        before: Mapping[str, Seen] = {}
        is_known = False
        for time in newest:
            views = subject.views(self._witnesses, time)
            differ = len(set(views.values())) > 1
            if differ and since is None:
                since, is_known = time, before.keys() >= views.keys()
            elif not differ and since is not None:
                found.append(DifferingPeriod(since, time, before, is_known))
                since = None
            before = views
        if since is not None:
            found.append(DifferingPeriod(since, None, before, is_known))
        return [each for each in found if each.to is None or each.to > self._after]
