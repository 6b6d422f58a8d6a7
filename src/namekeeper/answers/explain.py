"""Why a topic had no route at a time: the cause at each name server, and the facts that show it.

This is a pure function of evidence, from journals or from the tables of the pipeline. If the state at that
time is not known, the explanation says so.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from namekeeper.answers.evidence import Evidence, KnownPeriod, TopicRoute
from namekeeper.answers.phrases import (
    ENDS,
    by,
    end_of_row,
    queues,
    session_ended_with,
    was_dropped_by_broker,
    with_cause,
)
from namekeeper.answers.restart import BrokersBack, brokers_back
from namekeeper.common.durations import shown_duration
from namekeeper.model.broker import DEFAULT_HEARTBEAT_TIMEOUT_MS
from namekeeper.model.perm import Perm

__all__ = ["Explanation", "Fact", "Verdict", "explain"]


class Verdict(StrEnum):
    """The cause."""

    HAS_ROUTE = "has_route"
    """The topic had a route with queues to write to."""
    NEVER_REGISTERED = "never_registered"
    NOT_ON_THIS_ONE = "not_on_this_one"
    BROKER_GONE = "broker_gone"
    DELETED = "deleted"
    DROPPED_BY_BROKER = "dropped_by_broker"
    WRITE_PERM_WIPED = "write_perm_wiped"
    MASTER_GONE = "master_gone"
    """A slave acts for its master; clients can't write to it."""
    NOT_WRITABLE = "not_writable"
    """It was registered without write permission or write queues."""
    JUST_STARTED = "just_started"
    NOT_BACK = "broker_not_back"
    """The name server had started long enough before for all brokers to register again."""
    UNKNOWN = "unknown"
    """Records were lost."""
    STOPPED = "stopped"
    """The name server was not running."""
    NOT_YET = "not_known_yet"
    BEFORE = "before_the_journal"


class Fact(Struct, frozen=True):
    """A fact that supports the verdict."""

    text: str
    at: int | None = None
    """Wall ms; None if the fact has no time."""


class Explanation(Struct, frozen=True):
    """The cause at one name server."""

    namesrv: str
    topic: str
    at: int
    """Wall ms."""
    knows_up_to: int | None
    verdict: Verdict
    summary: str
    facts: list[Fact]


def explain(evidence: Sequence[Evidence], at: int | None = None) -> list[Explanation]:
    """Say for each name server why it had no route of the topic, or that it had one.

    Args:
        evidence: of each name server, about the same topic.
        at: wall ms; None is the last known time of each name server.
    """
    return [_explain_one(one, [other for other in evidence if other is not one], at) for one in evidence]


def _explain_one(one: Evidence, others: Sequence[Evidence], wanted: int | None) -> Explanation:
    at = one.knows_up_to or 0 if wanted is None else wanted
    verdict, summary, facts = _judge(one, others, at)
    return Explanation(
        one.namesrv, one.topic, at, one.knows_up_to, verdict, summary, [*facts, *_failed_lookups(one, at)]
    )


_HOUR_MS = 3_600_000

_Judgement = tuple[Verdict, str, list[Fact]]


def _judge(one: Evidence, others: Sequence[Evidence], at: int) -> _Judgement:
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
    routes = one.routes_at(at)
    if routes:
        return _with_route(one, routes)
    return _without_route(one, others, at, period)


def _not_yet(one: Evidence) -> _Judgement:
    if one.knows_up_to is None:
        return Verdict.NOT_YET, "nothing is known yet: there is no record", []
    facts = [Fact("last record", one.knows_up_to)]
    if one.periods and one.periods[-1].state == "stopped":
        return Verdict.NOT_YET, "the name server was stopped and has not written since", facts
    return Verdict.NOT_YET, "not known yet: the last record is older", facts


def _unknown(one: Evidence, period: KnownPeriod) -> _Judgement:
    facts = [Fact("records were lost from here on", period.valid_from)]
    if period.valid_to is not None:
        facts.append(Fact("the state is known again from this checkpoint on", period.valid_to))
    before = [route for route in one.routes if route.valid_to == period.valid_from]
    after = [route for route in one.routes if route.valid_from == period.valid_to]
    facts += [Fact(f"before, {queues(route)}", period.valid_from) for route in before]
    facts += [Fact(f"after, {queues(route)}", period.valid_to) for route in after]
    return Verdict.UNKNOWN, "unknown, because records were lost", facts


def _stopped(period: KnownPeriod) -> _Judgement:
    facts = [Fact("the name server was stopped in an orderly way", period.valid_from)]
    if period.valid_to is not None:
        facts.append(Fact("it was started again", period.valid_to))
    return Verdict.STOPPED, "the name server was not running", facts


def _with_route(one: Evidence, routes: list[TopicRoute]) -> _Judgement:
    if any(_is_writable(route) for route in routes):
        facts = [Fact(with_cause(route), route.valid_from) for route in routes]
        return Verdict.HAS_ROUTE, "it had a route with queues to write to", facts
    made = [_original(one, route) for route in routes]
    facts = [Fact(with_cause(original), original.valid_from) for original in made]
    causes = {original.from_cause for original in made}
    if "wipe_write_perm" in causes:
        peer = next(original.from_peer for original in made if original.from_cause == "wipe_write_perm")
        return Verdict.WRITE_PERM_WIPED, f"write permission was wiped{by(peer)}", facts
    if causes & ENDS.keys():
        return (
            Verdict.MASTER_GONE,
            "its master was gone, and clients can't write to the slave that acts for it",
            facts,
        )
    return Verdict.NOT_WRITABLE, "it had a route, but no queue to write to", facts


def _without_route(one: Evidence, others: Sequence[Evidence], at: int, period: KnownPeriod) -> _Judgement:
    assert period.boot is not None
    began = one.began(period.boot)
    last = _last_of_each_name(one, at)
    in_this_boot = [route for route in last if route.valid_to is not None and route.valid_to > began]
    if in_this_boot:
        return _ended(one, in_this_boot)
    interrupted = [route for route in last if route.ended_by in {"stopped", "unknown"}]
    if interrupted:
        return _since_start(interrupted, brokers_back(one, at, began))
    if last:
        return _ended(one, last)
    return _not_here(one, others, at)


def _ended(one: Evidence, ended: list[TopicRoute]) -> _Judgement:
    newest = ended[0]
    facts = [Fact(end_of_row(one, route), route.valid_to) for route in ended]
    if newest.ended_by in {"unknown", "checkpoint"}:
        return Verdict.UNKNOWN, "it ended while records were lost", facts
    if newest.to_cause == "delete_topic":
        return Verdict.DELETED, f"the topic was deleted{by(newest.to_peer)}", facts
    if was_dropped_by_broker(newest):
        return Verdict.DROPPED_BY_BROKER, f"{newest.broker_name} registered without it", facts
    session = session_ended_with(one, newest)
    reason = newest.to_cause if session is None else session.reason
    how = ENDS.get(reason or "", "is gone")
    return Verdict.BROKER_GONE, f"broker {newest.broker_name} {how}", facts


def _since_start(last: list[TopicRoute], back: BrokersBack) -> _Judgement:
    count = f"{back.back} of {back.known} known brokers were back"
    after = shown_duration(back.after_ms)
    facts = [Fact(f"the name server started, {after} before", back.began), Fact(count)]
    for route in last:
        name = route.broker_name
        sessions = [session for session in back.sessions if session.broker_name == name]
        facts += [
            Fact(f"{name} registered at {s.broker_addr} without the topic", s.valid_from) for s in sessions
        ]
        if not sessions:
            facts.append(Fact(f"{name}, which had it until here, was not back", route.valid_to))
    verdict = Verdict.JUST_STARTED if back.after_ms < DEFAULT_HEARTBEAT_TIMEOUT_MS else Verdict.NOT_BACK
    return verdict, f"the name server had started {after} before; {count}", facts


def _not_here(one: Evidence, others: Sequence[Evidence], at: int) -> _Judgement:
    elsewhere = [(other, route) for other in others for route in other.routes_at(at)]
    facts = [Fact(f"{other.namesrv}: {with_cause(route)}", route.valid_from) for other, route in elsewhere]
    lost = [s for s in one.periods if s.state == "unknown" and s.valid_from <= at]
    facts += [
        Fact("records were lost from here on: it may have been registered then", s.valid_from) for s in lost
    ]
    if elsewhere:
        names = ", ".join(sorted({other.namesrv for other, _ in elsewhere}))
        return Verdict.NOT_ON_THIS_ONE, f"registered on {names}, but never on this name server", facts
    had = [other.namesrv for other in others if any(route.valid_from <= at for route in other.routes)]
    if had:
        names = ", ".join(sorted(had))
        return Verdict.NOT_ON_THIS_ONE, f"never registered here; {names} had it before", facts
    if one.known_from is not None:
        facts.append(Fact("its records begin", one.known_from))
    return Verdict.NEVER_REGISTERED, "never registered, as far as its records show", facts


def _last_of_each_name(one: Evidence, at: int) -> list[TopicRoute]:
    """For each broker name the row that ended last; the newest first."""
    last: dict[str, TopicRoute] = {}
    for route in sorted(one.routes, key=lambda route: route.valid_to or 0):
        if route.has_ended(at):
            last[route.broker_name] = route
    return sorted(last.values(), key=lambda route: route.valid_to or 0, reverse=True)


def _original(one: Evidence, route: TopicRoute) -> TopicRoute:
    """The row with the cause: a row first seen in a checkpoint may continue an earlier one."""
    for before in reversed(one.routes):
        if route.from_cause is not None:
            break
        if (
            before.broker_name == route.broker_name
            and before.valid_from < route.valid_from
            and before.ended_by in {"unknown", "checkpoint"}
            and _same_queues(before, route)
        ):
            route = before
    return route


def _same_queues(one: TopicRoute, other: TopicRoute) -> bool:
    return (one.perm, one.write_queue_nums) == (other.perm, other.write_queue_nums)


def _is_writable(route: TopicRoute) -> bool:
    return bool(route.perm & Perm.WRITE) and route.write_queue_nums > 0


def _failed_lookups(one: Evidence, at: int) -> list[Fact]:
    """Look-ups without a route in the hour before."""
    recent = [each for each in one.lookups if at - _HOUR_MS <= each.minute <= at]
    if not recent:
        return []
    count = sum(each.count for each in recent)
    languages = ", ".join(sorted({each.language for each in recent if each.language}))
    who = f"clients of {languages}" if languages else "clients that name no language"
    return [
        Fact(
            f"{count} look-ups without a route within the hour before, by {who}; the first",
            min(each.minute for each in recent),
        )
    ]


_HOUR_MS = 3_600_000
