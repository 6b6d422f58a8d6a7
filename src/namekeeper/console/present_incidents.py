"""The incidents of the present and the recent past, out of the histories that the page follows."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from namekeeper.answers.incidents.deviation import deviation_text
from namekeeper.answers.incidents.incident import incidents_by_cluster
from namekeeper.answers.incidents.lost_topics import topics_of_incidents
from namekeeper.answers.incidents.texts import cost, what, why
from namekeeper.clock import Clock
from namekeeper.common.expected import TOGETHER_MS
from namekeeper.console.computed import Computed
from namekeeper.console.histories import Followed, Histories
from namekeeper.drift.incidents import PresentDrift, present_drift, with_drift
from namekeeper.expected.incidents import ByCluster, ExpectedFile
from namekeeper.expected.maintenance import MaintenanceWindow
from namekeeper.notifications.incident_facts import SeenIncident, facts_of
from namekeeper.notifications.tracking import incident_id

__all__ = ["PresentIncidents", "computed_drift", "present_incidents"]

OPEN_LIMIT, RECENT_LIMIT = 50, 20
"""Incidents that are sent of those that are open, and of those that are over; the others are counted."""
NAMES_LIMIT = 20
"""Broker names that are sent of an incident, and names of each kind in a maintenance window."""
LONG_AGO_MS = 60_000
"""If the last known instant is so far back, the page is about the past: it shows windows of then, too."""
DETAILS_LIMIT = 20
"""Deviations, or verdicts, that are sent of an incident; the others are counted."""


class PresentIncidents:
    """The incidents of the present; computed again after a while.

    Args:
        histories: what the page shows; callers hold their lock.
        clock: tells the present.
        drift: gives what the name servers disagree about now.
        expected: what must be there, and what is planned; None: nothing is.
    """

    def __init__(
        self,
        histories: Histories,
        clock: Clock,
        drift: Callable[[], PresentDrift],
        expected: ExpectedFile | None = None,
    ) -> None:
        self._expected, self._clock = expected, clock
        self._computed = Computed(lambda: _found_in(histories.followed, drift(), expected), clock)

    @property
    def is_due(self) -> bool:
        """Whether the next look at them computes them."""
        return self._computed.is_due

    def expire(self) -> None:
        """Have the next look compute them: what is planned has changed."""
        self._computed.expire()

    def value(self) -> dict[str, Any]:
        """The incidents for JSON: those that are open, worst first, and those that are over, newest first."""
        found = self._computed.value()
        windows = () if self._expected is None else self._expected.windows
        now = self._clock.now().wall_ms
        instants = (now, found.up_to) if found.up_to < now - LONG_AGO_MS else (now,)
        return {
            **_value(found.incidents),
            "windows": [
                _window_value(each) for each in windows if any(each.begin <= at < each.end for at in instants)
            ],
            "since": found.since,
            "up_to": found.up_to,
        }

    def one(self, id_: str, began: int) -> dict[str, Any]:
        """One incident for JSON, or those that began at nearly the same time if none has its id.

        Later records may move the start of an incident, and then its id.

        Args:
            id_: its id, as a message has it.
            began: its start, as a message has it, wall ms.
        """
        found = self._computed.value()
        near = [each for each in found.incidents if abs(each.incident.from_ts - began) <= TOGETHER_MS]
        exact = [each for each in near if _id_of(each) == id_]
        return {
            "rows": [_incident_value(each) for each in (exact or near)[:OPEN_LIMIT]],
            "is_exact": bool(exact),
            "since": found.since,
            "up_to": found.up_to,
        }

    def open_ones(self) -> list[SeenIncident]:
        """The incidents that are open."""
        return [each for each in self._computed.value().incidents if each.incident.is_open]


class _FoundIncidents(Struct, frozen=True):
    """The incidents of all clusters by their starts, and between which instants they were looked for."""

    incidents: Sequence[SeenIncident]
    since: int | None
    up_to: int


def computed_drift(histories: Histories, clock: Clock) -> Computed[PresentDrift]:
    """The drift of the present, computed again after a while for all that ask.

    Args:
        histories: what is shown or followed; callers of its `value` hold their lock.
        clock: tells the present.
    """
    return Computed(lambda: present_drift([each.history for each in histories.followed]), clock)


def _found_in(
    every: Sequence[Followed], drift: PresentDrift, expected: ExpectedFile | None
) -> _FoundIncidents:
    by_cluster, up_to = present_incidents(every, drift, expected)
    found = [SeenIncident(each, namesrvs) for namesrvs, some in by_cluster for each in some]
    found.sort(key=lambda each: each.incident.from_ts)
    since = max((each.history.knows_from or 0 for each in every), default=0) or None
    return _FoundIncidents(found, since, up_to)


def _value(found: Sequence[SeenIncident]) -> dict[str, Any]:
    is_open = sorted(
        (each for each in found if each.incident.is_open),
        key=lambda each: (bool(each.incident.planned), -each.incident.topics, each.incident.from_ts),
    )
    over = [each for each in reversed(found) if not each.incident.is_open]
    return {
        "open": [_incident_value(each) for each in is_open[:OPEN_LIMIT]],
        "open_total": len(is_open),
        "recent": [_incident_value(each) for each in over[:RECENT_LIMIT]],
        "recent_total": len(over),
    }


def present_incidents(
    every: Sequence[Followed], drift: PresentDrift, expected: ExpectedFile | None = None
) -> tuple[ByCluster, int]:
    """The incidents of each cluster, see `incidents_by_cluster`, and the last instant that counts.

    Args:
        every: the histories.
        drift: what their name servers disagree about.
        expected: what must be there, and what is planned; None: nothing is.
    """
    ends = {each.history.namesrv: each.history.knows_up_to or 0 for each in every}
    # One that is silent, or can't be observed, is known up to an earlier time than the others.
    current = [ends[each.history.namesrv] for each in every if each.is_current]
    for each in every:
        if each.is_current:
            ends[each.history.namesrv] = min(current)
    horizon = max(ends.values(), default=0)
    finders = [each.incident_topics for each in every]
    for each in every:
        each.incident_topics.up_to = ends[each.history.namesrv]
    topics = topics_of_incidents(finders, horizon)
    histories = [each.history for each in every]
    by_cluster = with_drift(incidents_by_cluster(histories, topics, ends), drift.incidents)
    if expected is not None:
        by_cluster = expected.applied(by_cluster, histories, ends)
    return by_cluster, horizon


def _id_of(seen: SeenIncident) -> str:
    return incident_id(facts_of(seen), seen.namesrvs)


def _window_value(window: MaintenanceWindow) -> dict[str, Any]:
    of_kind = {kind: getattr(window.scope, kind) for kind in window.scope.__struct_fields__}
    return {
        "id": window.id,
        "begin": window.begin,
        "end": window.end,
        "who": window.who,
        "why": window.why,
        "scope": {kind: [*names[:NAMES_LIMIT]] for kind, names in of_kind.items() if names},
        "more": sum(max(len(names) - NAMES_LIMIT, 0) for names in of_kind.values()),
    }


def _incident_value(seen: SeenIncident) -> dict[str, Any]:
    each = seen.incident
    return {
        "id": _id_of(seen),
        "kind": each.kind,
        "what": what(each),
        "why": why(each),
        "cost": cost(each),
        "from_ts": each.from_ts,
        "from_window_ms": each.from_window_ms or 0,
        "to_ts": each.to_ts,
        "to_window_ms": each.to_window_ms or 0,
        "is_forgotten": each.is_forgotten,
        "broker_names": each.broker_names[:NAMES_LIMIT],
        "planned": each.planned,
        "details": [deviation_text(one) for one in each.deviations[:DETAILS_LIMIT]]
        or [str(one.text) for one in each.drift[:DETAILS_LIMIT]],
        "detail_count": len(each.deviations) or len(each.drift),
        "first_topic": each.first_topic,
        "topics": each.topics,
        "name_servers": each.name_servers[:NAMES_LIMIT],
    }
