"""`clusterTest=true`: unknown topics are looked up in another environment (protocol.md 5.7).

As in 4.8: only request 105, always in the legacy form, with order configuration. The address server lists the
name servers of the other environment for the unit `productEnvName`.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Mapping
from functools import partial

from msgspec import structs

from namekeeper.clock import Clock
from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import ConfigError, RemotingError
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.messages.bodies import encode_topic_route
from namekeeper.model.route import TopicRouteData
from namekeeper.nsaddr import address_server_url, fetch_name_server_addresses
from namekeeper.processor.dispatch import READERS
from namekeeper.processor.handlers import Reader
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.route_answers import no_route
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.log_limit import LogLimit
from namekeeper.remoting.tls_client import Tls
from namekeeper.route.queries import topic_route
from namekeeper.wire.codes import RequestCode, ResponseCode, version_ordinal
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["ClusterTest"]

REFRESH_MS = 120_000
"""Time for which a list of name servers is used; Java's clients ask as often."""
RETRY_MS = 10_000
"""Time before the next request to an address server that gave no list."""
FETCH_SECONDS = 2.0
ASK_MS = 1_000
"""Time limit for one name server."""
LOOKUP_SECONDS = 3.0
"""Time limit for everything: then a client of this server gives up."""
MAX_UNDER_WAY = 64
"""Lookups at once: unknown topics must not keep the server busy."""
CONNECTIONS_LIMIT = 16
"""Connections to name servers of the other environment: its address server chooses their number."""
PASSED_ON = "__CLUSTER_TEST"
"""Ext field of requests that a name server passed on. Another one does not pass them on again: otherwise two
name servers that are each other's other environment would go on for ever."""

_LEGACY_VERSION = version_ordinal("4.8.0")
"""A client of this release gets the legacy form, which this server then passes on unchanged."""

_log = logging.getLogger("namekeeper.cluster_test")


class ClusterTest:
    """Looks up routes here, and if there is none in the other environment."""

    def __init__(self, settings: NamesrvSettings, *, clock: Clock, tls: Tls | None = None) -> None:
        self.readers: Mapping[int, Reader] = {**READERS, RequestCode.GET_ROUTEINFO_BY_TOPIC: _read_route}
        """The handlers of `READERS`, with the one of request 105 replaced."""
        self._url = address_server_url(
            settings.namesrv_domain,
            subgroup=settings.namesrv_domain_subgroup,
            unit_name=settings.product_env_name or None,
        )
        self._clock = clock
        self._client = RemotingClient(
            tls=tls,
            rpc_hook=_as_old_client,
            max_connections=CONNECTIONS_LIMIT,
            idle_seconds=REFRESH_MS / 1_000,
        )
        self._namesrv_addrs: list[str] = []
        self._fetch_again_at_ms = clock.now().mono_ms
        self._fetching = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()
        self._log_limit = LogLimit(_log)

    def topic_to_look_up(self, request: RemotingCommand, response: Response) -> str | None:
        """The topic to look up elsewhere, if there is no route of it here."""
        fields = request.ext_fields or {}
        if response.code != ResponseCode.TOPIC_NOT_EXIST or PASSED_ON in fields:
            return None
        return fields.get("topic")

    def look_up(self, topic: str, done: Callable[[bytes | None], None]) -> None:
        """Ask the other environment; `done` gets the body of its answer, or None, perhaps at once."""
        if len(self._under_way) >= MAX_UNDER_WAY:
            self._warn("look-up of %s left out: too many under way", topic)
            done(None)
            return
        task = asyncio.get_running_loop().create_task(self._answer(topic, done))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def route(self, topic: str) -> bytes | None:
        """The route of a topic from the first name server that answers."""
        for addr in await self._addresses():
            try:
                answer = await self._client.invoke(
                    addr,
                    RequestCode.GET_ROUTEINFO_BY_TOPIC,
                    {"topic": topic, PASSED_ON: "true"},
                    timeout_ms=ASK_MS,
                )
            except RemotingError as error:
                self._warn("%s", error)
                continue
            return answer.body if answer.code == ResponseCode.SUCCESS and answer.body else None
        return None

    async def close(self) -> None:
        """Cancel the lookups under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._client.close()

    async def _answer(self, topic: str, done: Callable[[bytes | None], None]) -> None:
        body = None
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                body = await self.route(topic)
        except TimeoutError:
            self._warn("look-up of %s given up after %g s", topic, LOOKUP_SECONDS)
        except Exception as error:  # noqa: BLE001 - a bug: the client gets an answer all the same
            self._log_limit.log(logging.ERROR, "look-up of %s failed", topic, error=error)
        done(body)

    async def _addresses(self) -> list[str]:
        """The other environment's name servers; without a new list the old one."""
        async with self._fetching:
            now_ms = self._clock.now().mono_ms
            if now_ms >= self._fetch_again_at_ms:
                try:
                    self._namesrv_addrs = await fetch_name_server_addresses(
                        self._url, timeout_seconds=FETCH_SECONDS
                    )
                    self._fetch_again_at_ms = now_ms + REFRESH_MS
                except ConfigError as error:
                    self._warn("%s", error)
                    self._fetch_again_at_ms = now_ms + RETRY_MS
        return self._namesrv_addrs

    def _warn(self, message: str, *args: object) -> None:
        self._log_limit.log(logging.WARNING, f"clusterTest: {message}", *args)


def _read_route(state: NameServerState, request: RemotingCommand) -> Response | Sliced:
    """GET_ROUTEINFO_BY_TOPIC as in ClusterTestRequestProcessor: no zones, no waiting for service."""
    topic = (request.ext_fields or {}).get("topic")
    if topic is None:
        return no_route(topic)
    if state.route_answers.is_wide(topic):
        return Sliced(topic, partial(_wide_route, state, topic))
    route = _ordered_route(state, topic)
    if route is None:
        return no_route(topic)
    return Response(body=encode_topic_route(route, standard=False))


def _wide_route(state: NameServerState, topic: str) -> Generator[None, None, Response]:
    route = _ordered_route(state, topic)
    yield
    if route is None:
        return no_route(topic)
    return Response(body=(yield from state.route_answers.encode_in_slices(route, standard=False)))


def _ordered_route(state: NameServerState, topic: str) -> TopicRouteData | None:
    support_acting_master = state.settings.support_acting_master
    route = topic_route(state.tables, topic, support_acting_master=support_acting_master)
    if route is None:
        return None
    return structs.replace(route, order_topic_conf=state.kv_config.find(ORDER_TOPIC_CONFIG, topic))


def _as_old_client(_addr: str, request: RemotingCommand) -> None:
    request.version = _LEGACY_VERSION
