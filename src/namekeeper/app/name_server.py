"""A running name server: builds the object graph, starts it in order and stops it in order.

All code that touches the state runs on one event loop, so there are no locks. One thread writes files, and
the journal and the log lines have one thread each.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from namekeeper.app.effects import Effects, unknown_network_alarm
from namekeeper.app.filling import fill_front
from namekeeper.app.housekeeping import Housekeeping
from namekeeper.app.journaling import Journaling
from namekeeper.app.kv_file import KvFile, become_kv_owner
from namekeeper.app.logs import Logs
from namekeeper.app.lookup_memory import LookupMemory
from namekeeper.app.memory import return_memory_in_quiet_times
from namekeeper.app.notifier import Notifier, notifying_client
from namekeeper.app.pages import OperatorPages
from namekeeper.app.requests import Requests
from namekeeper.app.restoring import Restoring
from namekeeper.app.saver import SavedFile, Saver
from namekeeper.app.stats import Operators, ServerParts
from namekeeper.app.tls_files import client_tls, port_tls
from namekeeper.app.watching import RouteWatch
from namekeeper.clock import Clock, SystemClock
from namekeeper.config.load import parse_networks
from namekeeper.config.settings import NamesrvSettings
from namekeeper.config.startup import Startup
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.processor.outcome import Save
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.connection_context import (
    WRITE_BUFFER_BYTES,
    Answering,
    ConnectionHooks,
    ConnectionLimits,
    Handler,
)
from namekeeper.remoting.handshake import TransportSecurity
from namekeeper.remoting.listening import ListenOptions, SocketOptions
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.tls_settings import ClientAuth
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause
from namekeeper.route.removal import EndOfRegistration
from namekeeper.wire.codes import SerializeType

if TYPE_CHECKING:
    from namekeeper.access.policy import AccessPolicy
    from namekeeper.app.access import AccessControl
    from namekeeper.app.cluster_test import ClusterTest
    from namekeeper.remoting.tls_client import ClientTls

from namekeeper.errors import ConfigError
from namekeeper.remoting.front import Front, load_front

__all__ = ["NameServer", "make_front"]

log = logging.getLogger("namekeeper.namesrv")

FINISH_SECONDS = 2.0
"""Time for open answers when the server stops; a build of 100,000 topics takes less than a second."""

CLOSE_SECONDS = 5.0
"""Time limit for the end of tasks, operators' pages and connections; the journal is closed all the same."""

STOP_SECONDS = 7.0
"""Time of a complete stop, after clients got GO_AWAY; the journal gets the rest of it."""
JOURNAL_SECONDS = 2.0
"""The journal gets at least this much."""
BUSY_SECONDS = 2.0
"""Time beyond that of a complete stop, as long as the journal's writer makes progress."""
STUCK_SECONDS = 15.0
"""A longer stop counts as hanging: the process ends, and stderr gets the stack of each thread."""

LOOK_SECONDS = 0.05


class NameServer:
    """One name server; an async context manager that listens while it is entered.

    Make it where no event loop runs: this reads the KV file and the TLS settings.

    Args:
        startup: settings and their sources.
        clock: the time; tests bring their own.
        logs: the running log, whose level may change while running.

    Raises:
        ConfigError: KV file, certificates or, on entering, the address can't be used; it names the remedy.
    """

    is_recorded = True  # until a stop ends before the journal is on disk
    _loop: asyncio.AbstractEventLoop
    """Set when the server is entered."""

    def __init__(self, startup: Startup, *, clock: Clock | None = None, logs: Logs | None = None) -> None:
        self._startup = startup
        self._logs = logs
        self._clock = clock or SystemClock()
        self._scheduler = Scheduler()
        settings = startup.settings
        self._kv_file = KvFile(settings.kv_config_path)
        self.state = NameServerState(
            startup.runtime_config, self._kv_file.load(), kv_refusal=self._kv_file.refusal
        )
        self._files = ThreadPoolExecutor(max_workers=1, thread_name_prefix="FileThread")
        tls = client_tls(startup)
        self._notifier = Notifier(
            lambda: notifying_client(tls),
            lambda: self.state.tables.broker_live_table,
            parse_networks("notifyNetworks", settings.notify_networks),
        )
        self._cluster_test = _make_cluster_test(settings, self._clock, tls) if settings.cluster_test else None
        self._journaling = Journaling(
            self.state, clock=self._clock, connections=lambda: len(self.server.connections)
        )
        self._watch = RouteWatch(
            self.state,
            self._journaling.numbering,
            clock=self._clock,
            scheduler=self._scheduler,
            watchers_limit=settings.http_watchers_limit,
        )
        self.effects = Effects(
            self._journaling,
            self._notifier,
            self._reconfigured,
            self._watch.changed,
            unknown_network_alarm(parse_networks("brokerNetworks", settings.broker_networks)),
        )
        self._saver = self._make_saver()
        self.requests = Requests(
            self.state,
            self.effects,
            self._saver,
            clock=self._clock,
            scheduler=self._scheduler,
            cluster_test=self._cluster_test,
        )
        # With `rememberLookups` there is no cache: the memory would miss its answers.
        lookup_cache = None if settings.remember_lookups else self.state.cache_of_connections
        self.access = _make_access_control(
            self.requests, self.state, journaling=self._journaling, lookup_cache=lookup_cache
        )
        self.restoring = Restoring(
            self.state, self.requests.submit, clock=self._clock, expired=self._journaling.alive
        )
        handler = self.access or self.requests
        self._tls = port_tls(startup)
        self._memory = LookupMemory(handler, self._watch) if settings.remember_lookups else None
        self.server = self._remoting_server(self._memory or handler, lookup_cache)
        self.housekeeping = Housekeeping(
            self.state,
            self.requests,
            clock=self._clock,
            scheduler=self._scheduler,
            close_channel=self._close_channel,
            sample=lambda: self.server.sample_lookups(self.requests.durations.note_lookups),
        )
        parts = ServerParts(
            state=self.state,
            requests=self.requests,
            effects=self.effects,
            server=self.server,
            housekeeping=self.housekeeping,
            tls=self._tls,
            access=self.access,
            logs=logs,
        )
        self.operators = Operators(parts, self._clock)
        self.pages = OperatorPages(
            self.operators,
            self._watch,
            who_knows=None if self._memory is None else self._memory.who_knows,
            access=self.access,
            tls=self._tls.http,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False

    @property
    def stuck_seconds(self) -> float:
        """A stop that takes longer than this counts as hanging."""
        settings = self.state.settings
        waits = settings.shutdown_wait_time_seconds if settings.enable_shutdown_gracefully else 0
        return waits + STUCK_SECONDS

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self.server.addresses[0].port

    async def __aenter__(self) -> Self:
        """Listen as soon as the routes are restored, so that brokers need not wait for the rest."""
        self._loop = asyncio.get_running_loop()
        await self.restoring.read()
        # A boot starts only now: no client can send requests while the end of the last one is read, so there
        # is no gap to record. The journal takes the state before the first request, and writes it to the disk
        # later.
        self._journaling.begin()
        self.restoring.restore()
        fill_front(self.state, scheduler=self._scheduler, call_later=self._loop.call_later)
        await self.server.start()
        ownership = become_kv_owner(self._kv_file, self.state, self.effects, files=self._files)
        services = (self._journaling.run(self.port), self.housekeeping.run(), ownership)
        background = (self._saver.keep_trying(), return_memory_in_quiet_times())
        self._tasks += map(asyncio.create_task, (*services, *background))
        if self.access is not None:
            self._tasks.append(asyncio.create_task(self.access.files.watch(self._access_changed)))
        if self.state.settings.http_port >= 0:
            self._tasks.append(asyncio.create_task(self.pages.serve(self.state.settings, self.port)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop in order; may be called twice."""
        if self._is_stopping:
            return
        # No new connections, so that the existing ones can end.
        self.server.stop_accepting()
        if self.state.settings.enable_shutdown_gracefully:
            self.requests.drain()
            await self._wait_until_gone(self.state.settings.shutdown_wait_time_seconds)
        self.requests.refuse_lookups()
        # Requests under way are answered.
        begin = self._loop.time()
        await self.server.drain(FINISH_SECONDS)
        # From here on the server itself closes the connections, so closing one removes no broker.
        self._is_stopping = True
        self._journaling.hurry()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._close_edges()
        except TimeoutError:
            log.error(  # noqa: TRY400 - where it was waiting says nothing; what it waited for does
                "the stop goes on although not everything has ended in %g s: %d connections, %s",
                CLOSE_SECONDS, len(self.server.connections), sorted(map(str, asyncio.all_tasks())),
            )  # fmt: skip
        # Recorded changes and stored files are on disk before the process ends.
        left = STOP_SECONDS - (self._loop.time() - begin)
        self.is_recorded = await self._journaling.stop(
            max(JOURNAL_SECONDS, left), at_most=left + BUSY_SECONDS
        )
        await self._saver.finish()
        await self._loop.run_in_executor(None, self._files.shutdown)
        self._kv_file.release()

    async def _close_edges(self) -> None:
        """End the tasks of this server, and every connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.pages.close()
        await self._notifier.close()
        if self._cluster_test is not None:
            await self._cluster_test.close()
        # Written answers are sent before the connections close.
        await self.server.close()

    def _access_changed(self, policy: "AccessPolicy") -> None:
        if self.access is not None:
            self.access.replace(policy, self.server.connections)
        self.pages.judge_again()

    async def _wait_until_gone(self, seconds: float) -> None:
        """Wait until every client has left, at most this long."""
        deadline = self._loop.time() + seconds
        while self.server.connections and self._loop.time() < deadline:  # noqa: ASYNC110 - only when it stops
            await asyncio.sleep(LOOK_SECONDS)

    def _reconfigured(self, properties: Mapping[str, str]) -> None:
        if self._logs is not None and "logLevel" in properties:
            self._logs.set_level(self.state.settings.log_level)

    def _close_channel(self, channel: Channel) -> None:
        for connection in self.server.connections:
            if connection.channel is channel:
                connection.close()

    def _remoting_server(self, handler: Handler, lookup_cache: LookupCache | None) -> RemotingServer:
        """The server of brokers and clients."""
        settings = self._startup.settings
        live = self.state.tables.broker_live_table
        trusted = parse_networks("proxyProtocolTrustedNetworks", settings.proxy_protocol_trusted_networks)
        return RemotingServer(
            handler,
            listen=_listen_options(settings),
            limits=_connection_limits(settings),
            security=TransportSecurity(tls=self._tls.remoting, trusted_proxies=trusted),
            answering=Answering(
                serialize_type=SerializeType[settings.serialize_type],
                lookup_cache=lookup_cache,
                is_cache_open=self.access is None,
                front=make_front(settings, has_cache=lookup_cache is not None),
                watchers=self._watch,
                scheduler=self._scheduler,
            ),
            hooks=ConnectionHooks(
                has_broker=lambda channel: bool(live.over_channel(channel.channel_id)),
                takes_long=self.requests.takes_long,
                on_close=self._channel_closed,
            ),
        )

    def _make_saver(self) -> Saver:
        settings, state = self._startup.settings, self.state

        def in_loop(callback: Callable[..., None], *args: object) -> None:
            self._loop.call_soon_threadsafe(callback, *args)

        def saved(path: str, text: Callable[[], bytes]) -> SavedFile:
            return SavedFile(path, text, executor=self._files, call_soon_threadsafe=in_loop)

        return Saver(
            {
                Save.KV_CONFIG: saved(settings.kv_config_path, state.kv_config.to_text),
                Save.CONFIG: saved(settings.config_store_path, lambda: state.config.file_text().encode()),
            }
        )

    def _channel_closed(self, channel: Channel) -> None:
        """Remove every broker that registered over a closed connection (protocol.md 4.7, trap T26).

        Not while the server stops: brokers that got GO_AWAY are still running; the next boot restores them.
        """
        if self._memory is not None:
            self._memory.forget(channel)
        self.requests.leave(channel)
        if self._is_stopping or self.state.is_draining:
            return
        self.requests.submit_all(
            EndOfRegistration(
                live.key, live.gen, Cause.CHANNEL_CLOSED, channel.remote_addr, channel.closed_by or ""
            )
            for live in self.state.tables.broker_live_table.over_channel(channel.channel_id)
        )


# Deferred imports: the server does not need these to start listening.


def _make_access_control(
    requests: Requests, state: NameServerState, *, journaling: Journaling, lookup_cache: LookupCache | None
) -> "AccessControl | None":
    """The access control in front of the requests; None without a file of rules."""
    path = state.settings.access_file
    if not path:
        return None
    from namekeeper.access.request_class import HTTP_PAGES
    from namekeeper.app.access import AccessControl
    from namekeeper.app.access_files import AccessFiles

    files = AccessFiles(path, os.environ)
    if state.settings.http_tls_need_client_auth == ClientAuth.NONE:
        for rule in files.policy.rules.rules:
            if HTTP_PAGES in rule.codes and rule.certificates is not None:
                log.warning(
                    "access rule %r opens no operators' page: nobody can show a certificate there with"
                    " httpTlsNeedClientAuth=none", rule.name,
                )  # fmt: skip
    return AccessControl(files, requests, state, journaling=journaling, lookup_cache=lookup_cache)


def _make_cluster_test(settings: NamesrvSettings, clock: Clock, tls: "ClientTls | None") -> "ClusterTest":
    from namekeeper.app.cluster_test import ClusterTest

    return ClusterTest(settings, clock=clock, tls=tls)


def _listen_options(settings: NamesrvSettings) -> ListenOptions:
    return ListenOptions(
        settings.bind_address,
        settings.listen_port,
        SocketOptions(
            settings.server_socket_backlog,
            settings.server_socket_snd_buf_size,
            settings.server_socket_rcv_buf_size,
        ),
    )


def _connection_limits(settings: NamesrvSettings) -> ConnectionLimits:
    return ConnectionLimits(
        max_frame_bytes=settings.remoting_frame_max_length,
        write_buffer_bytes=_write_buffer_bytes(settings),
        max_connections=settings.max_connections,
        idle_seconds=settings.server_channel_max_idle_time_seconds,
        body_budget_bytes=settings.body_bytes_in_flight_limit,
        tls_bytes=settings.tls_bytes_limit,
    )


def _write_buffer_bytes(settings: NamesrvSettings) -> tuple[int, int]:
    """Low and high water mark; as in Java, they count only if both are set (protocol.md 5.3)."""
    low, high = settings.write_buffer_low_water_mark, settings.write_buffer_high_water_mark
    return (low, high) if low and high else WRITE_BUFFER_BYTES


def make_front(settings: NamesrvSettings, *, has_cache: bool) -> Front | None:
    """The native fast path if the operator wants it, or none; ConfigError if it is required and missing."""
    if not has_cache:
        _say_why_uncached(settings)
        return None
    found = None if settings.front == "python" else load_front(settings.front_threads)
    if found is None and settings.front == "native":
        raise ConfigError(
            "front=native, but there is no front of this version: install namekeeper-front, or set front=auto"
        )
    log.info("known look-ups are answered by %s", "Python" if found is None else "the native front")
    return found


def _say_why_uncached(settings: NamesrvSettings) -> None:
    """Log that there is no native fast path because there is no cache for its answers."""
    if settings.remember_lookups:
        why = "rememberLookups=true"
    elif settings.cluster_test:
        why = "clusterTest=true"
    elif settings.serialize_type != SerializeType.JSON.name:
        why = f"serializeType={settings.serialize_type}"
    else:
        why = "lookupCacheBytes=0"
    level = logging.WARNING if settings.front == "native" else logging.INFO
    log.log(level, "every look-up is decoded, and the native front is not used: %s", why)
