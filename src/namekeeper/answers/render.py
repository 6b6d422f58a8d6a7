"""Answers as text and as JSON; text has times in the reader's zone and in UTC."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from namekeeper.answers.times import Zone, iso_text, shown, shown_window
from namekeeper.answers.verdict import Explanation
from namekeeper.common.printable import printable, printable_json
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.messages.bodies import encode_topic_route
from namekeeper.model.route import TopicRouteData

__all__ = [
    "RouteAt",
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


def explanations_json(explanations: Sequence[Explanation]) -> str:
    """Explanations as JSON; each time in ms and as ISO 8601."""
    return _text(explanation_values(explanations))


def explanation_values(explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
    """Explanations as plain values; each time in ms and as ISO 8601."""
    return [_with_iso(msgspec.to_builtins(explanation)) for explanation in explanations]


def routes_json(routes: Sequence[RouteAt]) -> str:
    """Routes as JSON, TopicRouteData as request 105 answers it in the standard form."""
    return _text(route_values(routes))


def route_values(routes: Sequence[RouteAt]) -> list[dict[str, Any]]:
    """Routes as plain values; each time in ms and as ISO 8601."""
    return [
        {
            **_with_iso({"namesrv": each.namesrv, "at": each.at, "knows_up_to": each.knows_up_to}),
            "knowledge": each.knowledge,
            "route": None if each.route is None else route_value(each.route),
            **({"uncertain": [_change_value(change) for change in each.uncertain]} if each.uncertain else {}),
        }
        for each in routes
    ]


def _change_value(change: UncertainChange) -> dict[str, Any]:
    return {
        **_with_iso({"at": change.at, "window_ms": change.window_ms, "cause": change.cause}),
        "route": None if change.route is None else route_value(change.route),
    }


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


def _with_iso(value: dict[str, Any]) -> dict[str, Any]:
    times = {f"{name}_iso": iso_text(value[name]) for name in _TIMES if value.get(name) is not None}
    facts = [_with_iso(fact) for fact in value.get("facts", ())]
    if value.get("until", 0) is None:
        del value["until"]
    if not value.get("window_ms", 1):
        del value["window_ms"]
    return {**value, **times, **({"facts": facts} if "facts" in value else {})}


_TIMES = ("at", "until", "knows_up_to")


def _text(value: object) -> str:
    return printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
