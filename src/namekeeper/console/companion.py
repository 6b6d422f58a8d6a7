"""One process beside name servers: it reads their histories, serves the page, and sends messages.

`namekeeper observe`, `console` and `messages run` are this, each with some of the parts.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from namekeeper.answers.incidents.reading import IncidentJournals, NamesrvRead
from namekeeper.app.access_files import AccessFiles
from namekeeper.clock import SystemClock
from namekeeper.common.counts import shown_list
from namekeeper.console.histories import Histories
from namekeeper.console.incident_watch import IncidentWatch
from namekeeper.console.journal_folders import JournalFolders
from namekeeper.console.present_incidents import computed_drift
from namekeeper.console.reading import HistoriesReader
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import ConfigError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.http.doors import Doors
from namekeeper.http.health import HealthState, Phase
from namekeeper.notifications.service import NotificationService

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from namekeeper.console.server import ConsoleServer
    from namekeeper.console.views import ConsoleViews

__all__ = ["Companion", "CompanionMessages", "PageSettings"]

log = logging.getLogger("namekeeper.console")

LOOK_SECONDS = 2.0
"""Interval at which folders are looked at for journals of further name servers, and files for changes."""
AFTER_A_BUG_SECONDS = 10.0

Part = Callable[[], Awaitable[object]]


class PageSettings(Struct, frozen=True, kw_only=True):
    """Where the page is served, and who may open it."""

    host: str
    port: int
    """0 picks a free one."""
    doors: Doors
    address_of: Callable[[int], str]
    """The address that people open, by the port."""
    rules: AccessFiles | None = None
    """Access rules, whose files are watched while the page is served."""
    is_needed: bool = True
    """Whether the process ends if the page can't listen; otherwise it only says so."""
    may_move: bool = False
    """Whether a free port does if another process has the port."""


class CompanionMessages(Struct, frozen=True):
    """The messages about incidents that the process sends."""

    service: NotificationService
    expected: ExpectedFile | None = None
    """The state that must be there: deviations are sent, and nothing that is planned is. None: none."""


class Companion:
    """The parts of the process; `run` goes on until it is cancelled.

    Args:
        histories: of the name servers that are known at the start.
        views: what the page shows; None: there is no page.
        page: how it is served; None: there is no page.
        folders: where journals of further name servers may appear; None: nowhere.
        messages: sends messages about incidents; None: nothing is sent.
        expected: what must be there, and what is planned: the page's port takes requests that change it.
            None: it takes none.
        reasons: gives further present problems, short name -> a sentence; called on the event loop.
        collect: gives further metrics; called on the event loop.
        announce: prints a line.
    """

    def __init__(  # noqa: PLR0913 - one for each part
        self,
        histories: Histories,
        *,
        views: "ConsoleViews | None" = None,
        page: PageSettings | None = None,
        folders: JournalFolders | None = None,
        messages: CompanionMessages | None = None,
        expected: ExpectedFile | None = None,
        reasons: Callable[[], Mapping[str, str]] = dict,
        collect: "Callable[[], Iterable[Collector]]" = tuple,
        announce: Callable[[str], None],
    ) -> None:
        self.histories, self._folders = histories, folders
        self._reasons, self._announce = reasons, announce
        self._page, self._expected = page, expected
        self._drift = computed_drift(histories, SystemClock()) if views is None else views.drift_of_now
        self._server = None
        if page is not None and views is not None:
            # Without the page, the process starts in half the time.
            from namekeeper.console.server import ConsoleServer
            from namekeeper.notifications.metrics import MessagesCollector

            def collectors() -> "list[Collector]":
                of_messages = [] if messages is None else [MessagesCollector(messages.service.receivers)]
                return [*collect(), *of_messages]

            self._server = ConsoleServer(
                page.host, page.port, page.doors, histories, views,
                health=self.health, collect=collectors, may_move=page.may_move,
                journals=lambda: {} if folders is None else folders.by_name, expected=expected,
            )  # fmt: skip
        self._reader = self._server.reader if self._server else HistoriesReader(histories)
        self._threads = DaemonThreads("folders", 1)
        self._messages = messages
        self._service = None if messages is None else messages.service

    def health(self) -> HealthState:
        """The present state, for probes. A companion with a problem serves what it has."""
        problems = {each.namesrv: each.followed.problem for each in self.histories.all}
        if self._folders is not None:
            problems |= self._folders.problems
        degraded = dict(self._reasons())
        if self._service is not None:
            degraded |= self._service.problems()
        wrong = [f"{name}: {problem}" for name, problem in problems.items() if problem]
        if wrong:
            degraded["journals"] = shown_list(wrong)
        return HealthState(phase=Phase.SERVING, degraded=degraded)

    async def run(self) -> None:
        """Run all parts.

        Raises:
            ConfigError: the page can't listen, and is needed.
        """
        async with contextlib.AsyncExitStack() as opened:
            parts: list[Part] = []
            if not await self._serve(opened):
                parts.append(self._reader.run)
            elif self._server is not None and self._page is not None and self._page.rules is not None:
                server = self._server
                parts.append(partial(self._page.rules.watch, lambda _: server.watch.judge_again()))
            if self._server is not None and self._expected is not None:
                parts.append(partial(self._look_at_plan, self._server, self._expected))
            if self._folders is not None:
                parts.append(partial(self._look, self._folders))
            if self._messages is not None:
                service = await opened.enter_async_context(self._messages.service)
                expected = self._messages.expected
                reread = partial(self._reread, is_whole=expected is not None)
                drift = self._drift.value
                watch = IncidentWatch(self._reader, reread, SystemClock(), service.see, drift, expected)
                parts.append(watch.run)
            await asyncio.gather(*map(_going_on, parts), asyncio.Event().wait())

    async def _serve(self, opened: contextlib.AsyncExitStack) -> bool:
        """Serve the page, if there is one; returns whether that reads the histories."""
        if self._server is None or self._page is None:
            return False
        try:
            await opened.enter_async_context(self._server)
        except ConfigError as error:
            if self._page.is_needed:
                raise
            self._announce(f"no page: {error}")
            return False
        if self._page.port not in (0, self._server.port):
            self._announce(f"port {self._page.port} is taken, so the page is at another one; --port chooses")
        self._announce(self._page.address_of(self._server.port))
        return True

    def _reread(self, since: int, *, is_whole: bool) -> Sequence[NamesrvRead]:
        """Read the journals again from a time on."""
        found = [] if self._folders is None else self._folders.found
        return IncidentJournals(found, is_whole=is_whole).read(since) if found else []

    async def _look_at_plan(self, server: "ConsoleServer", expected: ExpectedFile) -> None:
        """Notice changes that no request made, also while nobody looks."""
        while True:
            await server.look_at_plan(expected)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, folders: JournalFolders) -> None:
        """Follow journals that appear, no more those that are gone, and say which can't be followed."""
        said: Mapping[str, str] = {}
        while True:
            for namesrv in await self._threads.run(folders.drop_left):
                await self._reader.remove(namesrv)
            for source in await self._threads.run(folders.look):
                for namesrv in source.namesrvs():
                    await self._reader.add(namesrv, source)
            for place, problem in folders.problems.items():
                if said.get(place) != problem:
                    self._announce(f"{place}: not followed: {problem}")
            said = folders.problems
            await asyncio.sleep(LOOK_SECONDS)


async def _going_on(part: Part) -> None:
    """Run a part; a bug in it is logged, and ends nothing else."""
    while True:
        try:
            await part()
        except Exception:
            log.exception("a bug in the companion")
        await asyncio.sleep(AFTER_A_BUG_SECONDS)
