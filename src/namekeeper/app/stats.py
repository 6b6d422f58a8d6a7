"""The data for operators of a running server: numbers, health, the address list."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from namekeeper import __version__
from namekeeper.app.effects import Effects
from namekeeper.app.housekeeping import Housekeeping
from namekeeper.app.logs import Logs
from namekeeper.app.requests import Requests
from namekeeper.app.tls_files import PortTls
from namekeeper.clock import Clock
from namekeeper.http.health import HealthState, Phase, health_of
from namekeeper.http.stats import CertificateStats, JournalStats, NameServerStats
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_settings import TlsMode
from namekeeper.route.events import Cause

if TYPE_CHECKING:
    from namekeeper.app.access import AccessControl  # only a server with rules needs it

__all__ = ["Operators", "ServerParts"]

EVERY_INTERFACE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
"""Addresses for listening that no client can connect to."""


TLS_REASONS = {"remoting": "tls", "http": "http_tls"}
"""Port that speaks TLS -> short name of a problem with its certificate."""


class ServerParts(Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a running server that its pages are about."""

    state: NameServerState
    requests: Requests
    effects: Effects
    server: RemotingServer
    housekeeping: Housekeeping
    tls: PortTls
    access: "AccessControl | None"
    logs: Logs | None


class Operators:
    """Answers the HTTP pages; costs nothing until then."""

    def __init__(self, parts: ServerParts, clock: Clock) -> None:
        self._state = parts.state
        self._requests = parts.requests
        self._effects = parts.effects
        self._server = parts.server
        self._housekeeping = parts.housekeeping
        self._journaling = parts.effects.journaling
        self._started_at = clock.now()
        self._clock = clock
        self._access = parts.access
        self._logs = parts.logs
        self._tls, self._http_tls = parts.tls.remoting, parts.tls.http

    def stats(self) -> NameServerStats:
        """All present numbers."""
        tables, counters, health = self._state.tables, self._server.read_counters(), self.health()
        effects, requests, front = self._effects.counters, self._requests, self._server.front
        return NameServerStats(
            version=__version__,
            event_loop=type(asyncio.get_running_loop()).__module__.partition(".")[0],
            front="python" if front is None else "native",
            start_time_seconds=self._started_at.wall_ms / 1000,
            is_ready=health_of(health).ready,
            degraded=tuple(health.degraded),
            active_brokers=len(tables.broker_live_table),
            broker_names=len(tables.broker_addr_table),
            clusters=len(tables.cluster_addr_table),
            topics=len(tables.topic_index),
            unwritable_topics=self._housekeeping.unwritable_topics,
            missing_brokers=len(self._state.missing.brokers),
            missing_topics=self._state.missing.topics,
            missing_since_seconds=(self._state.missing.since_ms or 0) / 1000,
            queue_rows=sum(map(len, tables.topic_queue_table.values())),
            fingerprints=self._housekeeping.fingerprints,
            kv_generation=effects.kv_changes,
            active_connections=counters.connections_open,
            accepted_connections=counters.connections_total,
            refused_connections=counters.connections_refused,
            rejected_connections=counters.connections_rejected,
            closed_channels={
                "idle": counters.idle_closes,
                "overdue": counters.overdue_closes,
                "protocol_error": counters.protocol_errors,
                "tls_memory": counters.tls_memory_closes,
            },
            received_bytes=counters.bytes_in,
            sent_bytes=counters.bytes_out,
            protocol_errors=counters.protocol_errors,
            tls_failures=counters.tls_failures,
            http_tls_failures=0 if self._http_tls is None else self._http_tls.turned_away,
            certificates={
                port: CertificateStats(
                    is_usable=tls.is_usable,
                    not_after_seconds=tls.not_after,
                    reloads=tls.reloads,
                    failed_reloads=tls.failed_builds,
                )
                for port, tls in self._tls_ports.items()
            },
            tls_bytes=counters.tls_bytes,
            body_bytes_in_flight=counters.large_bytes_in_flight,
            requests=requests.by_result(),
            refused={} if self._access is None else self._access.refusals(),
            handler_errors=counters.handler_errors,
            durations=requests.durations.stats(),
            registrations=dict(requests.registrations),
            registration_body_bytes=requests.registration_bytes,
            from_unknown_networks=effects.from_unknown_networks,
            kept_out=effects.kept_out,
            heartbeats=effects.heartbeats,
            unregistrations=effects.gone[Cause.UNREGISTER],
            expiries=effects.gone[Cause.EXPIRED],
            channel_close_removals=effects.gone[Cause.CHANNEL_CLOSED],
            closed_broker_channels=effects.closed_by,
            change_queue_depth=requests.waiting,
            loop_lag_max_seconds=self._housekeeping.take_max_lag_ms() / 1000,
            dropped_log_lines=0 if self._logs is None else self._logs.dropped,
            route_cache_bytes=self._state.route_answers.kept_bytes,
            cached_lookups=self._state.lookup_cache.found,
            uncached_lookups=self._state.lookup_cache.missed,
            front_lookups=self._state.lookup_cache.topic_answers.found,
            front_connections=0 if front is None else len(front),
            front_loans=0 if front is None else front.loans,
            front_failures=0 if front is None else front.failures,
            journal=self.journal(),
        )

    def journal(self) -> JournalStats | None:
        """Numbers of the journal; None without one, and until it is loaded."""
        return self._journaling.stats()

    def health(self) -> HealthState:
        """Whether it serves, waits or drains, and its present problems."""
        degraded, restored = dict(self._problems()), self._state.restored
        if self._state.is_draining:
            return HealthState(phase=Phase.DRAINING, degraded=degraded, restored=restored)
        if self._state.is_waiting_for_service:
            passed_s = (self._clock.now().mono_ms - self._started_at.mono_ms) // 1000
            left_s = max(0, self._state.settings.wait_seconds_for_service - passed_s)
            return HealthState(
                phase=Phase.WAITING, degraded=degraded, wait_seconds_left=left_s, restored=restored
            )
        is_shut = self._tls.mode is TlsMode.ENFORCING and not self._tls.is_usable
        return HealthState(phase=Phase.SERVING, degraded=degraded, restored=restored, is_shut=is_shut)

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Short name and a sentence of each present problem."""
        if self._logs is not None and self._logs.is_failing:
            yield "log", "log lines are dropped: the disk is slow, full or read only"
        if self._requests.unsaved_files:
            yield "files", "the KV file or the properties file could not be written: see the log"
        if trouble := self._journaling.trouble:
            yield "journal", trouble
        if silent := self._housekeeping.silent_kept:
            yield "expiry", f"{silent} silent brokers are kept (expiryGuardPercent)"
        if self._access is not None and self._access.files.trouble:
            yield "access", "the file of access rules can't be used, the old rules hold: see the log"
        for port, tls in self._tls_ports.items():
            if trouble := tls.trouble:
                yield TLS_REASONS[port], trouble

    @property
    def _tls_ports(self) -> dict[str, TlsContexts]:
        """The ports that speak TLS, by the names of their metrics."""
        ports = {"remoting": self._tls, "http": self._http_tls}
        return {
            name: tls for name, tls in ports.items() if tls is not None and tls.mode is not TlsMode.DISABLED
        }

    def nsaddr(self) -> str:
        """The address list for clients without one: as configured, else only this server."""
        configured = self._state.settings.address_server_list
        if configured:
            return configured
        return ";".join(
            str(address) for address in self._server.addresses if address.host not in EVERY_INTERFACE
        )
