"""Looks around an instant: people remember 03:12, but the route was missing seconds before or after."""

from collections.abc import Callable, Iterator

from msgspec import Struct, structs

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
_HAS_ROUTE, _NONE = "a route with queues to write to", "no queue to write to"
_SORTS = {"unknown": "not known", "stopped": "no answer"}
"""State of the name server -> phrase for a period in which it was not up and known."""


class _PeriodAround(Struct, frozen=True):
    sort: str
    begin: int
    end: int | None
    summary: str
    """The summary of its start."""


def look_around(one: Evidence, at: int, judge: Callable[[int], Judgement]) -> tuple[str, list[Fact]]:
    """Periods near a time with a different answer.

    Args:
        one: what is known of the name server.
        at: the time in question, wall ms.
        judge: gives the verdict at any time.

    Returns:
        If there were queues to write to at that time: what the summary says of the nearest period without
        them, and a fact for each such period. If not: no text, and a fact that says when there were some
        again.
    """
    here, *_ = judge(at)
    if here in _WITHOUT_ANSWER or _sort(one, at, here) in _SORTS.values():
        return "", []
    times = _change_times(one)
    periods = list(_periods(one, _near(times, at), judge))
    if here is not Verdict.HAS_ROUTE:
        later = [each.begin for each in periods if each.begin > at and each.sort == _HAS_ROUTE]
        text = f"it had {_HAS_ROUTE} again from here on"
        return "", [Fact(text, begin, window_ms=one.window_at(begin)) for begin in later[:1]]
    periods[:1] = [_from_its_begin(one, first, times, judge) for first in periods[:1]]
    others = [each for each in periods if each.sort != _HAS_ROUTE]
    nearest = sorted(others, key=lambda each: abs(each.begin - at))[:_MOST_FACTS]
    return (_beside(one, nearest[0], at) if nearest else ""), [_fact(one, each) for each in nearest]


def _fact(one: Evidence, period: _PeriodAround) -> Fact:
    window_ms = one.window_at(period.begin)
    length = "from here on" if period.end is None else _length(one, period.begin, period.end)
    return Fact(f"{period.sort} {length}: {period.summary}", period.begin, period.end, window_ms)


def _length(one: Evidence, begin: int, end: int) -> str:
    is_exact = not one.window_at(begin) and not one.window_at(end)
    return f"for {'' if is_exact else 'about '}{shown_duration(end - begin)}"


def _beside(one: Evidence, period: _PeriodAround, at: int) -> str:
    """A period as a part of the summary, by its distance from the time in question."""
    begin, end = period.begin, period.end
    length = "" if end is None else f" {_length(one, begin, end)}"
    if end is not None and end <= at:
        return f"{period.sort}{length}, until {shown_duration(at - end)} before"
    return f"{period.sort}{length}, from {shown_duration(begin - at)} after on"


def _periods(one: Evidence, times: list[int], judge: Callable[[int], Judgement]) -> Iterator[_PeriodAround]:
    """The periods with queues to write to, without, and those of which nothing is known."""
    open_period: _PeriodAround | None = None
    for time in times:
        verdict, summary, _ = judge(time)
        sort = _sort(one, time, verdict)
        if open_period is not None and sort == open_period.sort:
            continue
        if open_period is not None:
            yield structs.replace(open_period, end=time)
        open_period = None if verdict in _WITHOUT_ANSWER else _PeriodAround(sort, time, None, summary)
    if open_period is not None:
        yield open_period


def _from_its_begin(
    one: Evidence, period: _PeriodAround, times: set[int], judge: Callable[[int], Judgement]
) -> _PeriodAround:
    """The first period with its own begin: changes before it may have left the answer as it was."""
    earlier = sorted((time for time in times if time < period.begin), reverse=True)
    for time in earlier[:_MOST_TIMES] if period.sort != _HAS_ROUTE else ():
        verdict, summary, _ = judge(time)
        if verdict in _WITHOUT_ANSWER or _sort(one, time, verdict) != period.sort:
            break
        period = structs.replace(period, begin=time, summary=summary)
    return period


def _sort(one: Evidence, time: int, verdict: Verdict) -> str:
    if verdict is Verdict.HAS_ROUTE:
        return _HAS_ROUTE
    period = one.period_at(time)
    return "" if period is None else _SORTS.get(period.state, _NONE)


def _change_times(one: Evidence) -> set[int]:
    """Times of changes that may change the answer."""
    names = {route.broker_name for route in one.routes}
    masters = [s for s in one.sessions if s.broker_id == MASTER_ID and s.broker_name in names]
    rows: list[ValidRow] = [*one.routes, *masters]
    ends = [time for row in rows for time in (row.valid_from, row.valid_to)]
    ends += [time for period in one.periods for time in (period.valid_from, period.valid_to)]
    return {time for time in ends if time is not None}


def _near(times: set[int], at: int) -> list[int]:
    """The times near a time, and the last one before it, in order."""
    begin = at - AROUND_MS
    near = [time for time in times if begin < time <= at + AROUND_MS]
    before = max((time for time in times if time <= begin), default=at)
    return sorted({before, at, *sorted(near, key=lambda time: abs(time - at))[:_MOST_TIMES]})
