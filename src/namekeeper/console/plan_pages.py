"""The requests that plan: maintenance windows are started, listed and ended; the expected state is replaced.

A user of the access rules must be proved, and each accepted request is a line of the log beside the expected
state. A refusal is a line of the process, and is counted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC
from typing import Annotated, TypeVar

import msgspec
from aiohttp import web
from msgspec import Meta, Struct
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from namekeeper.access.names import Names
from namekeeper.access.planning import plan_parts
from namekeeper.answers.times import instant_of
from namekeeper.clock import Clock
from namekeeper.common.durations import LATEST_MS
from namekeeper.common.printable import printable
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import ConfigError
from namekeeper.expected.maintenance import Author, Scope, window_value
from namekeeper.expected.plan import ChangedMeanwhileError, PlanFiles, digest_of
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.http.doors import Doors, Planner
from namekeeper.http.page_clients import client_of, token_of
from namekeeper.http.page_files import problem
from namekeeper.http.page_table import Answer, Page, Style, json_answer
from namekeeper.remoting.log_limit import LogLimit

__all__ = ["PLAN_PATHS", "TEXT_BYTES", "PlanCollector", "PlanPages"]

log = logging.getLogger("namekeeper.console")

WINDOWS, END, EXPECTED = "/api/maintenance", "/api/maintenance/end", "/api/expected"
PLAN_PATHS = frozenset({WINDOWS, END, EXPECTED})
TEXT_BYTES = 16 << 20
"""Longest expected state that is sent: clients take no longer answers. A longer one is edited on disk."""
BODY_BYTES = 32 << 10
"""Longest body of a window: hundreds of names."""
IDS_LIMIT = 100
_WRITES = Style(problem, 403)
_READS = Style(problem, 401)

T = TypeVar("T", bound=Struct)
_Name = Annotated[str, Meta(min_length=1, max_length=255)]
_Duration = Annotated[int, Meta(ge=1, le=LATEST_MS)]


class _WindowStart(Struct, forbid_unknown_fields=True):
    """The body of a request that starts a window."""

    for_ms: _Duration
    begin: str | None = msgspec.field(name="from", default=None)
    """A time, ISO 8601; None: now, by the clock of this process."""
    brokers: tuple[_Name, ...] = ()
    topics: tuple[_Name, ...] = ()
    clusters: tuple[_Name, ...] = ()
    name_servers: tuple[_Name, ...] = ()
    why: str = ""


class _WindowEnd(Struct, forbid_unknown_fields=True):
    """The body of a request that ends windows."""

    ids: Annotated[tuple[_Name, ...], Meta(min_length=1, max_length=IDS_LIMIT)]
    why: str = ""


class PlanCollector(Collector):
    """The number of requests that wanted to write, by whether access rules allow them."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield the family."""
        family = CounterMetricFamily(
            "namekeeper_planning_requests",
            "Requests to write maintenance windows or the expected state, by the decision of access rules.",
            labels=("decision",),
        )
        for decision, count in self._counts.items():
            family.add_metric((decision,), count)
        yield family


class _RefusedError(Exception):
    """Access rules refuse the request; the text says why."""


class PlanPages:
    """Makes the pages; their requests are handled one after the other.

    Args:
        plan: what is written.
        doors: decides who may.
        clock: decides when a window begins.
        changed: awaited after each change.
    """

    def __init__(
        self, plan: PlanFiles, doors: Doors, clock: Clock, changed: Callable[[], Awaitable[object]]
    ) -> None:
        self._plan, self._doors, self._clock, self._changed = plan, doors, clock, changed
        self._threads = DaemonThreads("plan", 1)
        self._log_limit = LogLimit(log)
        self.counts = {"allowed": 0, "refused": 0}
        """Decision of the access rules -> number of requests."""

    def table(self) -> dict[str, Page]:
        """The pages by their paths."""
        start = self._writing(self._start, "POST", BODY_BYTES, "application/json")
        end = self._writing(self._end, "POST", BODY_BYTES, "application/json")
        replace = self._writing(self._replace, "PUT", TEXT_BYTES, "application/toml", is_of_all=True)
        return {
            WINDOWS: Page(self._answering(self._list), style=_READS, writing=start),
            END: end,
            EXPECTED: Page(self._answering(self._text), style=_READS, writing=replace),
        }

    def _writing(
        self, answer: Answer, method: str, body_bytes: int, content_type: str, *, is_of_all: bool = False
    ) -> Page:
        def refuse(request: web.BaseRequest, _tokens: list[str]) -> str | None:
            """Refuse before the body is read, as far as rules can decide without it."""
            found = self._planner(request, plan_parts(Names()) if is_of_all else [])
            return found if isinstance(found, str) else None

        return Page(
            self._answering(answer), style=_WRITES, method=method, body_bytes=body_bytes,
            content_type=content_type, refuse=refuse, turn=asyncio.Lock() if is_of_all else None,
            full="another text is being put in its place: try again",
        )  # fmt: skip

    def _planner(self, request: web.BaseRequest, parts: list[Names]) -> Planner | str:
        found = self._doors.planner(client_of(request), token_of(request), parts)
        if isinstance(found, str):
            self.counts["refused"] += 1
            self._log_limit.log(
                logging.WARNING, "%s %s of %s is refused: %s", request.method, request.path,
                printable(str(request.remote)), printable(found),
            )  # fmt: skip
        return found

    def _author(self, request: web.BaseRequest, parts: list[Names]) -> Author:
        """The user who may write, for the log.

        Raises:
            _RefusedError: nobody proved may.
        """
        found = self._planner(request, parts)
        if isinstance(found, str):
            raise _RefusedError(found)
        self.counts["allowed"] += 1
        return Author(who=f"{found.user}@{_address_of(request)}", rule=found.rule)

    def _answering(self, answer: Answer) -> Answer:
        async def answered(request: web.BaseRequest) -> web.StreamResponse:
            try:
                return await answer(request)
            except _RefusedError as error:
                return problem(403, str(error))
            except ChangedMeanwhileError as error:
                return problem(412, str(error))
            except ConfigError as error:
                return problem(400, str(error))

        return answered

    async def _list(self, _request: web.BaseRequest) -> web.Response:
        data = await self._threads.run(self._listed, self._now())
        return web.Response(body=data, content_type="application/json")

    def _listed(self, now: int) -> bytes:
        """All windows, as JSON: a log may have thousands."""
        values = [*map(window_value, self._plan.windows())]
        return msgspec.json.encode({"now": now, "windows": values, "notes": self._plan.notes})

    async def _start(self, request: web.BaseRequest) -> web.Response:
        wanted = _body(await request.read(), _WindowStart)
        now = self._now()
        begin = None if wanted.begin is None else instant_of(wanted.begin, now_ms=now, zone=UTC)
        scope = Scope(
            brokers=wanted.brokers, topics=wanted.topics, clusters=wanted.clusters,
            name_servers=wanted.name_servers,
        )  # fmt: skip
        by = self._author(request, _parts([scope]))
        started = await self._threads.run(
            lambda: self._plan.start(scope, for_ms=wanted.for_ms, begin=begin, by=by, why=wanted.why, now=now)
        )
        await self._changed()
        return json_answer(200, {**window_value(started.window), "notes": started.notes})

    async def _end(self, request: web.BaseRequest) -> web.Response:
        wanted = _body(await request.read(), _WindowEnd)
        now = self._now()
        found = await self._threads.run(self._plan.lasting, wanted.ids, now)
        by = self._author(request, _parts([each.scope for each in found]))
        await self._threads.run(lambda: self._plan.end(wanted.ids, by=by, why=wanted.why, now=now))
        await self._changed()
        return json_answer(200, {"ids": wanted.ids})

    async def _text(self, _request: web.BaseRequest) -> web.Response:
        data = await self._threads.run(self._plan.text)
        if len(data) > TEXT_BYTES:
            raise ConfigError(f"the expected state has more than {TEXT_BYTES:,} bytes: read it on disk")
        etag = {"ETag": f'"{digest_of(data)}"'}
        return web.Response(body=data, content_type="application/toml", charset="utf-8", headers=etag)

    async def _replace(self, request: web.BaseRequest) -> web.Response:
        before = request.headers.get("If-Match", "").strip().strip('"')
        if not before:
            return problem(428, "say which text is replaced: If-Match has its digest, as the ETag of GET")
        text = await request.read()
        by = self._author(request, plan_parts(Names()))
        why, now = request.query.get("why", ""), self._now()
        after = await self._threads.run(lambda: self._plan.replace(text, before, by=by, why=why, now=now))
        await self._changed()
        return json_answer(200, {"before": before, "after": after})

    def _now(self) -> int:
        return self._clock.now().wall_ms


def _address_of(request: web.BaseRequest) -> str:
    transport = request.transport
    host, port = ((transport and transport.get_extra_info("peername")) or ("", 0))[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _parts(scopes: list[Scope]) -> list[Names]:
    """The parts that access rules decide on, of each window alone."""
    return [
        part
        for each in scopes
        for part in plan_parts(
            Names(
                clusters=frozenset(each.clusters),
                brokers=frozenset(each.brokers),
                topics=frozenset(each.topics),
            ),
            has_others=bool(each.name_servers),
        )
    ]


def _body(data: bytes, form: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=form)
    except UNREADABLE_JSON as error:
        raise ConfigError(f"the body can't be used: {error}") from None
