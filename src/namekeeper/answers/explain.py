"""Why a topic had no route at a time: the cause at each name server, and the facts that show it.

This is a pure function of evidence, from journals or from the tables of the pipeline. If the state at that
time is not known, the explanation says so.
"""

from collections.abc import Iterator, Sequence

from namekeeper.answers.around import look_around
from namekeeper.answers.evidence import HOUR_MS, Evidence, KnownPeriod, Lookups
from namekeeper.answers.phrases import end_of_row, end_of_session, queues, with_cause
from namekeeper.answers.refusals import facts_of_refusals
from namekeeper.answers.verdict import Explanation, Fact, Judgement, Verdict
from namekeeper.answers.with_route import judge_with_route
from namekeeper.answers.without_route import facts_of_gap, judge_without_route
from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.common.namesrv_clusters import SHARED_MS, namesrv_clusters
from namekeeper.model.broker import MASTER_ID

__all__ = ["explain", "is_unknown_topic"]

_MINUTE_MS = 60_000


def explain(evidence: Sequence[Evidence], at: int | None = None) -> list[Explanation]:
    """Say for each name server why it had no route of the topic, or that it had one.

    Args:
        evidence: of each name server, about the same topic. Only name servers of one cluster are compared.
        at: wall ms; None is the last known time of each name server.
    """
    addrs = {one.namesrv: set(_recent_addrs(one, _at(one, at))) for one in evidence}
    clusters = namesrv_clusters(addrs, {one.namesrv: one.cluster_label for one in evidence})
    found = []
    for one in evidence:
        beside = [each for each in evidence if each is not one and each.namesrv in clusters[one.namesrv]]
        found.append(_explain_one(one, beside, _at(one, at)))
    return found


def is_unknown_topic(evidence: Sequence[Evidence], explanations: Sequence[Explanation]) -> bool:
    """Whether no name server has any record of the topic, before or after the time in question."""
    is_known = any(one.routes for one in evidence)
    return not is_known and any(each.verdict is Verdict.NEVER_REGISTERED for each in explanations)


def _at(one: Evidence, wanted: int | None) -> int:
    return one.knows_up_to or 0 if wanted is None else wanted


def _recent_addrs(one: Evidence, at: int) -> Iterator[str]:
    """Addresses of the brokers that a name server had not long before a time."""
    for session in one.sessions:
        if session.valid_from <= at and (session.valid_to is None or at < session.valid_to + SHARED_MS):
            yield session.broker_addr


def _explain_one(one: Evidence, others: Sequence[Evidence], at: int) -> Explanation:
    verdict, summary, facts = _judge(one, others, at)
    beside, around = look_around(one, at, lambda time: _judge(one, others, time))
    uncertain = _uncertain(one, at)
    window = _window(facts, uncertain, at)
    summary = "; ".join(part for part in (summary + window, beside) if part)
    facts = [*facts, *around, *uncertain]
    return Explanation(
        one.namesrv, one.topic, at, one.knows_up_to, verdict, summary,
        [*facts, *facts_of_refusals(one, at), *_failed_lookups(one, at)],
    )  # fmt: skip


def _judge(one: Evidence, others: Sequence[Evidence], at: int) -> Judgement:
    if one.knows_up_to is None or at > one.knows_up_to:
        return _not_yet(one)
    period = one.period_at(at)
    if period is None:
        facts = [] if one.known_from is None else [Fact("its records begin", one.known_from)]
        return Verdict.BEFORE, "its journal begins later", facts
    if period.state == "unknown":
        return _unknown(one, period)
    if period.state == "stopped":
        return _stopped(period)
    assert period.boot is not None
    began = one.began(period.boot)
    if one.routes_at(at):
        return judge_with_route(one, at, began)
    return judge_without_route(one, others, at, began)


def _uncertain(one: Evidence, at: int) -> list[Fact]:
    """Changes of the topic whose windows contain the time: they may have happened before it or after."""
    names = {route.broker_name for route in one.routes}
    masters = [s for s in one.sessions if s.broker_id == MASTER_ID and s.broker_name in names]
    begun = [route for route in one.routes if _contains(route.valid_from, route.from_window_ms, at)]
    ended = [route for route in one.routes if _contains(route.valid_to, route.to_window_ms, at)]
    gone = [session for session in masters if _contains(session.valid_to, session.to_window_ms, at)]
    return [
        *(Fact.of_begin(f"uncertain at this time: {with_cause(one, route)}", route) for route in begun),
        *(Fact.of_end(f"uncertain at this time: {end_of_row(one, route)}", route) for route in ended),
        *(Fact.of_end(f"uncertain at this time: {end_of_session(session)}", session) for session in gone),
    ]


def _contains(changed: int | None, window_ms: int, at: int) -> bool:
    """Whether the window of a change contains a time at which it may not have happened yet."""
    return changed is not None and changed - window_ms <= at < changed


def _window(facts: Sequence[Fact], uncertain: Sequence[Fact], at: int) -> str:
    """The window of a change in question, or of the named change, as a part of the summary."""
    if uncertain:
        begin = at - min((fact.at or 0) - fact.window_ms for fact in uncertain)
        end = max(fact.at or 0 for fact in uncertain) - at
        since = f"{shown_duration(begin)} before" if begin else "this time"
        return f"; uncertain: a change happened between {since} and {shown_duration(end)} after"
    window_ms = facts[0].window_ms if facts else 0
    return f", within a window of {shown_duration(window_ms)}" if window_ms else ""


def _not_yet(one: Evidence) -> Judgement:
    if one.knows_up_to is None:
        return Verdict.NOT_YET, "nothing is known yet: there is no record", []
    facts = [Fact("last record", one.knows_up_to)]
    if one.periods and one.periods[-1].state == "stopped":
        return Verdict.NOT_YET, "the name server was stopped and has not written since", facts
    return Verdict.NOT_YET, "not known yet: the last record is older", facts


def _unknown(one: Evidence, period: KnownPeriod) -> Judgement:
    after_it = None if period.valid_to is None else one.period_at(period.valid_to)
    if after_it is not None and one.gap_before(after_it) is period:
        return (
            Verdict.UNKNOWN,
            "unknown, because the name server was not observed",
            facts_of_gap(period, after_it),
        )
    facts = [Fact("records were lost from here on", period.valid_from)]
    if period.valid_to is not None:
        facts.append(Fact("the state is known again from this checkpoint on", period.valid_to))
    before = [r for r in one.routes if r.valid_to == period.valid_from and r.ended_by == "unknown"]
    after = [route for route in one.routes if route.valid_from == period.valid_to]
    facts += [Fact(f"before, {queues(route)}", period.valid_from) for route in before]
    facts += [Fact(f"after, {queues(route)}", period.valid_to) for route in after]
    return Verdict.UNKNOWN, "unknown, because records were lost", facts


def _stopped(period: KnownPeriod) -> Judgement:
    facts = [Fact("the name server was stopped in an orderly way", period.valid_from)]
    if period.valid_to is not None:
        facts.append(Fact("it was started again", period.valid_to))
    return Verdict.STOPPED, "the name server was not running", facts


def _failed_lookups(one: Evidence, at: int) -> list[Fact]:
    """Lookups without a route in the hour before, and separately in the minute of the time itself.

    The server counts them by the minute: in that minute, some may have come later.
    """
    before = [each for each in one.lookups if at - HOUR_MS <= each.minute <= at - _MINUTE_MS]
    beside = [each for each in one.lookups if at - _MINUTE_MS < each.minute <= at]
    begin = one.known_from or 0
    facts = []
    if before:
        text = f"{_lookups(before)}, within the hour before; the first in the minute from here on"
        facts.append(Fact(text, max(begin, min(each.minute for each in before))))
    if beside:
        text = f"{_lookups(beside)}, before or after this time, in the minute from here on"
        facts.append(Fact(text, max(begin, beside[0].minute)))
    return facts


def _lookups(some: list[Lookups]) -> str:
    languages = ", ".join(sorted({each.language for each in some if each.language}))
    who = f"clients of {languages}" if languages else "clients that name no language"
    return f"{shown_count(sum(each.count for each in some), 'look-up')} without a route by {who}"
