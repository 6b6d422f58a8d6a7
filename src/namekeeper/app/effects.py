"""What follows from a change: log lines, counters, notifications to brokers. The one place that decides it."""

from collections.abc import Callable

from namekeeper.app.log_lines import log_change
from namekeeper.route.events import (
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    Cause,
    Change,
    KvChanged,
    MinBrokerIdChanged,
    TopicQueuesChanged,
)

__all__ = ["EffectCounters", "Effects"]


class EffectCounters:
    """Plain integers for /metrics: what happened to the tables since the start."""

    __slots__ = ("gone", "heartbeats", "kv_changes", "min_id_changes", "registrations", "topic_changes")

    def __init__(self) -> None:
        self.heartbeats = 0
        """Signs of life that changed nothing else."""
        self.registrations = 0
        """Live registrations that began."""
        self.topic_changes = 0
        """Topic rows that are new, different or gone."""
        self.kv_changes = 0
        self.min_id_changes = 0
        self.gone: dict[Cause, int] = {
            cause: 0
            for cause in (Cause.UNREGISTER, Cause.EXPIRED, Cause.CHANNEL_CLOSED, Cause.REPLACED, Cause.STALE)
        }
        """Live registrations that ended, by the reason."""


class Effects:
    """Carries out what follows from changes."""

    def __init__(self, notify: Callable[[MinBrokerIdChanged], None]) -> None:
        self.counters = EffectCounters()
        self._notify = notify

    def apply(self, change: Change) -> None:
        """Count, log and tell others."""
        for event in change.events:
            match event:
                case BrokerHeard():
                    self.counters.heartbeats += 1
                case BrokerLiveChanged():
                    self.counters.registrations += event.is_new
                case BrokerLiveGone():
                    self.counters.gone[event.reason] += 1
                case TopicQueuesChanged():
                    self.counters.topic_changes += len(event.topics)
                case KvChanged():
                    self.counters.kv_changes += 1
                case MinBrokerIdChanged():
                    self.counters.min_id_changes += 1
                    self._notify(event)
                case _:
                    pass
        if change.cause is not Cause.HEARTBEAT:
            log_change(change)
