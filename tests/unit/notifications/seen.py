"""Incidents and receivers that tests write by hand."""

from typing import Any

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.notifications.incident_facts import SeenIncident
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome, Outbox
from namekeeper.notifications.receivers import NotificationSettings, Receiver, SecretSource, SendBy
from namekeeper.notifications.tracking import SeenIncidents

__all__ = [
    "ACKNOWLEDGED",
    "FAILED",
    "REFUSED",
    "START",
    "found",
    "receiver",
    "seen",
    "sent_until_quiet",
    "settings_of",
    "started",
]

START = 1_800_000_000_000
"""The first instant of a test, wall ms."""
ACKNOWLEDGED = AttemptOutcome(AttemptEnd.ACKNOWLEDGED)
FAILED = AttemptOutcome(AttemptEnd.FAILED, "HTTP 500")
REFUSED = AttemptOutcome(AttemptEnd.REFUSED, "HTTP 400")


def found(
    name: str = "broker-a", from_ts: int = START, to_ts: int | None = None, **more: Any
) -> FoundIncident:
    values = {
        "kind": IncidentKind.BROKER_AWAY, "cluster": "c", "subject": name, "cause": "channel_closed", "peer": None,
        "brokers": 1, "broker_names": [name], "topics": 0, "first_topic": None, "name_servers": [], **more,
    }  # fmt: skip
    return FoundIncident(from_ts=from_ts, to_ts=to_ts, **values)


def seen(
    *incidents: FoundIncident, up_to: int, namesrvs: tuple[str, ...] = ("ns1", "ns2"), **more: Any
) -> SeenIncidents:
    return SeenIncidents(up_to, [SeenIncident(each, namesrvs) for each in incidents], **more)


def receiver(name: str = "ops", **more: Any) -> Receiver:
    values = {"send_by": SendBy.WEBHOOK, "url": SecretSource(env="URL"), **more}
    return Receiver(name=name, **values)


def settings_of(*receivers: Receiver, **more: Any) -> NotificationSettings:
    return NotificationSettings(outbox="outbox", receivers=receivers or (receiver(),), **more)


def started(settings: NotificationSettings, *incidents: FoundIncident, now: int = START) -> Outbox:
    """An outbox that saw these incidents at its start."""
    outbox = Outbox()
    outbox.tracking.see(seen(*incidents, up_to=now), now)
    outbox.plan(settings, now)
    return outbox


def sent_until_quiet(
    outbox: Outbox, settings: NotificationSettings, now: int, name: str = "ops"
) -> list[Any]:
    """The messages that a receiver gets now, each of which it acknowledges."""
    (to,) = (each for each in settings.receivers if each.name == name)
    found = []
    while (message := outbox.next_message(to, settings, now)) is not None:
        outbox.finish(name, ACKNOWLEDGED, now)
        found.append(message)
    return found
