"""The HTTP server of the page: its files, the values that it shows, and a stream that tells when they change.

Nothing here changes a name server or a journal. A POST sets the cookie of the token, and `plan_pages` write
the expected state and its maintenance windows.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import web
from prometheus_client.registry import Collector

from namekeeper.access.peer import Peer
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Histories
from namekeeper.console.metrics import DriftCollector, IncidentCollector, ShadowCollector, render_metrics
from namekeeper.console.plan_pages import PLAN_PATHS, PlanCollector, PlanPages
from namekeeper.console.query import Query
from namekeeper.console.reading import POLL_SECONDS, HistoriesReader
from namekeeper.console.views import ConsoleViews
from namekeeper.console.watching import WATCHERS_LIMIT, FollowedWatch
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.expected.plan import PlanFiles
from namekeeper.http.doors import Doors
from namekeeper.http.gate import Connection
from namekeeper.http.health import HealthSource
from namekeeper.http.health_pages import health_pages
from namekeeper.http.host_turns import HostTurns
from namekeeper.http.page_clients import client_of
from namekeeper.http.page_files import (
    PAGE_FILES,
    PAGE_HEADERS,
    STREAM_HEADERS,
    logged_in,
    problem,
    send_page_file,
)
from namekeeper.http.page_server import PageServer
from namekeeper.http.page_table import LOGIN_BYTES, PROBLEMS, Answer, Guard, Page, stream_answer
from namekeeper.http.slots import Slots
from namekeeper.http.watchers import WatchRefusal
from namekeeper.journal.reading.reader import FoundJournal

__all__ = ["ConsoleServer", "opening_rest"]

log = logging.getLogger("namekeeper.console")

OPENING_SECONDS = 2.0
"""Longest time that the reading waits at its start for pages that were opened before."""
PAUSE_SECONDS = 0.3
"""Least time between two revisions: a page requests its view again at each of them."""
BEAT_SECONDS = 10.0
"""Interval of signs of life in a stream."""
LASTING_LIMIT = 64
"""Pages that listen, and questions that others answer, at a time; each costs a descriptor."""
THREADS = 6
"""Threads that make views, and as many for long views. A view whose client is gone keeps its thread until it
is made; a stop waits for none of them."""
ANSWER_BYTES = 16 * 1024 * 1024
"""Longest answer of a view. The name server of a page keeps it in memory until the peer reads it."""
VIEWS_AT_ONCE = 2
"""Views that are made at a time, and at most one of each host; as many causes and questions for name servers.
The values of a view take some ten times the bytes of its answer."""


class ConsoleServer:
    """Serves the page while it is entered; an async context manager.

    Args:
        host: the address at which it listens.
        port: its port; 0 picks a free one.
        doors: decides who may use the page.
        histories: what is shown.
        views: what each view shows.
        health: the state of the process, for probes; None: nobody asks for it.
        collect: gives further metrics of the process.
        may_move: whether it listens at a free port if another process has the port.
        journals: gives the id of each name server whose journal is followed, and the journal: its routes can
            be watched.
        expected: what must be there, and what is planned: requests may change both. None: they can't.
    """

    def __init__(  # noqa: PLR0913 - one for each part
        self,
        host: str,
        port: int,
        doors: Doors,
        histories: Histories,
        views: ConsoleViews,
        *,
        health: HealthSource | None = None,
        collect: Callable[[], Iterable[Collector]] = tuple,
        may_move: bool = False,
        journals: Callable[[], Mapping[str, FoundJournal]] = dict,
        expected: ExpectedFile | None = None,
    ) -> None:
        self._host, self._wanted_port = host, port
        self._doors = doors
        self._histories = histories
        self._views = views
        self._health, self._collect, self._may_move = health, collect, may_move
        self.lasting = Slots[Connection](LASTING_LIMIT)
        self.watch = FollowedWatch(journals, clock=SystemClock(), refuse=self._refused_peer)
        self._turns, self._long_turns = HostTurns(VIEWS_AT_ONCE), HostTurns(VIEWS_AT_ONCE)
        self._pages: Mapping[str, Page] = {}
        self._server = PageServer(
            lambda request: self._pages.get(request.path), doors, self._refused, style=PROBLEMS,
            finish=_add_page_headers, nothing=_nothing,
        )  # fmt: skip
        self._makers, self._long_makers = (DaemonThreads(name, THREADS) for name in ("view", "long view"))
        self.reader = HistoriesReader(histories, self._wait_for_pages)
        """Reads the histories on while the page is served."""
        self._plan: PlanPages | None = None
        self._plan_changes = 0
        if expected is not None:
            changed = partial(self.look_at_plan, expected)
            self._plan = PlanPages(PlanFiles(expected.path), doors, SystemClock(), changed)
        self._reading: asyncio.Task[None] | None = None
        self._asked_at = 0.0
        """When a page asked, or was answered, last; by the time of the loop."""
        self._is_closed = False

    @property
    def port(self) -> int:
        """The port at which it listens."""
        port = self._server.port
        assert port is not None
        return port

    async def __aenter__(self) -> Self:
        """Listen, and begin to read.

        Raises:
            ConfigError: it can't listen there.
        """
        self._pages = self._table()
        await self._server.listen_as_asked(self._host, self._wanted_port, may_move=self._may_move)
        self._reading = asyncio.create_task(self.reader.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closed = True
        await self._server.stop_listening()
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self.reader.tell()
        await self.watch.close()
        await self._server.close()

    async def _wait_for_pages(self) -> None:
        loop = asyncio.get_running_loop()
        begun_at = self._asked_at = loop.time()
        while True:
            rest = opening_rest(loop.time(), begun_at=begun_at, asked_at=self._asked_at)
            if rest <= 0:
                return
            await asyncio.sleep(rest)

    def _table(self) -> Mapping[str, Page]:
        views = self._views
        usual = (
            views.overview, views.incidents, views.incident, views.troubles, views.drift, views.brokers,
            views.topics, views.changes, views.beside, views.topic, views.broker, views.compare, views.search,
        )  # fmt: skip
        pages = {path: Page(self._noted(send_page_file), Guard.NAMED, PROBLEMS) for path in PAGE_FILES}
        for view in usual:
            pages[f"/api/{view.__name__}"] = Page(self._answer(view, locked=True), style=PROBLEMS)
        for view in (views.journals.why, views.journals.audit, views.who_knows):
            answer = self._answer(view, locked=False)
            pages[f"/api/{view.__name__}"] = Page(answer, style=PROBLEMS, stream=self.lasting)
        pages["/metrics"] = Page(self._metrics)
        watchers = Slots[Connection](WATCHERS_LIMIT)
        pages["/watch"] = Page(
            self.watch.answer, stream=watchers, full=WatchRefusal.FULL.value, answers_head=False
        )
        if self._health is not None:
            pages |= health_pages(self._health)
        if self._plan is not None:
            pages |= self._plan.table()
        pages["/api/events"] = Page(self._events, style=PROBLEMS, stream=self.lasting, answers_head=False)
        pages["/api/login"] = Page(self._login, Guard.NAMED, PROBLEMS, "POST", LOGIN_BYTES)
        return pages

    def _noted(self, answer: Answer) -> Answer:
        """The same answer; the reading of journals waits for pages that are being opened."""

        async def noted(request: web.BaseRequest) -> web.StreamResponse:
            loop = asyncio.get_running_loop()
            self._asked_at = loop.time()
            try:
                return await answer(request)
            finally:
                self._asked_at = loop.time()

        return noted

    def _refused(self, request: web.BaseRequest, tokens: list[str]) -> str | None:
        return self._doors.refuse_token(tokens) or self._doors.refuse_peer(client_of(request), tokens)

    def _refused_peer(self, peer: Peer, token: str | None) -> str | None:
        return self._doors.refuse_peer(peer, [token] if token else [])

    def _answer(self, view: Callable[[Query], dict[str, Any]], *, locked: bool) -> Answer:
        name = view.__name__

        def body(query: Query) -> bytes:
            looking = self._histories.lock.to_look() if locked else contextlib.nullcontext()
            with self._histories.earlier(self._views.earlier(name, query)), looking:
                found = msgspec.json.encode(view(query))
            if len(found) > ANSWER_BYTES:
                raise ConfigError(
                    f"the answer has {len(found):,} bytes; {ANSWER_BYTES:,} are allowed: narrow it down"
                )
            return found

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            if locked:  # an earlier request would get an empty page, and news of the rows only later
                await self.reader.has_begun.wait()
            try:
                query = self._views.resolved(name, dict(request.query))
                is_long = (
                    not locked
                    or self._histories.needs(self._views.earlier(name, query))
                    or self._views.is_due(name, query)
                )
                makers = self._long_makers if is_long else self._makers
                async with (self._long_turns if is_long else self._turns).of(request.remote or ""):
                    data = await makers.run(body, query)
            except NamekeeperError as error:
                return problem(400, str(error))
            return web.Response(body=data, content_type="application/json")

        return self._noted(answer)

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        """The present, for Prometheus."""

        def body() -> tuple[bytes, str]:
            with self._histories.lock.to_look():
                report, incidents = self._views.present_drift(), self._views.open_incidents()
                shadows = ShadowCollector(self._views.present_shadows())
            ours = [DriftCollector(report), IncidentCollector(incidents, labels), shadows]
            return render_metrics([*ours, *more], request.headers.get("Accept", ""))

        await self.reader.has_begun.wait()
        more = [*self._collect(), *([] if self._plan is None else [PlanCollector(self._plan.counts)])]
        labels = {each.namesrv: each.followed.history.cluster_label for each in self._histories.all}
        turns = self._long_turns if self._views.is_due("metrics", {}) else self._turns
        async with turns.of(request.remote or ""):
            data, content_type = await asyncio.to_thread(body)
        return web.Response(body=data, headers={"Content-Type": content_type})

    async def _login(self, request: web.BaseRequest) -> web.StreamResponse:
        token = (await request.text()).strip()
        reason = self._refused(request, [token])
        return logged_in(request, token) if reason is None else problem(401, reason)

    async def _events(self, request: web.BaseRequest) -> web.StreamResponse:
        """Say the revision, at once and whenever it changes; now and then that the console is there."""
        response = stream_answer(STREAM_HEADERS)
        with contextlib.suppress(ConnectionError):  # the page was closed
            await response.prepare(request)
            while not self._is_closed:
                revision = self._histories.revision
                await response.write(b"data: %d\n\n" % revision)
                await asyncio.sleep(PAUSE_SECONDS)
                await self.reader.wait_for_change(partial(self._is_other_than, revision), BEAT_SECONDS)
        return response

    async def look_at_plan(self, expected: ExpectedFile) -> None:
        """Read the expected state and its windows again if they have changed, and have pages look again."""
        await self._makers.run(expected.refresh)
        if expected.changes == self._plan_changes:
            return
        self._plan_changes = expected.changes
        self._views.plan_changed()
        await self._makers.run(self._histories.note_change)
        await self.reader.tell()

    def _is_other_than(self, seen: int) -> bool:
        return self._is_closed or self._histories.revision != seen


def _nothing(path: str) -> str:
    if path in PLAN_PATHS:
        return "no expected state can be planned here: start this process with --expect FILE"
    return "there is nothing at this address; / is the page"


def opening_rest(now: float, *, begun_at: float, asked_at: float) -> float:
    """How long the reading still waits for pages that are being opened: they ask one thing after the other.

    Args:
        now: seconds.
        begun_at: since when there is something to see.
        asked_at: when a page asked, or was answered, last.
    """
    return min(asked_at + POLL_SECONDS, begun_at + OPENING_SECONDS) - now


def _add_page_headers(response: web.StreamResponse) -> None:
    response.headers.update(PAGE_HEADERS)
