"""What follows from a change: log lines, counters, notifications. The one place that decides it."""

from collections.abc import Callable, Mapping

from namekeeper.app.log_lines import log_change
from namekeeper.route.events import (
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    Cause,
    Change,
    ConfigChanged,
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
        self.gone: dict[Cause, int] = dict.fromkeys(
            (Cause.UNREGISTER, Cause.EXPIRED, Cause.CHANNEL_CLOSED, Cause.REPLACED, Cause.STALE), 0
        )
        """Live registrations that ended, by the reason."""


class Effects:
    """Carries out what follows from changes."""

    def __init__(
        self,
        notify: Callable[[MinBrokerIdChanged], None],
        reconfigured: Callable[[Mapping[str, str]], None] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            notify: tells brokers that the smallest id of their group is another one.
            reconfigured: told which properties have a new value.
        """
        self.counters = EffectCounters()
        self._notify = notify
        self._reconfigured = reconfigured

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
                case ConfigChanged():
                    self._reconfigured(event.properties)
                case _:
                    pass
        if change.cause is not Cause.HEARTBEAT:
            log_change(change)
