"""Which incident of now is which of before: incidents get an id that stays, although history grows.

Incidents are derived again and again from histories that grow. A broker that follows another makes a mass
disconnect of an incident, a late record moves its start, and a broker that comes and goes opens it again.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, structs

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.common.expected import MEMORY_MS, TOGETHER_MS
from namekeeper.notifications.incident_facts import (
    NAME_CHARACTERS,
    IncidentFacts,
    SeenIncident,
    facts_of,
)

__all__ = ["INCIDENTS_LIMIT", "SeenIncidents", "TrackedIncident", "Tracking", "incident_id"]

INCIDENTS_LIMIT = 5_000
"""Most incidents that are tracked; those that are over are dropped first, oldest end first."""

_ALWAYS, _NEVER = -1, 1 << 62
_FAMILY = {
    IncidentKind.MASS_DISCONNECT: IncidentKind.BROKER_AWAY,
    IncidentKind.BROKER_UNREGISTERED: IncidentKind.BROKER_AWAY,
}
"""Kinds that an incident may change to while it is open."""
_OF_CAUSE = frozenset({IncidentKind.TOPIC_UNWRITABLE, IncidentKind.TOPIC_DELETED, IncidentKind.DRIFT})

Key = tuple[str, str, str]
"""Family of kinds, cluster name, and what else tells incidents of one time apart."""


class SeenIncidents(Struct, frozen=True):
    """The incidents of a time, as histories show them."""

    up_to: int
    """The last instant that is known, wall ms."""
    incidents: Sequence[SeenIncident]
    since: int = _ALWAYS
    """Incidents that began before it, wall ms, may be missing."""
    until: int = _NEVER
    """Incidents that began at it or later are not looked for, wall ms."""

    def looks_at(self, began: int) -> bool:
        """Whether an incident that began at this time, wall ms, would be among them."""
        return self.since <= began < self.until


class TrackedIncident(Struct, kw_only=True):
    """An incident with its id, and what was seen of it last."""

    id: str
    facts: IncidentFacts
    namesrvs: list[str]
    first_seen: int
    """Wall ms of our clock."""
    changed: int
    """The last change from open to over or back, wall ms of our clock."""

    @property
    def is_open(self) -> bool:
        """Whether it had not ended when it was looked at last."""
        return self.facts.to_ts is None

    @property
    def key(self) -> Key:
        """Incidents with different keys are never the same."""
        return _key(self.facts)


class Tracking(Struct):
    """All incidents that are tracked."""

    incidents: dict[str, TrackedIncident] = {}
    up_to: int | None = None
    """The last instant that was known when incidents were seen last, wall ms; None: never."""
    untracked: int = 0
    """Incidents that were not tracked when incidents were seen last, because there are too many."""

    def see(self, seen: SeenIncidents, now: int) -> bool:
        """Follow the incidents of now; returns whether one opened, closed or appeared.

        Args:
            seen: the incidents.
            now: wall ms.
        """
        has_changed = False
        matched, new = self._matched(seen)
        for tracked in [each for each in self.incidents.values() if seen.looks_at(each.facts.from_ts)]:
            has_changed |= self._follow(tracked, matched.get(tracked.id), seen, now)
        self.untracked = 0
        for each in new:
            has_changed |= self._add(each, now)
        has_changed |= self.up_to is None
        self.up_to = max(seen.up_to, self.up_to or 0)
        return has_changed

    def forget(self, now: int, is_needed: Callable[[str], bool]) -> None:
        """Drop incidents that are over for long, or are too many, and that nobody needs."""
        over = sorted(
            (each for each in self.incidents.values() if not each.is_open and not is_needed(each.id)),
            key=lambda each: each.changed,
        )
        excess = len(self.incidents) - INCIDENTS_LIMIT
        for number, each in enumerate(over):
            if number < excess or each.changed + MEMORY_MS < now:
                del self.incidents[each.id]

    def _matched(self, seen: SeenIncidents) -> tuple[dict[str, SeenIncident], list[SeenIncident]]:
        """The incident of now for each one of before, and those that are new."""
        of_key: dict[Key, list[SeenIncident]] = defaultdict(list)
        for each in sorted(seen.incidents, key=_began):
            if seen.looks_at(each.incident.from_ts) and not _was_always_so(each):
                of_key[_key(each.incident)].append(each)
        earlier = [each for each in self.incidents.values() if seen.looks_at(each.facts.from_ts)]
        pairs = sorted(
            (_difference(tracked, each), tracked.id, number)
            for tracked in earlier
            for number, each in _near(of_key.get(tracked.key, ()), tracked.facts.from_ts)
            if not set(tracked.namesrvs).isdisjoint(each.namesrvs)
        )
        matched: dict[str, SeenIncident] = {}
        taken: set[tuple[Key, int]] = set()
        for _, id_, number in pairs:
            key = self.incidents[id_].key
            if id_ not in matched and (key, number) not in taken:
                matched[id_] = of_key[key][number]
                taken.add((key, number))
        for tracked in earlier:  # of two that turned out to be one, both stay
            if tracked.id not in matched:
                host = next((each for each in of_key.get(tracked.key, ()) if _has(each, tracked)), None)
                if host is not None:
                    matched[tracked.id] = host
        new = [
            each
            for key, some in of_key.items()
            for number, each in enumerate(some)
            if (key, number) not in taken and self._is_new(each)
        ]
        return matched, sorted(new, key=_began)

    def _is_new(self, each: SeenIncident) -> bool:
        """Whether it is open, or ended after incidents were seen last."""
        to_ts = each.incident.to_ts
        return to_ts is None or (self.up_to is not None and to_ts > self.up_to)

    def _follow(
        self, tracked: TrackedIncident, found: SeenIncident | None, seen: SeenIncidents, now: int
    ) -> bool:
        was_open = tracked.is_open
        if found is not None:
            if not was_open and found.incident.to_ts == tracked.facts.to_ts:
                return False
            tracked.facts, tracked.namesrvs = facts_of(found), [*found.namesrvs]
        elif was_open:
            end = max(seen.up_to, tracked.facts.from_ts)
            tracked.facts = structs.replace(tracked.facts, to_ts=end, is_withdrawn=True)
        if was_open == tracked.is_open:
            return False
        tracked.changed = now
        return True

    def _add(self, found: SeenIncident, now: int) -> bool:
        if len(self.incidents) >= INCIDENTS_LIMIT:
            self.untracked += 1
            return False
        facts = facts_of(found)
        id_ = incident_id(facts, found.namesrvs)
        if id_ in self.incidents:  # the same of two clusters of name servers that became one
            return False
        self.incidents[id_] = TrackedIncident(
            id=id_, facts=facts, namesrvs=[*found.namesrvs], first_seen=now, changed=now
        )
        return True


def _key(one: FoundIncident | IncidentFacts) -> Key:
    kind = one.kind
    other = ""
    if kind is IncidentKind.NAME_SERVER_DOWN:
        other = one.subject
    elif kind is IncidentKind.DEVIATION:
        other = one.deviation or ""
    elif kind in _OF_CAUSE:
        other = one.cause or ""
    return _FAMILY.get(kind, kind), (one.cluster or "")[:NAME_CHARACTERS], other[:NAME_CHARACTERS]


def _was_always_so(found: SeenIncident) -> bool:
    """Whether topics could never be written to: each broker of RocketMQ 5 has a system topic of this kind."""
    return found.incident.kind is IncidentKind.TOPIC_UNWRITABLE and found.incident.cause is None


def _began(found: SeenIncident) -> int:
    return found.incident.from_ts


def _near(some: Sequence[SeenIncident], began: int) -> Iterator[tuple[int, SeenIncident]]:
    """The incidents, in order of their start, that began at nearly the same time, with their numbers."""
    first = bisect_left(some, began - TOGETHER_MS, key=_began)
    for number in range(first, bisect_right(some, began + TOGETHER_MS, key=_began)):
        yield number, some[number]


def _has(found: SeenIncident, tracked: TrackedIncident) -> bool:
    """Whether an incident of now contains one of before."""
    incident, began = found.incident, tracked.facts.from_ts
    end = _NEVER if incident.to_ts is None else incident.to_ts
    return incident.from_ts <= began <= end and not set(tracked.namesrvs).isdisjoint(found.namesrvs)


def _difference(tracked: TrackedIncident, found: SeenIncident) -> tuple[bool, int]:
    was_asked = tracked.facts.kind is IncidentKind.BROKER_UNREGISTERED
    is_asked = found.incident.kind is IncidentKind.BROKER_UNREGISTERED
    return was_asked != is_asked, abs(tracked.facts.from_ts - found.incident.from_ts)


def incident_id(facts: IncidentFacts, namesrvs: Iterable[str]) -> str:
    """An id that is the same wherever the same incident is seen first, so after the loss of an outbox."""
    key = _key(facts)
    is_asked = facts.kind is IncidentKind.BROKER_UNREGISTERED
    at = facts.name_servers if facts.kind is IncidentKind.DRIFT else ()
    text = "\0".join([*key, str(facts.from_ts), str(is_asked), min(namesrvs, default=""), *at])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
