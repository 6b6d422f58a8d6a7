"""A running name server: builds the object graph, starts it in order and stops it in order.

Everything that touches the state runs on one event loop, so there are no locks. Files are written by one
thread, the journal and log lines by one each.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from namekeeper.app.console_command import console_command
from namekeeper.app.effects import Effects
from namekeeper.app.filling import fill_front
from namekeeper.app.forgetting import forget_in_turns
from namekeeper.app.front_choice import make_front
from namekeeper.app.housekeeping import Housekeeping
from namekeeper.app.journal_files import journal_files
from namekeeper.app.journaling import Journaling
from namekeeper.app.kv_file import KvFile
from namekeeper.app.kv_owner import become_kv_owner
from namekeeper.app.logs import Logs
from namekeeper.app.lookup_memory import LookupMemory
from namekeeper.app.memory import return_memory_in_quiet_times
from namekeeper.app.notifier import Notifier, notifying_client
from namekeeper.app.requests import Requests
from namekeeper.app.restoring import Restoring
from namekeeper.app.saver import SavedFile, Saver
from namekeeper.app.stats import Operators
from namekeeper.app.tls_files import client_tls, http_tls_contexts, read_tls_settings
from namekeeper.app.unknown_networks import unknown_network_alarm
from namekeeper.app.watching import RouteWatch
from namekeeper.clock import Clock, SystemClock
from namekeeper.config.load import parse_list, parse_networks
from namekeeper.config.settings import NamesrvSettings
from namekeeper.config.startup import Startup
from namekeeper.http.loading import load_operator_http_server
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.processor.outcome import Save
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.connection_context import WRITE_BUFFER_BYTES
from namekeeper.remoting.listening import SocketOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.remoting.tls import TlsContexts
from namekeeper.remoting.tls_settings import ClientAuth
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause
from namekeeper.route.removal import EndOfRegistration
from namekeeper.wire.codes import SerializeType

if TYPE_CHECKING:
    from namekeeper.access.policy import AccessPolicy
    from namekeeper.app.access import AccessControl
    from namekeeper.app.cluster_test import ClusterTest
    from namekeeper.http.server import OperatorHttpServer
    from namekeeper.remoting.tls_client import ClientTls

__all__ = ["NameServer"]

log = logging.getLogger("namekeeper.namesrv")

FINISH_SECONDS = 2.0
"""Time for open answers when the server stops; a build of 100,000 topics takes less than a second."""

CLOSE_SECONDS = 5.0
"""How long tasks, operators' pages and connections may take to end; the journal is closed all the same."""

STOP_SECONDS = 7.0
"""Time of a whole stop, after clients were asked to go; the journal gets the rest of it."""
JOURNAL_SECONDS = 2.0
"""The journal gets at least this much."""
STUCK_SECONDS = 15.0
"""A longer stop counts as hanging: the process ends, and stderr gets the stack of each thread."""

LOOK_SECONDS = 0.05


class NameServer:
    """One name server; an async context manager that listens while it is entered.

    Make it where no event loop runs: this reads the KV file and the TLS settings.

    Args:
        startup: settings and where they came from.
        clock: the time; tests bring their own.
        logs: the running log, whose level may be changed while running.

    Raises:
        ConfigError: KV file, certificates or, on entering, the address can't be used; it says what to do.
    """

    is_recorded = True  # until a stop finds that the journal's disk hangs

    def __init__(self, startup: Startup, *, clock: Clock | None = None, logs: Logs | None = None) -> None:
        self._startup = startup
        self._logs = logs
        self._clock = clock or SystemClock()
        settings = startup.settings
        self._kv_file = KvFile(settings.kv_config_path)
        self.state = NameServerState(
            startup.runtime_config, self._kv_file.load(), kv_refusal=self._kv_file.refusal
        )
        self._loop: asyncio.AbstractEventLoop
        """Set when the server is entered."""
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
            call_soon=self._call_soon,
            cluster_test=self._cluster_test,
        )
        # What the cache answers is not remembered.
        lookup_cache = None if settings.remember_lookups else self._lookup_cache()
        self.access = _make_access_control(
            self.requests, self.state, journaling=self._journaling, lookup_cache=lookup_cache
        )
        self.restoring = Restoring(
            self.state, self.requests.submit, clock=self._clock, expired=self._journaling.alive
        )
        handler = self.access or self.requests
        self._tls, self._http_tls = (
            TlsContexts(lambda: read_tls_settings(startup)),
            http_tls_contexts(startup),
        )
        self._memory = LookupMemory(handler, self._watch) if settings.remember_lookups else None
        self.server = RemotingServer(
            self._memory or handler,
            host=settings.bind_address,
            port=settings.listen_port,
            max_frame_bytes=settings.remoting_frame_max_length,
            socket_options=SocketOptions(
                settings.server_socket_backlog,
                settings.server_socket_snd_buf_size,
                settings.server_socket_rcv_buf_size,
            ),
            write_buffer_bytes=_write_buffer_bytes(settings),
            max_connections=settings.max_connections,
            idle_seconds=settings.server_channel_max_idle_time_seconds,
            serialize_type=SerializeType[settings.serialize_type],
            body_budget_bytes=settings.body_bytes_in_flight_limit,
            lookup_cache=lookup_cache,
            is_cache_open=self.access is None,
            front=make_front(settings, has_cache=lookup_cache is not None),
            watchers=self._watch,
            tls=self._tls,
            proxy_trusted_networks=[
                str(network)
                for network in parse_networks(
                    "proxyProtocolTrustedNetworks", settings.proxy_protocol_trusted_networks
                )
            ],
            has_broker=lambda channel: bool(
                self.state.tables.broker_live_table.over_channel(channel.channel_id)
            ),
            on_close=self._channel_closed,
        )
        self.housekeeping = Housekeeping(
            self.state,
            self.requests,
            clock=self._clock,
            close_channel=self._close_channel,
            dropped_log_lines=lambda: logs.dropped if logs is not None else 0,
            is_log_failing=lambda: logs is not None and logs.is_failing,
            sample=lambda: self.server.sample_lookups(self.requests.durations.note_lookups),
        )
        self.operators = Operators(
            self.state,
            self.requests,
            self.effects,
            server=self.server,
            housekeeping=self.housekeeping,
            clock=self._clock,
            access=self.access,
            tls=self._tls,
            http_tls=self._http_tls,
        )
        self._http = contextlib.AsyncExitStack()
        self._pages: OperatorHttpServer | None = None
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
        """The port that it listens at."""
        return self.server.addresses[0].port

    async def __aenter__(self) -> Self:
        """Listen as soon as the routes are restored, so that brokers need not wait for the rest."""
        self._loop = asyncio.get_running_loop()
        await self.restoring.read()
        # A boot begins only now: nobody can ask while the end of the last one is read, so there is no gap to
        # record. The journal takes the state before the first request, and writes it to the disk later.
        self._journaling.begin()
        self.restoring.restore()
        fill_front(self.state, clock=self._clock, call_later=self._loop.call_later)
        forget_in_turns(self.state, clock=self._clock, call_soon=self._loop.call_soon)
        await self.server.start()
        ownership = become_kv_owner(self._kv_file, self.state, self.effects, files=self._files)
        services = (self._journaling.run(self.port), self.housekeeping.run(), ownership)
        self._tasks += map(asyncio.create_task, (*services, return_memory_in_quiet_times()))
        if self.access is not None:
            self._tasks.append(asyncio.create_task(self.access.files.watch(self._access_changed)))
        if self.state.settings.http_port >= 0:
            self._tasks.append(asyncio.create_task(self._serve_operators()))
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
        # From here on we close the connections ourselves, so closing one removes no broker.
        self._is_stopping = True
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._close_edges()
        except TimeoutError:
            log.error(  # noqa: TRY400 - where it was waiting says nothing; what it waited for does
                "the stop goes on although not everything has ended in %g s: %d connections, %s",
                CLOSE_SECONDS, len(self.server.connections), sorted(map(str, asyncio.all_tasks())),
            )  # fmt: skip
        # What was recorded and what was stored is on disk before the process ends.
        left = STOP_SECONDS - (self._loop.time() - begin)
        self.is_recorded = await self._journaling.stop(max(JOURNAL_SECONDS, left))
        await self._saver.finish()
        await self._loop.run_in_executor(None, self._files.shutdown)
        self._kv_file.release()

    async def _close_edges(self) -> None:
        """End what runs by itself, and every connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.aclose()
        await self._notifier.close()
        if self._cluster_test is not None:
            await self._cluster_test.close()
        # Written answers are sent before the connections close.
        await self.server.close()

    def _lookup_cache(self) -> LookupCache | None:
        """The cache that connections ask; None if it is off, or keeps another form of answers."""
        settings = self.state.settings
        is_usable = settings.serialize_type == SerializeType.JSON.name and not settings.cluster_test
        return self.state.lookup_cache if is_usable and settings.lookup_cache_bytes else None

    def _access_changed(self, policy: "AccessPolicy") -> None:
        if self.access is not None:
            self.access.replace(policy, self.server.connections)
        if self._pages is not None:
            self._pages.watch_page.judge_again()

    async def _serve_operators(self) -> None:
        """Start the HTTP pages; if that fails, the server routes without them."""
        settings = self.state.settings
        try:
            http_server, console_process = await load_operator_http_server()
            self._pages = server = await self._http.enter_async_context(
                http_server(
                    settings.http_bind_address,
                    settings.http_port,
                    metrics=self.operators.stats,
                    health=self.operators.health,
                    nsaddr=self.operators.nsaddr,
                    journal=self._journaling.stats,
                    journal_files=lambda: journal_files(self._journaling.stats()),
                    watch=self._watch,
                    who_knows=None if self._memory is None else self._memory.who_knows,
                    console=console_process(self._console_command),
                    names=parse_list(settings.http_host_names),
                    tls=self._http_tls,
                    subgroup=settings.namesrv_domain_subgroup,
                    **({} if self.access is None else self.access.page_guards()),
                )
            )
        except Exception:
            log.exception("no HTTP pages for operators")
            return
        if server.port is not None:
            scheme = "http" if self._http_tls is None else "https"
            log.info("operators' pages at %s://%s:%d/", scheme, settings.http_bind_address, server.port)

    def _console_command(self) -> Sequence[str]:
        settings, journal = self.state.settings, self._journaling.stats()
        return console_command(
            journal, settings.bind_address, self.port,
            has_journal=settings.journal_enable, history_bytes=settings.console_history_bytes,
        )  # fmt: skip

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

    def _call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

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

        Not while the server stops: brokers that were asked to go away are still running; the next boot
        restores them.
        """
        if self._memory is not None:
            self._memory.forget(channel)
        if self._is_stopping or self.state.is_draining:
            return
        self.requests.submit_all(
            EndOfRegistration(
                live.key, live.gen, Cause.CHANNEL_CLOSED, channel.remote_addr, channel.closed_by or ""
            )
            for live in self.state.tables.broker_live_table.over_channel(channel.channel_id)
        )


# Imports that a server needs late or never come late, so that it listens earlier.


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


def _write_buffer_bytes(settings: NamesrvSettings) -> tuple[int, int]:
    """Low and high water mark; as in Java, they count only if both are set (protocol.md 5.3)."""
    low, high = settings.write_buffer_low_water_mark, settings.write_buffer_high_water_mark
    return (low, high) if low and high else WRITE_BUFFER_BYTES
