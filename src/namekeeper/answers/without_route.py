"""The verdict about a topic that had no route: which broker had it last, and how that ended."""

from collections.abc import Sequence

from msgspec import Struct

from namekeeper.answers.evidence import BrokerSession, Evidence, KnownPeriod, TopicRoute, outage_from
from namekeeper.answers.phrases import (
    by,
    end_of_row,
    end_of_session,
    ended,
    session_ended_with,
    vanished,
    was_dropped_by_broker,
    with_cause,
)
from namekeeper.answers.verdict import Fact, Judgement, Verdict
from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.model.broker import DEFAULT_HEARTBEAT_TIMEOUT_MS, MASTER_ID

__all__ = ["BrokersBack", "absent_brokers", "brokers_back", "facts_of_gap", "judge_without_route"]

_SAME_OUTAGE_MS = 3_600_000
"""A slave that went so long before the last member of its broker name went for another reason."""
_INTERRUPTED = frozenset({"stopped", "unknown"})


class BrokersBack(Struct, frozen=True):
    """The brokers that had registered again at a time."""

    began: int
    """Start of the name server, wall ms."""
    after_ms: int
    """Milliseconds from the start to the time in question."""
    known: int
    """Brokers that were live when the boot before ended."""
    back: int
    """Number of these brokers that had registered again."""
    restored: int
    """Number of the other brokers that were restored and still there."""
    sessions: list[BrokerSession]
    """All registrations of this boot up to that time."""
    only_its_brokers: bool = False
    """Whether brokers that never had the topic are not counted."""


def judge_without_route(one: Evidence, others: Sequence[Evidence], at: int, began: int) -> Judgement:
    """Judge a time at which no row was valid.

    Args:
        one: what is known of the name server.
        others: what is known of the other name servers.
        at: wall ms.
        began: when the boot at that time began, wall ms.
    """
    last = _last_of_each_name(one, at)
    in_this_boot = [route for route in last if _ended_after(route, began)]
    interrupted = [route for route in last if route.ended_by in _INTERRUPTED]
    if in_this_boot:
        verdict, summary, facts = _ended(one, in_this_boot, at)
        waited_for = [route for route in interrupted if not _ended_after(route, began)]
        return verdict, summary, [*facts, *(Fact(_not_back(route), route.valid_to) for route in waited_for)]
    if interrupted:
        period = one.period_at(at)
        gap = None if period is None else one.gap_before(period)
        if period is not None and gap is not None:
            return _since_gap(gap, period, interrupted, brokers_back(one, at, began))
        return _since_start(interrupted, brokers_back(one, at, began))
    if last:
        return _ended(one, last, at)
    return _not_here(one, others, at)


def absent_brokers(one: Evidence, at: int, began: int) -> list[tuple[str, list[Fact]]]:
    """Brokers that had the topic earlier in this boot, or at its start, but not at this time.

    Returns:
        For each a phrase for the summary, and the facts.
    """
    there = {route.broker_name for route in one.routes_at(at)}
    found = []
    for route in _last_of_each_name(one, at):
        if route.broker_name in there:
            continue
        if _ended_after(route, began):
            _, summary, facts = _ended(one, [route], at)
            names_it = route.broker_name in summary
            found.append((summary if names_it else f"{route.broker_name}: {summary}", facts))
        elif route.ended_by in _INTERRUPTED:
            text = f"{route.broker_name} was not back since the name server started"
            found.append((text, [Fact(_not_back(route), route.valid_to)]))
    return found


def brokers_back(evidence: Evidence, at: int, began: int) -> BrokersBack:
    """Count the brokers that had registered again since a start; each does so in its next period.

    Args:
        evidence: of one name server.
        at: the time in question.
        began: when its boot began.
    """
    known = {(s.cluster, s.broker_addr) for s in _live_at_end(evidence, began)}
    sessions = [s for s in evidence.sessions if began <= s.valid_from <= at]
    back = known & {(s.cluster, s.broker_addr) for s in sessions if not s.is_restored}
    restored = {(s.cluster, s.broker_addr) for s in sessions if s.is_restored and s.is_valid(at)}
    return BrokersBack(
        began,
        at - began,
        len(known),
        len(back),
        len(known & restored - back),
        sessions,
        evidence.only_its_brokers,
    )


def _live_at_end(evidence: Evidence, began: int) -> list[BrokerSession]:
    """The sessions that the end of the boot before interrupted; a loss within that boot is not its end."""
    before = [s for s in evidence.sessions if s.has_ended(began) and s.ended_by in {"stopped", "unknown"}]
    boot = max((session.boot for session in before), default=0)
    end = max((s.valid_to or 0 for s in before if s.boot == boot), default=0)
    if any(p.boot == boot and (p.valid_to is None or p.valid_to > end) for p in evidence.periods):
        return []  # it was known again, and nobody was live
    return [session for session in before if session.boot == boot and session.valid_to == end]


def _ended_after(route: TopicRoute, began: int) -> bool:
    return route.valid_to is not None and route.valid_to > began


def _not_back(route: TopicRoute) -> str:
    return f"{route.broker_name}, which had it until here, was not back"


def _ended(one: Evidence, routes: list[TopicRoute], at: int) -> Judgement:
    newest = routes[0]
    facts = [fact for route in routes for fact in _facts_of_end(one, route, at)]
    if newest.ended_by in {"unknown", "checkpoint"}:
        return Verdict.UNKNOWN, "it ended while records were lost", facts
    if newest.to_cause == "delete_topic":
        return Verdict.DELETED, f"the topic was deleted{by(newest.to_peer)}", facts
    if was_dropped_by_broker(newest):
        return Verdict.DROPPED_BY_BROKER, f"{newest.broker_name} registered without it", facts
    if vanished(newest):
        text = f"the topic was deleted, or {newest.broker_name} registered without it: an observer can't tell"
        return Verdict.DELETED, text, facts
    session = session_ended_with(one, newest)
    how = ended(newest.to_cause, None) if session is None else ended(session.reason, session.closed_by)
    more = f", the last of {len(routes)} that had it" if len(routes) > 1 else ""
    others = _others_gone(one, newest, session, at)
    master = next((each for each in others if each.broker_id == MASTER_ID), None)
    if master is not None:
        earlier = (newest.valid_to or 0) - (master.valid_to or 0)
        when = f"{shown_duration(earlier)} before" if earlier else "at the same time"
        more += f"; its master {ended(master.reason, master.closed_by)} {when}"
    return Verdict.BROKER_GONE, f"{newest.broker_name} {how}{more}", facts


def _facts_of_end(one: Evidence, route: TopicRoute, at: int) -> list[Fact]:
    """Why a row ended; if its broker went, also how the other members of the broker name went before it."""
    others = [
        Fact.of_end(end_of_session(each, "its master" if each.broker_id == MASTER_ID else None), each)
        for each in _others_gone(one, route, session_ended_with(one, route), at)
    ]
    return [Fact.of_end(end_of_row(one, route), route), *others]


def _others_gone(
    one: Evidence, route: TopicRoute, session: BrokerSession | None, at: int
) -> list[BrokerSession]:
    """The last sessions of other members of a broker name that went before the last one did, newest first.

    Slaves that went long before are left out: they had no part in it. So is a master that went more than a
    day before: a journal is not always read further back.
    """
    if session is None:
        return []
    end = route.valid_to or 0
    since = outage_from(end, at)
    last: dict[int, BrokerSession] = {}
    for each in sorted(one.sessions_of(route.broker_name), key=lambda other: other.valid_to or 0):
        if each.has_ended(end) and each.ended_by == "gone":
            last[each.broker_id] = each
    last.pop(session.broker_id, None)
    found = [
        each
        for each in last.values()
        if (each.valid_to or 0) > (since if each.broker_id == MASTER_ID else end - _SAME_OUTAGE_MS)
    ]
    return sorted(found, key=lambda other: other.valid_to or 0, reverse=True)


def facts_of_gap(gap: KnownPeriod, period: KnownPeriod) -> list[Fact]:
    """When a name server was not observed, and whether it restarted meanwhile."""
    facts = [
        Fact("the name server was not observed from here on", gap.valid_from),
        Fact("it is observed again from here on", period.valid_from),
    ]
    if period.restart in _RESTARTS:
        facts.append(Fact(f"{_RESTARTS[period.restart]} in between", gap.valid_from, period.valid_from))
    return facts


def _since_gap(gap: KnownPeriod, period: KnownPeriod, last: list[TopicRoute], back: BrokersBack) -> Judgement:
    """Judge a topic that had a route before its name server was not observed, and none after that."""
    facts = facts_of_gap(gap, period)
    if period.restart == "seen":
        verdict, summary, more = _since_start(last, back)
        count = summary.partition("; ")[2]
        text = f"the name server had restarted, and is observed again since {shown_duration(back.after_ms)}"
        return verdict, f"{text}; {count}", [*facts, *more[1:]]
    may_have = f"; {_RESTARTS[period.restart]} then" if period.restart in _RESTARTS else ""
    facts += [Fact(_not_back(route), route.valid_to) for route in last]
    return Verdict.UNKNOWN, f"it ended while the name server was not observed{may_have}", facts


_RESTARTS = {"seen": "the name server restarted", "possible": "the name server may have restarted"}
"""Whether an observed name server restarted -> phrase."""


def _since_start(last: list[TopicRoute], back: BrokersBack) -> Judgement:
    count = f"{back.back} of {shown_count(back.known, 'known broker', 'were')} back"
    if back.restored:
        count = f"{count}, {back.restored} restored"
    if back.only_its_brokers:
        count = f"{count}, without the brokers that never had the topic"
    after = f"{shown_duration(back.after_ms)} before" if back.after_ms else "just then"
    facts = [Fact(f"the name server started, {after}", back.began), Fact(count)]
    came: dict[str, list[BrokerSession]] = {}
    for session in back.sessions:
        came.setdefault(session.broker_name, []).append(session)
    for route in last:
        name = route.broker_name
        sessions = came.get(name, [])
        facts += [
            Fact.of_begin(f"{name} {_came(s)} at {s.broker_addr} without the topic", s) for s in sessions
        ]
        if not sessions:
            facts.append(Fact(_not_back(route), route.valid_to))
    verdict = Verdict.JUST_STARTED if back.after_ms < DEFAULT_HEARTBEAT_TIMEOUT_MS else Verdict.NOT_BACK
    started = f"started {after}" if back.after_ms else "just started"
    return verdict, f"the name server had {started}; {count}", facts


def _came(session: BrokerSession) -> str:
    return "was restored" if session.is_restored else "registered"


def _not_here(one: Evidence, others: Sequence[Evidence], at: int) -> Judgement:
    elsewhere = [(other, route) for other in others for route in other.routes_at(at)]
    facts = [
        Fact.of_begin(f"{other.namesrv}: {with_cause(other, route)}", route) for other, route in elsewhere
    ]
    lost = [s for s in one.periods if s.state == "unknown" and s.valid_from <= at]
    facts += [
        Fact("records were lost from here on: it may have been registered then", s.valid_from) for s in lost
    ]
    if one.dropped_until is not None:
        facts.append(Fact("there are too many changes: those up to here are left out", one.dropped_until))
    if elsewhere:
        names = ", ".join(sorted({other.namesrv for other, _ in elsewhere}))
        return Verdict.NOT_ON_THIS_ONE, f"registered on {names}, but never on this name server", facts
    had = [other.namesrv for other in others if any(route.valid_from <= at for route in other.routes)]
    if had:
        names = ", ".join(sorted(had))
        return Verdict.NOT_ON_THIS_ONE, f"never registered here; {names} had it before", facts
    if one.dropped_until is not None:
        return Verdict.UNKNOWN, "unknown, because there are too many changes to read", facts
    if one.known_from is not None:
        facts.append(Fact("its records begin", one.known_from))
    return Verdict.NEVER_REGISTERED, "never registered, as far as its records show", facts


def _last_of_each_name(one: Evidence, at: int) -> list[TopicRoute]:
    """For each broker name the row that ended last; the newest first."""
    last: dict[str, TopicRoute] = {}
    for route in sorted(one.routes, key=_order_of_ends):
        if route.has_ended(at):
            last[route.broker_name] = route
    return sorted(last.values(), key=_order_of_ends, reverse=True)


def _order_of_ends(route: TopicRoute) -> tuple[int, bool]:
    """Sort key of ends at the same time: a row that ended by a loss or a stop existed longest."""
    return route.valid_to or 0, route.ended_by in _INTERRUPTED
