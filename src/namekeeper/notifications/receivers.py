"""Receivers, and the incidents that each of them gets: by severity, kind, cluster, name server and time."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from enum import StrEnum
from fnmatch import fnmatchcase

from msgspec import Struct

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.times import Zone
from namekeeper.notifications.incident_facts import IncidentFacts

__all__ = [
    "IncidentSeverity",
    "NotificationSettings",
    "QuietHours",
    "Receiver",
    "SecretSource",
    "SendBy",
    "is_wanted",
    "severity_of",
]

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]):([0-5]\d)")


class IncidentSeverity(StrEnum):
    """How bad an incident is, from the least to the worst."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The number in the order, from 0 on."""
        return _ORDER.index(self)


_ORDER = (IncidentSeverity.INFO, IncidentSeverity.WARNING, IncidentSeverity.CRITICAL)
_SEVERITIES = {
    IncidentKind.BROKER_AWAY: IncidentSeverity.WARNING,
    IncidentKind.MASS_DISCONNECT: IncidentSeverity.CRITICAL,
    IncidentKind.BROKER_UNREGISTERED: IncidentSeverity.INFO,
    IncidentKind.PERMISSION_WIPED: IncidentSeverity.WARNING,
    IncidentKind.TOPIC_UNWRITABLE: IncidentSeverity.CRITICAL,
    IncidentKind.TOPIC_DELETED: IncidentSeverity.WARNING,
    IncidentKind.NAME_SERVER_DOWN: IncidentSeverity.WARNING,
    IncidentKind.DRIFT: IncidentSeverity.WARNING,
    IncidentKind.DEVIATION: IncidentSeverity.WARNING,
}
_TAKES_TOPICS = frozenset(IncidentKind) - {IncidentKind.TOPIC_UNWRITABLE, IncidentKind.TOPIC_DELETED}
"""Kinds that are critical if they take a topic's last queue to write to."""


class SendBy(StrEnum):
    """The way to a receiver."""

    WEBHOOK = "webhook"
    APPRISE = "apprise"


class SecretSource(Struct, frozen=True):
    """Where a secret is read from: one of both is given."""

    file: str = ""
    env: str = ""
    """Name of a variable of the environment."""


class QuietHours(Struct, frozen=True):
    """A time of each day, `begin` included; it may go over midnight."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> "QuietHours":
        """Read `22:00-07:00`.

        Raises:
            ValueError: it is no such time, or empty.
        """
        match = _HOURS.fullmatch(text.strip())
        if match is None or match.groups()[:2] == match.groups()[2:]:
            raise ValueError(f"{text!r} is no time of day: write it as 22:00-07:00")
        hours = [*map(int, match.groups())]
        return cls(time(hours[0], hours[1]), time(hours[2], hours[3]))

    def has(self, now: int, zone: Zone) -> bool:
        """Whether an instant is in it.

        Args:
            now: wall ms.
            zone: the zone of the times.
        """
        at = datetime.fromtimestamp(now / 1_000, UTC).astimezone(zone).time()
        if self.begin < self.end:
            return self.begin <= at < self.end
        return at >= self.begin or at < self.end


class Receiver(Struct, frozen=True, kw_only=True):
    """Somebody who gets notifications."""

    name: str
    """Letters, digits, `_`, `.` and `-`; it is in the outbox, in logs and in messages."""
    send_by: SendBy
    url: SecretSource
    token: SecretSource | None = None
    """Sent as bearer token to a webhook."""
    tls_ca: str = ""
    """A file with the authorities that sign the certificate of a webhook; empty: those of the system."""
    least: IncidentSeverity = IncidentSeverity.INFO
    kinds: frozenset[IncidentKind] = frozenset()
    """Empty: all."""
    clusters: tuple[str, ...] = ()
    """Patterns of RocketMQ's cluster names, as in `prod-*`; an incident of a name server has none."""
    name_servers: tuple[str, ...] = ()
    """Patterns of ids of name servers: one of its cluster matches."""
    quiet: QuietHours | None = None
    quiet_below: IncidentSeverity = IncidentSeverity.CRITICAL
    """In the quiet hours, incidents below it wait."""
    grace_ms: int = 5_000
    """An incident that is over within this time is not sent."""
    within_ms: int = 10_000
    """Time limit of one attempt."""
    most_per_minute: int = 10
    """Most messages in a minute; further incidents are folded into the next message."""


class NotificationSettings(Struct, frozen=True, kw_only=True):
    """All that decides who gets what."""

    outbox: str
    """Folder of the outbox."""
    receivers: tuple[Receiver, ...]
    page: str = ""
    """Address of the page for links; empty: none."""
    zone: Zone = UTC
    """Zone of times in texts, and of quiet hours."""
    severities: Mapping[IncidentKind, IncidentSeverity] = {}
    """Kind -> severity, where it is not the default."""

    def receiver(self, name: str) -> Receiver | None:
        """The receiver of a name."""
        return next((each for each in self.receivers if each.name == name), None)


def severity_of(
    facts: IncidentFacts, severities: Mapping[IncidentKind, IncidentSeverity]
) -> IncidentSeverity:
    """The severity of an incident: of its kind, but critical if a topic has no queue to write to.

    Args:
        facts: of the incident.
        severities: kind -> severity, where it is not the default; a kind that is given is never raised.
    """
    given = severities.get(facts.kind)
    if given is not None:
        return given
    if facts.topics and facts.kind in _TAKES_TOPICS:
        return IncidentSeverity.CRITICAL
    return _SEVERITIES[facts.kind]


def is_wanted(receiver: Receiver, facts: IncidentFacts, severity: IncidentSeverity) -> bool:
    """Whether a receiver gets an incident at all."""
    if severity.rank < receiver.least.rank or (receiver.kinds and facts.kind not in receiver.kinds):
        return False
    if receiver.clusters and (facts.cluster is None or not _matches([facts.cluster], receiver.clusters)):
        return False
    about = facts.name_servers if facts.kind is IncidentKind.NAME_SERVER_DOWN else facts.seen_by
    return not receiver.name_servers or _matches(about, receiver.name_servers)


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
