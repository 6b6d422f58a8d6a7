"""Answers as text and as JSON; text has times in the reader's zone and in UTC."""

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from namekeeper.answers.times import Zone, iso_text, shown, shown_window
from namekeeper.answers.verdict import Explanation, Fact, Verdict
from namekeeper.common.printable import printable, printable_json
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.messages.bodies import encode_topic_route
from namekeeper.model.route import TopicRouteData

__all__ = [
    "ExplanationValue",
    "RouteAt",
    "RouteValue",
    "UncertainChange",
    "explain_knowledge",
    "explanation_lines",
    "explanation_values",
    "explanations_json",
    "knows_up_to_text",
    "route_value",
    "route_values",
    "routes_json",
]

R = TypeVar("R")
"""The form of a route: its JSON when it is written, `TopicRouteData` when it is described or read."""


class RouteAt(Struct, frozen=True):
    """The route of a topic at one name server, at a time."""

    namesrv: str
    at: int
    """Wall ms."""
    knowledge: Knowledge
    knows_up_to: int | None
    route: TopicRouteData | None
    uncertain: Sequence["UncertainChange"] = ()
    """Changes of the route that may have happened before this time or after it, in order."""


class UncertainChange(Struct, frozen=True):
    """A change of a route that an observer recorded."""

    at: int
    """Wall ms of the end of its window."""
    window_ms: int
    cause: str
    route: TopicRouteData | None
    """The route after it."""


def explain_knowledge(knowledge: Knowledge) -> str:
    """The text for a time with this knowledge."""
    return _KNOWLEDGE[knowledge]


def knows_up_to_text(knows_up_to: int | None, zone: Zone) -> str:
    """The time of a name server's last record, as text."""
    return "knows nothing yet" if knows_up_to is None else f"knows up to {shown(knows_up_to, zone)}"


def explanation_lines(explanation: Explanation, zone: Zone) -> Iterator[str]:
    """An explanation as lines: the cause, then the facts."""
    yield printable(f"{explanation.namesrv} at {shown(explanation.at, zone)}: {explanation.summary}")
    for fact in explanation.facts:
        when = "" if fact.at is None else f"  {shown_window(fact.at, fact.window_ms, zone)}"
        when += "" if fact.until is None else f" to {shown(fact.until, zone)}"
        yield printable(f"  - {fact.text}{when}")
    yield f"  ({knows_up_to_text(explanation.knows_up_to, zone)})"


class FactValue(Struct, frozen=True, kw_only=True):
    """A fact in JSON; a fact without a time has no `at_iso`."""

    text: str
    at: int | None
    """Wall ms."""
    until: int | UnsetType = UNSET
    """The end of a period that begins at `at`, not included."""
    window_ms: int | UnsetType = UNSET
    """The fact happened at most so long before `at`."""
    at_iso: str | UnsetType = UNSET
    until_iso: str | UnsetType = UNSET


class ExplanationValue(Struct, frozen=True, kw_only=True):
    """The cause at one name server, in JSON."""

    namesrv: str
    topic: str
    at: int
    """Wall ms."""
    knows_up_to: int | None
    """Wall ms of the last instant that the records tell about."""
    verdict: Verdict
    summary: str
    facts: list[FactValue]
    at_iso: str
    knows_up_to_iso: str | UnsetType = UNSET


class ChangeValue(Struct, Generic[R], frozen=True, kw_only=True):
    """A change of a route that may have happened before a time, in JSON."""

    at: int
    """Wall ms of the end of its window."""
    window_ms: int | UnsetType
    cause: str
    at_iso: str
    route: R | None


class RouteValue(Struct, Generic[R], frozen=True, kw_only=True):
    """The route of a topic at one name server, in JSON."""

    namesrv: str
    at: int
    """Wall ms."""
    knows_up_to: int | None
    """Wall ms of the last instant that the records tell about."""
    at_iso: str
    knows_up_to_iso: str | UnsetType = UNSET
    knowledge: Knowledge
    route: R | None
    """As request 105 answers it in the standard form; null: it had no route, or that is not known."""
    uncertain: list[ChangeValue[R]] | UnsetType = UNSET
    """Changes that may have happened before this time or after it, in order."""


def explanations_json(explanations: Sequence[Explanation]) -> str:
    """Explanations as JSON; each time in ms and as ISO 8601."""
    return _text(explanation_values(explanations))


def explanation_values(explanations: Sequence[Explanation]) -> list[ExplanationValue]:
    """Explanations as values for JSON; each time in ms and as ISO 8601."""
    return [
        ExplanationValue(
            namesrv=each.namesrv,
            topic=each.topic,
            at=each.at,
            knows_up_to=each.knows_up_to,
            verdict=each.verdict,
            summary=each.summary,
            facts=[_fact_value(fact) for fact in each.facts],
            at_iso=iso_text(each.at),
            knows_up_to_iso=_iso(each.knows_up_to),
        )
        for each in explanations
    ]


def _fact_value(fact: Fact) -> FactValue:
    return FactValue(
        text=fact.text,
        at=fact.at,
        until=UNSET if fact.until is None else fact.until,
        window_ms=fact.window_ms or UNSET,
        at_iso=_iso(fact.at),
        until_iso=_iso(fact.until),
    )


def routes_json(routes: Sequence[RouteAt]) -> str:
    """Routes as JSON, TopicRouteData as request 105 answers it in the standard form."""
    return _text(route_values(routes))


def route_values(routes: Sequence[RouteAt]) -> list[RouteValue[Raw]]:
    """Routes as values for JSON; each time in ms and as ISO 8601."""
    return [
        RouteValue(
            namesrv=each.namesrv,
            at=each.at,
            knows_up_to=each.knows_up_to,
            at_iso=iso_text(each.at),
            knows_up_to_iso=_iso(each.knows_up_to),
            knowledge=each.knowledge,
            route=None if each.route is None else route_value(each.route),
            uncertain=[_change_value(change) for change in each.uncertain] or UNSET,
        )
        for each in routes
    ]


def _change_value(change: UncertainChange) -> ChangeValue[Raw]:
    return ChangeValue(
        at=change.at,
        window_ms=change.window_ms or UNSET,
        cause=change.cause,
        at_iso=iso_text(change.at),
        route=None if change.route is None else route_value(change.route),
    )


def route_value(route: TopicRouteData) -> Raw:
    """TopicRouteData as request 105 answers it in the standard form."""
    return Raw(encode_topic_route(route, standard=True))


_KNOWLEDGE = {
    Knowledge.KNOWN: "known",
    Knowledge.UNKNOWN: "unknown, because records were lost",
    Knowledge.NOT_YET: "not known yet",
    Knowledge.BEFORE: "the journal begins later",
    Knowledge.STOPPED: "the name server was not running",
}


def _iso(ms: int | None) -> str | UnsetType:
    return UNSET if ms is None else iso_text(ms)


def _text(value: object) -> str:
    return printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
