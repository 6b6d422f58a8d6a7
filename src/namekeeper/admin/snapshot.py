"""The state of a name server, as far as requests show it; `compare` compares two snapshots."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import TypeVar

from msgspec import Struct, field

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.views import first_line
from namekeeper.errors import RemotingTimeoutError, ResponseError
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.messages.registration import QueryDataVersionRequestHeader
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import ClusterInfo, TopicRouteData
from namekeeper.model.version import DataVersion
from namekeeper.wire.codes import ResponseCode

__all__ = ["NamesrvSnapshot", "Progress", "SnapshotPart", "SnapshotScope", "take_snapshot"]


T = TypeVar("T")
R = TypeVar("R")

LABEL_PROPERTY = "clusterLabel"
"""The property of the configuration that has the label of the cluster of a name server."""

Progress = Callable[[str, int, int], None]
"""Called with the name of what is requested, the number of answers so far, and the expected number."""


class SnapshotPart(StrEnum):
    """A part of a snapshot; a comparison leaves out a part that a server refuses."""

    CLUSTER = "cluster"
    BROKER = "broker"
    TOPIC = "topic"
    CLUSTER_TOPICS = "topics of cluster"
    MEMBER_GROUP = "member group"
    KV = "kv config"
    DATA_VERSION = "data version"
    CONFIG = "configuration"


class SnapshotScope(Struct, frozen=True):
    """The parts to request, and the number of requests at a time."""

    parts: frozenset[SnapshotPart] = frozenset(SnapshotPart)
    """Parts to request; the others stay empty."""
    namespaces: tuple[str, ...] = (ORDER_TOPIC_CONFIG,)
    """KV namespaces; a name server can't list them."""
    with_config: bool = False
    with_label: bool = False
    """Whether to request the label of the cluster of name servers, which is in the configuration."""
    with_data_versions: bool = False
    """Off by default, because a name server treats the question as a heartbeat of the broker (protocol.md
    2.8)."""
    at_once: int = 32
    """Requests at a time: enough to hide the round trip, few enough not to slow down clients."""


class NamesrvSnapshot(Struct, frozen=True):
    """The answers of one name server."""

    addr: str
    clusters: dict[str, frozenset[str]] = field(default_factory=dict)
    brokers: dict[str, BrokerData] = field(default_factory=dict)
    routes: dict[str, TopicRouteData | None] = field(default_factory=dict)
    """Topic -> its route; None for a listed topic without a route."""
    cluster_topics: dict[str, frozenset[str]] = field(default_factory=dict)
    member_groups: dict[tuple[str, str], dict[int, str]] = field(default_factory=dict)
    """(cluster, broker name) -> broker id -> address."""
    kv: dict[str, dict[str, str] | None] = field(default_factory=dict)
    data_versions: dict[tuple[str, str], DataVersion | None] = field(default_factory=dict)
    """(cluster, broker address) -> version."""
    config: dict[str, str] = field(default_factory=dict)
    cluster_label: str = ""
    """Label of the cluster of name servers; empty: none, or it was refused or not requested."""
    missing: dict[SnapshotPart, str] = field(default_factory=dict)
    """Parts that it refused -> its reason."""


async def take_snapshot(namesrv: Namesrv, scope: SnapshotScope, progress: Progress) -> NamesrvSnapshot:
    """Ask a name server for everything in `scope`; only the cluster information must not be refused."""
    info = await operations.cluster_info(namesrv)
    asking = _SnapshotQuestions(namesrv, scope, progress)
    return NamesrvSnapshot(
        addr=namesrv.addr,
        clusters={name: frozenset(members) for name, members in info.cluster_addr_table.items()},
        brokers=dict(info.broker_addr_table),
        routes=await asking.part(SnapshotPart.TOPIC, asking.routes) or {},
        cluster_topics=await asking.part(SnapshotPart.CLUSTER_TOPICS, partial(asking.cluster_topics, info))
        or {},
        member_groups=await asking.part(SnapshotPart.MEMBER_GROUP, partial(asking.member_groups, info)) or {},
        kv=await asking.part(SnapshotPart.KV, asking.kv) or {},
        data_versions=await asking.part(SnapshotPart.DATA_VERSION, partial(asking.data_versions, info)) or {},
        config=await asking.part(SnapshotPart.CONFIG, asking.config) or {},
        cluster_label=await asking.cluster_label(),
        missing=asking.missing,
    )


class _SnapshotQuestions:
    """The requests to one name server, and the parts that it refused."""

    def __init__(self, namesrv: Namesrv, scope: SnapshotScope, progress: Progress) -> None:
        self.namesrv = namesrv
        self.scope = scope
        self.progress = progress
        self.missing: dict[SnapshotPart, str] = {}

    async def part(self, part: SnapshotPart, ask: Callable[[], Awaitable[T]]) -> T | None:
        if part not in self.scope.parts:
            return None
        try:
            return await ask()
        except ResponseError as error:
            self.missing[part] = first_line(error.remark or f"code {error.code}")
        return None

    async def routes(self) -> dict[str, TopicRouteData | None]:
        topics = (await operations.all_topics(self.namesrv)).topic_list
        return await self._each(SnapshotPart.TOPIC, sorted(topics), self._route)

    async def cluster_topics(self, info: ClusterInfo) -> dict[str, frozenset[str]]:
        async def topics(cluster: str) -> frozenset[str]:
            return frozenset((await operations.topics_by_cluster(self.namesrv, cluster)).topic_list)

        return await self._each(SnapshotPart.CLUSTER_TOPICS, sorted(info.cluster_addr_table), topics)

    async def member_groups(self, info: ClusterInfo) -> dict[tuple[str, str], dict[int, str]]:
        async def members(key: tuple[str, str]) -> dict[int, str]:
            return (await operations.broker_member_group(self.namesrv, *key)).broker_addrs

        keys = sorted((broker.cluster, name) for name, broker in info.broker_addr_table.items())
        try:  # a 4.x name server never answers this request: ask it only once
            first = {key: await members(key) for key in keys[:1]}
        except RemotingTimeoutError as error:
            code = ResponseCode.REQUEST_CODE_NOT_SUPPORTED
            raise ResponseError(error.addr, code, "no answer; a 4.x name server never answers this") from None
        return first | await self._each(SnapshotPart.MEMBER_GROUP, keys[1:], members)

    async def kv(self) -> dict[str, dict[str, str] | None]:
        namespaces = self.scope.namespaces
        return {namespace: await operations.kv_list(self.namesrv, namespace) for namespace in namespaces}

    async def data_versions(self, info: ClusterInfo) -> dict[tuple[str, str], DataVersion | None]:
        if not self.scope.with_data_versions:
            return {}
        headers = {(header.cluster_name, header.broker_addr): header for header in _live_brokers(info)}

        async def version(key: tuple[str, str]) -> DataVersion | None:
            return (await operations.query_data_version(self.namesrv, headers[key])).data_version

        return await self._each(SnapshotPart.DATA_VERSION, sorted(headers), version)

    async def config(self) -> dict[str, str]:
        return await operations.get_namesrv_config(self.namesrv) if self.scope.with_config else {}

    async def cluster_label(self) -> str:
        if not self.scope.with_label:
            return ""
        try:
            config = await operations.get_namesrv_config(self.namesrv)
        except ResponseError:
            return ""
        return config.get(LABEL_PROPERTY, "")

    async def _route(self, topic: str) -> TopicRouteData | None:
        try:
            return await operations.topic_route(self.namesrv, topic)
        except ResponseError as error:
            if error.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            return None

    async def _each(
        self, part: SnapshotPart, keys: Sequence[T], ask: Callable[[T], Awaitable[R]]
    ) -> dict[T, R]:
        """Ask for each key, with a limited number of requests at a time."""
        answers: dict[T, R] = {}
        left = iter(keys)

        async def ask_keys() -> None:
            for key in left:
                answers[key] = await ask(key)
                self.progress(part, len(answers), len(keys))

        workers = [asyncio.create_task(ask_keys()) for _ in range(min(self.scope.at_once, len(keys)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
        return answers


def _live_brokers(info: ClusterInfo) -> Iterable[QueryDataVersionRequestHeader]:
    for name, broker in info.broker_addr_table.items():
        for broker_id, addr in broker.broker_addrs.items():
            yield QueryDataVersionRequestHeader(
                broker_name=name, broker_addr=addr, cluster_name=broker.cluster, broker_id=broker_id
            )
