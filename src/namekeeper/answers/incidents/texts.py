"""Incidents as text and as JSON."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from namekeeper.answers.incidents.deviation import Deviation, deviation_text
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.phrases import CLOSED_BY
from namekeeper.answers.times import Zone, iso_text, shown_period, shown_start
from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.common.printable import printable

__all__ = ["NAMES_SHOWN", "IncidentValue", "cause_text", "incident_line", "incident_value", "what", "why"]

NAMES_SHOWN = 3
"""Names of brokers or name servers in a line; the others are counted."""
_CAUSES = {
    "expired": "silent for too long",
    "channel_closed": "connection closed",
    "unregister_broker": "unregistered",
    "replaced": "replaced by another address or name",
    "stale_registration": "older registration refused",
    "changed": "another registration took its place",
    "checkpoint": "a checkpoint did not name it",
    "unknown": "records were lost",
    "observed": "",
    "wipe_write_perm": "write permission wiped",
    "add_write_perm": "write permission added",
    "register_broker": "registered otherwise by its broker",
    "register_topic": "registered by hand",
    "delete_topic": "topic deleted",
    "put_kv_config": "KV entry put",
    "delete_kv_config": "KV entry deleted",
    "stopped": "stopped",
    "no_stop": "ended without being stopped",
}
"""Cause -> text."""
_ASKED = frozenset(
    {
        "unregister_broker",
        "wipe_write_perm",
        "add_write_perm",
        "delete_topic",
        "register_topic",
        "put_kv_config",
        "delete_kv_config",
    }
)
"""Causes that are requests of somebody; for the others the peer is the broker itself."""


def what(incident: FoundIncident) -> str:
    """The kind of incident, and its subject."""
    return _WHAT[incident.kind](incident, _some(_names(incident)))


def why(incident: FoundIncident) -> str:
    """The cause of an incident, with the peer that asked for it; empty: not known."""
    if incident.drift:
        return incident.drift[0].why
    return cause_text(incident.cause, incident.peer, incident.closed_by)


def cause_text(cause: str | None, peer: str | None, closed_by: str | None) -> str:
    """A cause, with the peer that asked for it; empty: not known.

    Args:
        cause: of a change; None: not known.
        peer: that asked for it; None: not known.
        closed_by: for a closed connection, why it closed.
    """
    cause = cause or ""
    text = _CAUSES.get(cause, cause.replace("_", " "))
    if closed_by:
        text = f"{text}: {CLOSED_BY.get(closed_by, closed_by)}"
    return f"{text} by {peer}" if peer and cause in _ASKED else text


def incident_line(incident: FoundIncident, now: int, zone: Zone) -> str:
    """One line: what, since when, for how long, why, and what went along.

    Args:
        incident: one that is open, or over.
        now: the last instant that is known, wall ms.
        zone: the reader's.
    """
    start = incident.from_ts, incident.from_window_ms or 0
    lasted = shown_duration((now if incident.to_ts is None else incident.to_ts) - incident.from_ts)
    for_long = f"{shown_start(*start, zone)} ({lasted})"
    if incident.to_ts is not None:
        for_long = f"{shown_period(start, (incident.to_ts, incident.to_window_ms or 0), zone)} ({lasted})"
    if incident.is_forgotten:
        for_long += ", then not expected any more"
    planned = f"planned: window {incident.planned}" if incident.planned else ""
    parts = [what(incident), for_long, why(incident), cost(incident), planned]
    return printable("  ".join(part for part in parts if part))


def cost(incident: FoundIncident) -> str:
    """The topics that went along, and the lookups of them in vain; empty: none."""
    parts: list[str] = []
    if incident.topics and incident.kind not in _OF_TOPICS:
        others = f" and {incident.topics - 1:,} more" if incident.topics > 1 else ""
        parts.append(f"without a queue to write to: {incident.first_topic}{others}")
    if incident.lookups:
        parts.append(f"{shown_count(incident.lookups, 'lookup')} in vain")
    return ", ".join(parts)


class DeviationWithText(Deviation, frozen=True, kw_only=True):
    """A deviation in JSON."""

    text: str


class DriftFactValue(Struct, frozen=True):
    """A verdict on what name servers disagree about, in JSON."""

    kind: str
    text: str
    why: str
    topics: tuple[str, ...]


class IncidentValue(
    FoundIncident, kw_only=True, rename={"still_open": "is_open", "begin": "from", "end": "to"}
):
    """An incident in JSON; each time in ms and as ISO 8601."""

    deviations: list[DeviationWithText]  # type: ignore[assignment] # none is added to it
    drift: list[DriftFactValue]  # type: ignore[assignment] # none is added to it
    still_open: bool
    begin: str
    end: str | None
    what: str
    why: str


def incident_value(incident: FoundIncident) -> IncidentValue:
    """An incident as a value for JSON."""
    to_ts = incident.to_ts
    deviations = [
        DeviationWithText(**structs.asdict(each), text=deviation_text(each)) for each in incident.deviations
    ]
    drift = [DriftFactValue(each.kind, str(each.text), each.why, each.topics) for each in incident.drift]
    members = {**structs.asdict(incident), "deviations": deviations, "drift": drift}
    return IncidentValue(
        **members,
        still_open=incident.is_open,
        begin=iso_text(incident.from_ts),
        end=None if to_ts is None else iso_text(to_ts),
        what=what(incident),
        why=why(incident),
    )


_OF_TOPICS = frozenset({IncidentKind.TOPIC_UNWRITABLE, IncidentKind.TOPIC_DELETED})
"""Kinds whose topics are their subject."""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{', '.join(names[:NAMES_SHOWN])}{more}"


def _names(incident: FoundIncident) -> Sequence[str]:
    """The broker names; of a name whose master did not go, with the ids of the slaves that did."""
    if not incident.broker_ids:
        return incident.broker_names
    return [
        name if 0 in ids else f"{name} (id {', '.join(map(str, ids))})"
        for name, ids in zip(incident.broker_names, incident.broker_ids, strict=True)
    ]


def _brokers(incident: FoundIncident, names: str, word: str) -> str:
    is_told = incident.brokers == len(incident.broker_names)
    return f"{names} {word}" + ("" if is_told else f" ({shown_count(incident.brokers, 'broker')})")


def _of_names(incident: FoundIncident) -> str:
    """The number of broker names, if it is not that of the brokers: a master and its slaves share a name."""
    names = len(incident.broker_names)
    return "" if incident.brokers == names else f" of {shown_count(names, 'name')}"


def _deviations(incident: FoundIncident) -> str:
    others = len(incident.deviations) - 1
    return deviation_text(incident.deviations[0]) + (f", and {others:,} more such" if others else "")


def _verdicts(incident: FoundIncident) -> str:
    others = len(incident.drift) - 1
    return str(incident.drift[0].text) + (f", and {others:,} more such" if others else "")


def _topics(incident: FoundIncident) -> str:
    others = f" and {incident.topics - 1:,} more" if incident.topics > 1 else ""
    planned = f" (and {incident.planned_topics:,} planned)" if incident.planned_topics else ""
    return f"{incident.first_topic or incident.subject}{others}{planned}"


_WHAT: Mapping[IncidentKind, Callable[[FoundIncident, str], str]] = {
    IncidentKind.BROKER_AWAY: lambda incident, names: _brokers(incident, names, "away"),
    IncidentKind.MASS_DISCONNECT: lambda incident, names: (
        f"{incident.brokers} brokers{_of_names(incident)} went together: {names}"
    ),
    IncidentKind.BROKER_UNREGISTERED: lambda incident, names: _brokers(incident, names, "unregistered"),
    IncidentKind.PERMISSION_WIPED: lambda _, names: f"permission to write to {names} wiped",
    IncidentKind.TOPIC_UNWRITABLE: lambda incident, _: f"{_topics(incident)} without a queue to write to",
    IncidentKind.TOPIC_DELETED: lambda incident, _: f"{_topics(incident)} deleted, and clients ask for it",
    IncidentKind.NAME_SERVER_DOWN: lambda incident, _: f"name server {incident.subject} down",
    IncidentKind.DRIFT: lambda incident, _: _verdicts(incident),
    IncidentKind.DEVIATION: lambda incident, _: _deviations(incident),
}
