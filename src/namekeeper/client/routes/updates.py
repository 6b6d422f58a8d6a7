"""Updates of routes: ask name servers, compare, change the tables, send events (protocol.md 7.4)."""

import asyncio
import logging
from collections.abc import Iterable

from namekeeper.client.groups import RETRY_GROUP_TOPIC_PREFIX
from namekeeper.client.name_servers import Answered, NameServers
from namekeeper.client.queues.route_queues import cap_default_topic_queues
from namekeeper.client.routes.disk_cache import RouteDiskCache
from namekeeper.client.routes.event_stream import EventStreams
from namekeeper.client.routes.events import RouteVanished, route_events
from namekeeper.client.routes.fetch import FetchedRoute, RouteInterner, fetch_route
from namekeeper.client.routes.freshness import RouteFreshness
from namekeeper.client.routes.tables import ClientTables
from namekeeper.clock import Clock
from namekeeper.errors import NamekeeperError, NoNameServerError, RemotingClosedError
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import DEFAULT_TOPIC
from namekeeper.remoting.request_sender import RequestSender

__all__ = ["RouteUpdates"]

_log = logging.getLogger("namekeeper.client")

_Found = Answered[FetchedRoute | None]


class RouteUpdates:
    """Updates of one client; those of one topic that are asked for at the same time are one request.

    A route stays in use when name servers say that the topic doesn't exist, as in Java. Before
    `RouteVanished` is sent, the other name servers are asked once too: if one of them still has the route,
    its answer counts.
    """

    def __init__(  # noqa: PLR0913 - each is a part of the client, by name
        self,
        sender: RequestSender,
        namesrvs: NameServers,
        *,
        tables: ClientTables,
        streams: EventStreams,
        clock: Clock,
        timeout_ms: int,
        saved: RouteDiskCache | None = None,
    ) -> None:
        """Take the parts; `timeout_ms` is for one update, however many name servers are asked."""
        self._saved = saved or RouteDiskCache("")
        self.freshness = RouteFreshness()
        self._sender = sender
        self._namesrvs = namesrvs
        self._tables = tables
        self._streams = streams
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._interner = RouteInterner()
        self._under_way: dict[tuple[str, int | None, str], asyncio.Task[bool]] = {}
        self.is_closed = False

    @property
    def under_way(self) -> int:
        """Updates that wait for a name server."""
        return len(self._under_way)

    async def update(
        self, topic: str, *, default_topic_queue_nums: int | None = None, template: str = DEFAULT_TOPIC
    ) -> bool:
        """Bring a topic up to date; return whether anything changed.

        Args:
            topic: its name.
            default_topic_queue_nums: take the route of the template for it, with so many queues at most.
            template: the name of that topic.

        Raises:
            NoNameServerError: no name server gave a good answer in time.
            RouteDataError: the answer can't be turned into queues.
            RemotingClosedError: the client is shut down.
        """
        task = self.begin(topic, default_topic_queue_nums=default_topic_queue_nums, template=template)
        try:
            # Other callers may wait for the same update: cancelling one caller must not end it.
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and self.is_closed:
                raise RemotingClosedError("client", "it was shut down meanwhile") from None
            raise

    def begin(
        self, topic: str, *, default_topic_queue_nums: int | None = None, template: str = DEFAULT_TOPIC
    ) -> asyncio.Task[bool]:
        """Start an update without waiting for it, or return the one under way.

        Raises:
            RemotingClosedError: the client is shut down.
        """
        if self.is_closed:
            raise RemotingClosedError("client", "it is shut down")
        key = (topic, default_topic_queue_nums, template)
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._update(*key), name=f"route of {topic}")
            self._under_way[key] = task
            task.add_done_callback(lambda ended: self._ended(key, ended))
        return task

    async def close(self) -> None:
        """Cancel the updates under way; may be called twice."""
        self.is_closed = True
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, key: tuple[str, int | None, str], task: asyncio.Task[bool]) -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # retrieve the exception here, because all callers may have been cancelled

    async def _update(self, topic: str, default_topic_queue_nums: int | None, template: str) -> bool:
        try:
            if default_topic_queue_nums is None:
                return await self._update_own(topic)
            return await self._update_from_template(topic, default_topic_queue_nums, template)
        except NamekeeperError as error:
            now = self._clock.now()
            if isinstance(error, NoNameServerError):
                self.freshness.cut_off(now, error)
            elif self.freshness.is_new_failure(topic, error):
                _log.warning("topic %s is not up to date: %s", topic, error)
            self.freshness.failed(topic, now, error)
            if isinstance(error, NoNameServerError) and self._take_saved(topic):
                return True
            raise

    async def _update_own(self, topic: str) -> bool:
        in_use = self._tables.topic_route_table.get(topic)
        found, reported_by, unreachable = await self._ask(topic)
        if found.value is None:
            self._absent(topic, in_use, reported_by, unreachable)
            return False
        route = found.value.route
        if route is None:
            assert in_use is not None  # its digest was known
            route = in_use
        return self._apply(topic, route, found)

    def _take_saved(self, topic: str) -> bool:
        """Use the route on disk for a topic that has none yet; return whether a group got what it lacked."""
        known = self._tables.topic_route_table.get(topic)
        if known is not None:
            return self._tables.is_need_update(topic) and self._tables.update(topic, known)
        route = self._saved.get(topic)
        if route is None:
            return False
        _log.warning("topic %s: no name server answers, so its saved route is used", topic)
        events = list(route_events(topic, None, route, was_absent=False, is_template=False))
        self._tables.update(topic, route)
        self._streams.put(events)
        return True

    async def _update_from_template(self, topic: str, queue_nums: int, template: str) -> bool:
        found = await self._namesrvs.ask(
            lambda addr, timeout_ms: fetch_route(self._sender, addr, template, timeout_ms=timeout_ms),
            timeout_ms=self._timeout_ms,
        )
        if found.value is None or found.value.route is None:
            return False
        return self._apply(
            topic, cap_default_topic_queues(found.value.route, queue_nums), found, is_template=True
        )

    async def _ask(self, topic: str) -> tuple[_Found, tuple[str, ...], tuple[str, ...]]:
        """Ask for a topic's own route.

        Returns:
            The answer that counts, the name servers without the topic, and those that did not answer.
        """
        last_digest = self.freshness.digest(topic)

        async def question(addr: str, timeout_ms: int) -> FetchedRoute | None:
            return await fetch_route(
                self._sender, addr, topic, timeout_ms=timeout_ms, last_digest=last_digest
            )

        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_ms / 1000
        found = await self._namesrvs.ask(question, timeout_ms=self._timeout_ms)
        if found.value is not None or not self._is_newly_absent(topic):
            return found, (found.namesrv_addr,), ()
        others = [addr for addr in self._namesrvs.addrs if addr != found.namesrv_addr]
        left_ms = max(int((deadline - loop.time()) * 1000), 1)
        answers, failures = await self._namesrvs.ask_each(others, question, timeout_ms=left_ms)
        for answer in answers:
            if answer.value is not None:
                self._namesrvs.prefer(answer.namesrv_addr)
                return answer, (), ()
        reported_by = (found.namesrv_addr, *(answer.namesrv_addr for answer in answers))
        return found, reported_by, tuple(failures)

    def _is_newly_absent(self, topic: str) -> bool:
        """Whether the topic's own route is in use and was not reported absent before."""
        knowledge = self.freshness
        return (
            topic in self._tables.topic_route_table
            and not knowledge.is_template(topic)
            and not knowledge.is_absent(topic)
        )

    def _absent(
        self,
        topic: str,
        in_use: TopicRouteData | None,
        reported_by: tuple[str, ...],
        unreachable: tuple[str, ...],
    ) -> None:
        is_new = self._is_newly_absent(topic)
        if not self.freshness.is_absent(topic) and not topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
            level, kept = logging.INFO, ""
            if in_use is not None:
                level, kept = logging.WARNING, "; the route from before stays in use"
            _log.log(level, "No route info of topic %s at %s%s", topic, ";".join(reported_by), kept)
        self.freshness.absent(topic, self._clock.now())
        if is_new and in_use is not None:
            self._streams.put([RouteVanished(topic, in_use, in_use, reported_by, unreachable)])

    def _apply(
        self, topic: str, fetched: TopicRouteData, found: _Found, *, is_template: bool = False
    ) -> bool:
        """Put a route in the tables and send its events."""
        old = self._tables.topic_route_table.get(topic)
        route = fetched if fetched is old else self._interner.intern(fetched)
        events = list(
            route_events(
                topic, old, route, was_absent=self.freshness.is_absent(topic), is_template=is_template
            )
        )
        is_changed = self._tables.update(topic, route)
        if is_changed and not is_template:
            self._saved.put(topic, route)
        digest = b"" if is_template or found.value is None else found.value.digest
        self.freshness.confirm(
            topic, self._clock.now(), found.namesrv_addr, digest=digest, is_template=is_template
        )
        if events:
            _log.info("route of topic %s: %s", topic, ", ".join(_names(events)))
        self._streams.put(events)
        return is_changed


def _names(events: Iterable[object]) -> list[str]:
    return [type(event).__name__ for event in events]
