"""The message that a receiver gets: a document for programs, and texts for people."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from namekeeper.answers.times import Zone, iso_text, shown_period, shown_start
from namekeeper.notifications.incident_facts import IncidentFacts, plain, summary
from namekeeper.notifications.receivers import IncidentSeverity

__all__ = [
    "EVENTS_LIMIT",
    "EventKind",
    "IncidentEvent",
    "Message",
    "body_of",
    "link_of",
    "schema",
    "title_of",
]

EVENTS_LIMIT = 500
"""Most events in one message."""
LINES_LIMIT = 10
"""Most incidents in the text of one message; the others are counted."""


class EventKind(StrEnum):
    """Opened or closed: events of one incident alternate."""

    OPENED = "opened"
    CLOSED = "closed"


class IncidentEvent(Struct, frozen=True, kw_only=True):
    """An incident opened or closed."""

    event: Annotated[EventKind, Meta(description="opened, or closed.")]
    incident: Annotated[str, Meta(description="Id of the incident, the same in all its events.")]
    sequence: Annotated[
        int,
        Meta(
            ge=1,
            description="Number of the event among those of the incident for this receiver. A message that"
            " is repeated has the same id and number.",
        ),
    ]
    severity: Annotated[IncidentSeverity, Meta(description="info, warning or critical.")]
    link: Annotated[
        str, Meta(description="Address of the incident's view on the page; empty: the page is not known.")
    ] = ""
    facts: Annotated[IncidentFacts, Meta(description="The facts of the incident.")]


class Message(Struct, frozen=True, kw_only=True):
    """One message to one receiver."""

    version: Annotated[Literal[1], Meta(description="Version of this document.")] = 1
    message: Annotated[str, Meta(description="Id of the message; a repeated message has the same.")]
    receiver: Annotated[str, Meta(description="Name of the receiver in the settings.")]
    created: Annotated[str, Meta(description="When the message was made, ISO 8601.")]
    is_test: Annotated[bool, Meta(description="Whether `namekeeper messages test` sent it.")] = False
    page: Annotated[str, Meta(description="Address of the page; empty: not known.")] = ""
    events: Annotated[
        list[IncidentEvent],
        Meta(description="In order; several if incidents were folded. Empty in a test."),
    ]


def link_of(page: str, incident: str, from_ts: int) -> str:
    """The address of an incident's view. No name from the network is in it.

    Args:
        page: address of the page; empty: not known, and so is the view's.
        incident: its id.
        from_ts: its start, wall ms: an id is found among the incidents that began about then.
    """
    base = page.partition("#")[0]
    if not base:
        return ""
    joint = "&" if "?" in base else "?"
    return f"{base}{joint}view=incident&id={incident}&began={iso_text(from_ts)}"


def schema() -> bytes:
    """The JSON schema of the document."""
    found = msgspec.json.schema(Message)
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Message of Namekeeper",
        **found,
    }
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2) + b"\n"


def title_of(message: Message) -> str:
    """The subject of a mail, or the first line of a chat."""
    if message.is_test:
        return "Namekeeper: test"
    last = _last_events(message.events)
    if len(last) == 1:
        return _line(last[0])
    worst = max((each.severity for each in last), key=lambda each: each.rank)
    still = sum(each.event is EventKind.OPENED for each in last)
    return f"[{worst}] {len(last)} incidents: {still} open, {len(last) - still} over"


def body_of(message: Message, zone: Zone) -> str:
    """The text for people, several lines."""
    return "\n".join(_lines(message, zone))


def _lines(message: Message, zone: Zone) -> Iterator[str]:
    if message.is_test:
        yield f"This is a test of the receiver {message.receiver}. Nothing is wrong."
    last = _last_events(message.events)
    if len(last) == 1:
        yield from _details(last[0], zone)
    else:
        for each in last[:LINES_LIMIT]:
            yield _line(each)
            yield f"  {_period(each.facts, zone)}{_why(each.facts)}"
        if len(last) > LINES_LIMIT:
            yield f"and {len(last) - LINES_LIMIT} more"
    link = last[0].link if len(last) == 1 else ""
    if link or message.page:
        yield f"page: {link or message.page}"
    if len(last) == 1:
        yield f"incident {last[0].incident}, number {last[0].sequence}"
    else:
        yield f"message {message.message}"


def _details(event: IncidentEvent, zone: Zone) -> Iterator[str]:
    facts = event.facts
    comma = "," if _has_windows(facts) else ""
    yield f"{facts.what}{comma} {_period(facts, zone)}"
    if facts.is_forgotten:
        yield "it is not expected any more"
    if facts.is_withdrawn:
        yield "later records explain it otherwise: see `namekeeper incidents`"
    yield f"cause: {facts.why or 'not known'}"
    if facts.cost:
        yield f"cost: {facts.cost}"
    if facts.cluster is not None:
        yield f"cluster: {_plain_list([facts.cluster])}"
    if facts.seen_by:
        yield f"name servers: {_plain_list(facts.seen_by)}"


def _line(event: IncidentEvent) -> str:
    is_open = event.event is EventKind.OPENED
    return f"[{event.severity if is_open else 'over'}] {summary(event.facts, is_open=is_open)}"


def _period(facts: IncidentFacts, zone: Zone) -> str:
    start = facts.from_ts, facts.from_window_ms
    if facts.to_ts is None:
        return shown_start(*start, zone)
    period = shown_period(start, (facts.to_ts, facts.to_window_ms), zone)
    return f"{'began' if _has_windows(facts) else 'from'} {period}"


def _has_windows(facts: IncidentFacts) -> bool:
    return bool(facts.from_window_ms or facts.to_window_ms)


def _why(facts: IncidentFacts) -> str:
    return f", {facts.why}" if facts.why else ""


def _plain_list(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names))


def _last_events(events: Sequence[IncidentEvent]) -> list[IncidentEvent]:
    """The last event of each incident: of one that opened and closed, people need the end only."""
    last = {each.incident: each for each in events}
    return list(last.values())
