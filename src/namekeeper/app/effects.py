"""The effects of a change: journal, log, counters, alarms, notifications. They are decided only here."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from namekeeper.access.peer import peer_at
from namekeeper.app.journaling import Journaling
from namekeeper.app.log_lines import log_change
from namekeeper.common.networks import IpNetwork
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.route.channel import Channel, ClosedBy
from namekeeper.route.commit import RegisterResult
from namekeeper.route.events import (
    BrokerHeard,
    BrokerLiveChanged,
    BrokerLiveGone,
    Cause,
    Change,
    ConfigChanged,
    KvChanged,
    MinBrokerIdChanged,
)
from namekeeper.route.removal import UnregisterResult
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["EffectCounters", "Effects", "unknown_network_alarm"]

log = logging.getLogger("namekeeper.namesrv")

ENDS = (Cause.UNREGISTER, Cause.EXPIRED, Cause.CHANNEL_CLOSED, Cause.REPLACED, Cause.STALE)
"""Reasons for which a live registration ends."""


class EffectCounters:
    """Counters of changes of the tables since the start, for /metrics."""

    __slots__ = (
        "closed_by", "from_unknown_networks", "gone", "heartbeats", "kept_out", "kv_changes", "registrations",
    )  # fmt: skip

    def __init__(self) -> None:
        self.heartbeats = 0
        """904, 322 and 103 that changed nothing but the time of the last heartbeat."""
        self.registrations = 0
        """Number of live registrations that started."""
        self.from_unknown_networks = 0
        """Number of those that came from outside of `brokerNetworks`."""
        self.kept_out = 0
        """Number of registrations and unregistrations that `protectBrokerNames` refused."""
        self.kv_changes = 0
        self.gone: dict[Cause, int] = dict.fromkeys(ENDS, 0)
        """Number of live registrations that ended, by reason."""
        self.closed_by: dict[str, int] = dict.fromkeys(ClosedBy, 0)
        """Number of those that ended with their connection, by `ClosedBy`."""


class Effects:
    """Carries out the effects of changes."""

    def __init__(
        self,
        journaling: Journaling,
        notify: Callable[[MinBrokerIdChanged], None],
        reconfigured: Callable[[Mapping[str, str]], None] = lambda _: None,
        watched: Callable[[Change], None] = lambda _: None,
        is_from_unknown_network: Callable[[BrokerLiveChanged], bool] = lambda _: False,
    ) -> None:
        """Prepare.

        Args:
            journaling: the journal.
            notify: informs brokers that the smallest id of their group has changed.
            reconfigured: gets the properties that have a new value.
            watched: gets every change, once it is recorded.
            is_from_unknown_network: checks each registration that starts.
        """
        self.counters = EffectCounters()
        self._notify = notify
        self._reconfigured = reconfigured
        self._watched = watched
        self._is_from_unknown_network = is_from_unknown_network
        self.journaling = journaling
        self._log_limit = LogLimit(log)

    def apply(self, change: Change) -> None:
        """Record, count, log and notify."""
        self.journaling.record(change)
        for event in change.events:
            effect = _EFFECTS.get(type(event))
            if effect is not None:
                effect(self, event)
        if change.cause is not Cause.HEARTBEAT:
            self._watched(change)
            log_change(change)

    def concluded(self, request: RemotingCommand, result: object, channel: Channel, user: str) -> None:
        """Log and record a peer that tried to replace, or to end, a live broker of another host.

        Args:
            request: the peer's request.
            result: the result of its change.
            channel: the peer's connection.
            user: the user with a valid signature on it; empty without one.
        """
        takeover = result.takeover if isinstance(result, RegisterResult | UnregisterResult) else ""
        if not takeover:
            return
        self.counters.kept_out += 1
        self.journaling.kept_out(request, channel, user)
        name = f"{RequestCode(request.code).name} ({request.code})"
        self._log_limit.log(logging.WARNING, "%s from %s is refused: %s", name, channel.remote_addr, takeover)

    def heard(self, _: BrokerHeard) -> None:
        """Count a heartbeat that changed nothing else."""
        self.counters.heartbeats += 1

    def live_changed(self, event: BrokerLiveChanged) -> None:
        """Count a registration that started."""
        self.counters.registrations += event.is_new
        if event.is_new and self._is_from_unknown_network(event):
            self.counters.from_unknown_networks += 1

    def live_gone(self, event: BrokerLiveGone) -> None:
        """Count a registration that ended."""
        self.counters.gone[event.reason] += 1
        if event.reason is Cause.CHANNEL_CLOSED:
            self.counters.closed_by[event.closed_by or ClosedBy.PEER] += 1

    def kv_changed(self, _: KvChanged) -> None:
        """Count a change of the KV configuration."""
        self.counters.kv_changes += 1

    def min_id_changed(self, event: MinBrokerIdChanged) -> None:
        """Notify the brokers of the group."""
        self._notify(event)

    def config_changed(self, event: ConfigChanged) -> None:
        """Pass the new values to the running parts."""
        self._reconfigured(event.properties)


_EFFECTS: dict[type, Callable[[Effects, Any], None]] = {
    BrokerHeard: Effects.heard,
    BrokerLiveChanged: Effects.live_changed,
    BrokerLiveGone: Effects.live_gone,
    KvChanged: Effects.kv_changed,
    MinBrokerIdChanged: Effects.min_id_changed,
    ConfigChanged: Effects.config_changed,
}


def unknown_network_alarm(networks: Iterable[IpNetwork]) -> Callable[[BrokerLiveChanged], bool]:
    """Return a check of new registrations: it logs and returns True if an address is in no network.

    It checks the connection's address and the address for clients. It checks neither host names, which it
    does not resolve, nor restored brokers, which have no connection.
    """
    known = tuple(networks)
    log_limit = LogLimit(log)

    def judge(event: BrokerLiveChanged) -> bool:
        if not known:
            return False
        outside = [addr for addr in (event.remote_addr, event.broker_addr) if _is_in_none(addr, known)]
        if outside:
            log_limit.log(
                logging.WARNING, "broker %s of %s at %s registered from %s: %s is in none of brokerNetworks",
                event.broker_name, event.cluster_name, event.broker_addr, event.remote_addr, outside[0],
            )  # fmt: skip
        return bool(outside)

    return judge


def _is_in_none(addr: str, networks: Iterable[IpNetwork]) -> bool:
    address = peer_at(addr).address
    return address is not None and not any(address in network for network in networks)
