"""The history of a running name server from now on, by a request every half second."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from msgspec import structs

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart, SnapshotScope, take_snapshot
from namekeeper.answers.row_versions import RowVersions
from namekeeper.clock import Clock, SystemClock
from namekeeper.console.histories import Followed, HistoryLock
from namekeeper.console.live_steps import LiveSteps
from namekeeper.errors import NamekeeperError, ResponseError
from namekeeper.journal.reading.history import Step
from namekeeper.model.route import TopicRouteData
from namekeeper.remoting.loop_thread import loop_thread
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.wire.codes import ResponseCode

__all__ = ["LiveHistory", "OpenSender"]

OpenSender = Callable[[], AbstractAsyncContextManager[RequestSender]]

_ASK_MS = 500
"""Interval of the requests."""
_AGAIN_MS = 2_000
"""Interval after a failure."""
_ROUTES_AT_ONCE = 100
"""Routes that are requested each time even if no broker or topic was added or removed: the topics take
turns."""
_SCOPE = SnapshotScope(parts=frozenset({SnapshotPart.TOPIC}))


class LiveHistory:
    """The history of a name server from its answers; nothing is known of the time before the first one.

    Args:
        addr: its address.
        open_sender: opens the sender of requests.
        timeout_ms: how long to wait for each answer.
        clock: tells the present.
    """

    def __init__(
        self, addr: str, open_sender: OpenSender, timeout_ms: int, clock: Clock | None = None
    ) -> None:
        self.followed = Followed(RowVersions(addr), progress=(0, 1))
        self._addr, self._timeout_ms = addr, timeout_ms
        self._open_sender = open_sender
        self._clock = clock or SystemClock()
        self._steps = LiveSteps()
        self._open: AsyncExitStack | None = None
        self._namesrv: Namesrv | None = None
        self._snapshot: NamesrvSnapshot | None = None
        self._turn = 0
        """Position in the sorted topics of the next route to request."""
        self._next_ms: int | None = None
        self._heard_at = 0

    def begin(self, _lock: HistoryLock, /) -> bool:
        """Show nothing: it is there with its first answer."""
        return False

    def read(self, lock: HistoryLock) -> bool:
        """Ask it, if it is time; returns whether anything that is shown has changed.

        Args:
            lock: held while the history is changed.
        """
        now = self._clock.now()
        if self._next_ms is not None and now.mono_ms < self._next_ms:
            return False
        before = (self.followed.problem, self.followed.is_running)
        try:
            self._snapshot = loop_thread().run(self._ask(), timeout_seconds=None)
        except NamekeeperError as error:
            self._snapshot = None
            self.followed.problem, self.followed.is_running = str(error), False
            count = self._take(self._steps.fell_silent(self._heard_at), lock)
            self.followed.versions.extend(None)
        else:
            self._heard_at = self._clock.now().wall_ms
            self.followed.problem, self.followed.is_running = "", True
            count = self._take(self._steps.answered(self._snapshot, self._heard_at), lock)
            self.followed.versions.extend(self._heard_at)
        self.followed.progress = (1, 1)
        pause_ms = _ASK_MS if self.followed.is_running else _AGAIN_MS
        self._next_ms = self._clock.now().mono_ms + pause_ms
        return bool(count) or before != (self.followed.problem, self.followed.is_running)

    def close(self) -> None:
        """Close its connection; may be called twice."""
        opened, self._open = self._open, None
        if opened is not None:
            loop_thread().run(opened.aclose(), timeout_seconds=None)

    def _take(self, steps: Iterable[Step], lock: HistoryLock) -> int:
        count = 0
        with lock:
            for step in steps:
                self.followed.versions.take(step)
                count += 1
        return count

    async def _ask(self) -> NamesrvSnapshot:
        """Its present answers; with the same brokers and topics, only some routes are requested, in turn."""
        namesrv = await self._connected()
        last = self._snapshot
        if last is None:
            return await take_snapshot(namesrv, _SCOPE, _no_progress)
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
