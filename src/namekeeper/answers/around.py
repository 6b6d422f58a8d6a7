"""Looks around an instant: people remember 03:12, but the route was missing seconds before or after."""

from collections.abc import Callable, Iterator

from namekeeper.answers.evidence import Evidence, ValidRow
from namekeeper.answers.verdict import Fact, Judgement, Verdict
from namekeeper.common.durations import shown_duration
from namekeeper.model.broker import MASTER_ID

__all__ = ["AROUND_MS", "look_around"]

AROUND_MS = 300_000
"""How far to look, in both directions."""
_MOST_TIMES = 100
"""Most changes that are examined: the nearest ones."""
_MOST_FACTS = 5

_WITHOUT_ANSWER = {Verdict.NOT_YET, Verdict.BEFORE, Verdict.NEVER_REGISTERED, Verdict.NOT_ON_THIS_ONE}
"""Verdicts that say nothing about the topic itself."""
_SAYS_WHEN = {Verdict.UNKNOWN, Verdict.STOPPED}
"""Verdicts whose facts say when the state was known again."""


def look_around(one: Evidence, at: int, judge: Callable[[int], Judgement]) -> list[Fact]:
    """Periods near a time with a different answer.

    Args:
        one: what is known of the name server.
        at: the time in question, wall ms.
        judge: gives the verdict at any time.

    Returns:
        If there were queues to write to at that time, each period without them; if not, when there were some
        again.
    """
    here, *_ = judge(at)
    if here in _WITHOUT_ANSWER:
        return []
    periods = list(_periods(_change_times(one, at), judge))
    if here is Verdict.HAS_ROUTE:
        facts = [_hole(*each) for each in periods if each[2][0] is not Verdict.HAS_ROUTE]
        return sorted(facts, key=lambda fact: abs((fact.at or 0) - at))[:_MOST_FACTS]
    if here in _SAYS_WHEN:
        return []
    later = (begin for begin, _, (verdict, *_) in periods if begin > at and verdict is Verdict.HAS_ROUTE)
    return [Fact("it had a route with queues to write to again from here on", begin) for begin in later][:1]


def _hole(begin: int, end: int | None, judgement: Judgement) -> Fact:
    _, summary, _ = judgement
    if end is None:
        return Fact(f"no queue to write to from here on: {summary}", begin)
    return Fact(f"no queue to write to for {shown_duration(end - begin)}: {summary}", begin, end)


def _periods(
    times: list[int], judge: Callable[[int], Judgement]
) -> Iterator[tuple[int, int | None, Judgement]]:
    """Begin, end and first verdict of each period with, or without, queues to write to."""
    open_since: int | None = None
    first: Judgement | None = None
    for time in times:
        found = judge(time)
        if found[0] in _WITHOUT_ANSWER:
            continue
        if open_since is None or first is None:
            open_since, first = time, found
        elif (found[0] is Verdict.HAS_ROUTE) != (first[0] is Verdict.HAS_ROUTE):
            yield open_since, time, first
            open_since, first = time, found
    if open_since is not None and first is not None:
        yield open_since, None, first


def _change_times(one: Evidence, at: int) -> list[int]:
    """Times of changes that may change the answer, in order: those near a time, and the last one before."""
    names = {route.broker_name for route in one.routes}
    masters = [s for s in one.sessions if s.broker_id == MASTER_ID and s.broker_name in names]
    rows: list[ValidRow] = [*one.routes, *masters]
    ends = [time for row in rows for time in (row.valid_from, row.valid_to)]
    ends += [time for period in one.periods for time in (period.valid_from, period.valid_to)]
    begin = at - AROUND_MS
    known = {time for time in ends if time is not None}
    near = [time for time in known if begin < time <= at + AROUND_MS]
    before = max((time for time in known if time <= begin), default=at)
    return sorted({before, at, *sorted(near, key=lambda time: abs(time - at))[:_MOST_TIMES]})
