"""The history of a running name server from now on, by a request every half second."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from msgspec import structs

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart, SnapshotScope, take_snapshot
from namekeeper.clock import Clock, SystemClock
from namekeeper.errors import NamekeeperError, ResponseError
from namekeeper.history.sources.snapshots import LiveSteps
from namekeeper.history.sources.source import Present, Steps
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Step
from namekeeper.model.route import TopicRouteData
from namekeeper.remoting.loop_thread import loop_thread
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.wire.codes import ResponseCode

__all__ = ["OpenSender", "RunningSource", "RunningSteps"]

OpenSender = Callable[[], AbstractAsyncContextManager[RequestSender]]

_ASK_MS = 500
"""Interval of the requests."""
_AGAIN_MS = 2_000
"""Interval after a failure."""
_ROUTES_AT_ONCE = 100
"""Routes that are requested each time even if no broker or topic was added or removed: the topics take
turns."""
_SCOPE = SnapshotScope(parts=frozenset({SnapshotPart.TOPIC}))
_FIRST_SCOPE = structs.replace(_SCOPE, with_label=True)


class RunningSource:
    """Running name servers, known by what they answer from now on; a `HistorySource`.

    Args:
        addrs: their addresses.
        open_sender: opens the sender of requests.
        timeout_ms: how long to wait for each answer.
        clock: tells the present; None is the system's.
    """

    keeps_past = False

    def __init__(
        self, addrs: Sequence[str], open_sender: OpenSender, timeout_ms: int, clock: Clock | None = None
    ) -> None:
        self._steps = {addr: RunningSteps(addr, open_sender, timeout_ms, clock) for addr in addrs}

    def namesrvs(self) -> list[str]:
        """Addresses of the name servers, sorted."""
        return sorted(self._steps)

    def steps(
        self,
        namesrv: str,
        _about: str | None = None,
        _since: int | None = None,
        _until: int | None = None,
        /,
    ) -> Steps:
        """All steps that its answers show: it answers for the present only."""
        return self._steps[namesrv]

    def close(self) -> None:
        """Close all connections; may be called twice."""
        for steps in self._steps.values():
            steps.close()


class RunningSteps(Steps):
    """The steps of a name server by its answers; nothing is known of the time before the first one.

    Args:
        addr: its address.
        open_sender: opens the sender of requests.
        timeout_ms: how long to wait for each answer.
        clock: tells the present.
    """

    def __init__(
        self, addr: str, open_sender: OpenSender, timeout_ms: int, clock: Clock | None = None
    ) -> None:
        self._addr, self._timeout_ms = addr, timeout_ms
        self._open_sender = open_sender
        self._clock = clock or SystemClock()
        self._steps = LiveSteps()
        self._is_running = False
        self._open: AsyncExitStack | None = None
        self._namesrv: Namesrv | None = None
        self._snapshot: NamesrvSnapshot | None = None
        self._turn = 0
        """Position in the sorted topics of the next route to request."""
        self._next_ms: int | None = None
        self._heard_at = 0
        """When it answered last, wall ms."""

    def __iter__(self) -> Iterator[Step]:
        """Ask it, if it is time: the steps that its answers show."""
        now = self._clock.now()
        if self._next_ms is not None and now.mono_ms < self._next_ms:
            return
        try:
            self._snapshot = loop_thread().run(self._ask(), timeout_seconds=None)
        except NamekeeperError as error:
            self._snapshot = None
            self.problem, self._is_running = str(error), False
            yield from self._steps.fell_silent(self._heard_at)
        else:
            self._heard_at = self._clock.now().wall_ms
            self.problem, self._is_running = "", True
            yield from self._steps.answered(self._snapshot, self._heard_at)
        self.progress = (1, 1)
        self._next_ms = self._clock.now().mono_ms + (_ASK_MS if self._is_running else _AGAIN_MS)

    def present(self, _coverage: Coverage, /) -> Present:
        """The rows are those of the last answer."""
        return Present(self._is_running, self._heard_at if self._is_running else None)

    def close(self) -> None:
        """Close its connection; may be called twice."""
        opened, self._open = self._open, None
        if opened is not None:
            loop_thread().run(opened.aclose(), timeout_seconds=None)

    async def _ask(self) -> NamesrvSnapshot:
        """The present answers of the name server.

        While brokers and topics stay the same, only some routes are requested, in turn.
        """
        namesrv = await self._connected()
        last = self._snapshot
        if last is None:
            return await take_snapshot(namesrv, _FIRST_SCOPE, _no_progress)
        info = await operations.cluster_info(namesrv)
        topics = (await operations.all_topics(namesrv)).topic_list
        if dict(info.broker_addr_table) != last.brokers or set(topics) != last.routes.keys():
            return await take_snapshot(namesrv, _SCOPE, _no_progress)
        routes = dict(last.routes)
        for topic in self._next_topics(sorted(topics)):
            routes[topic] = await _route(namesrv, topic)
        return structs.replace(last, routes=routes)

    def _next_topics(self, topics: list[str]) -> list[str]:
        begin = self._turn if self._turn < len(topics) else 0
        self._turn = begin + _ROUTES_AT_ONCE
        return topics[begin : self._turn]

    async def _connected(self) -> Namesrv:
        if self._open is None or self._namesrv is None:
            self._open = AsyncExitStack()
            sender = await self._open.enter_async_context(self._open_sender())
            self._namesrv = Namesrv(self._addr, sender, self._timeout_ms)
        return self._namesrv


async def _route(namesrv: Namesrv, topic: str) -> TopicRouteData | None:
    try:
        return await operations.topic_route(namesrv, topic)
    except ResponseError as error:
        if error.code != ResponseCode.TOPIC_NOT_EXIST:
            raise
        return None


def _no_progress(_what: str, _done: int, _total: int) -> None:
    """Ignore the progress."""
