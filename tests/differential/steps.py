"""What a sequence is made of: steps over connections, and the names that they use."""

from dataclasses import dataclass

from tests.support.java_model.values import Request

__all__ = ["CONTROL", "SHARED", "Ask", "Close", "Expire", "Restart", "Step", "World", "questions"]

CONTROL = 0
"""The connection of questions about the state; steps use others."""

SHARED = frozenset({"4.8.0", "4.9.7"})
"""Releases that get only what 4.x and 5.x do alike."""

KV_NAMESPACES = ("ORDER_TOPIC_CONFIG", "ns-a", "ns-b")


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request over a connection, opened on first use."""

    conn: int
    request: Request
    label: str


@dataclass(frozen=True, slots=True)
class Close:
    """Close a connection as a process that ends, and wait until the server has noticed."""

    conn: int
    label: str = "close"


@dataclass(frozen=True, slots=True)
class Expire:
    """Register with a short timeout, and say nothing until it has expired."""

    conn: int
    request: Request
    label: str = "expire"


@dataclass(frozen=True, slots=True)
class Restart:
    """Stop the server in an orderly way and start it again with the same files; every connection is gone."""

    restore_routes: bool
    """The property of that name, for the start; Java has none."""
    label: str = "restart"


Step = Ask | Close | Expire | Restart


@dataclass(frozen=True, slots=True)
class World:
    """The few names of one sequence, so that requests collide; `tag` is part of each and of no other sequence's."""

    tag: str
    clusters: tuple[str, ...]
    names: tuple[str, ...]
    addrs: tuple[str, ...]
    topics: tuple[str, ...]

    @classmethod
    def of(cls, tag: str) -> "World":
        """Return the names of one sequence."""
        topics = [f"{kind}{tag}" for kind in ("T0-", "T1-", "T2-", "TBW102-", "%RETRY%g/ä-", 'q"\\-', "T6-")]
        return cls(
            tag,
            clusters=tuple(f"c{index}{tag}" for index in range(3)),
            names=tuple(f"b{index}{tag}" for index in range(4)),
            addrs=tuple(f"10.0.{index}.1:1{tag}" for index in range(8)),
            topics=(*topics, f"rmq_sys_SYNC_BROKER_MEMBER_{tag}"),
        )

    def owns(self, name: str) -> bool:
        """Whether a name belongs to this sequence."""
        return self.tag in name


def questions(world: World, *, shared: bool) -> list[Request]:
    """Everything that can be seen of the state (protocol.md 4), by requests that change nothing but 322's refresh."""
    lists = [Request(code) for code in (206, 304, 311, 312, 313)]
    routes = [
        Request(105, {"topic": topic}, version=version)
        for topic in world.topics
        for version in ((373,) if shared else (513, 373))
    ]
    clusters = [Request(224, {"cluster": cluster}) for cluster in world.clusters]
    tables = [Request(219, {"namespace": namespace}) for namespace in KV_NAMESPACES]
    if shared:
        keys = [(world.clusters[index // 2 % 3], addr) for index, addr in enumerate(world.addrs)]
        return [Request(106), *lists, *routes, *clusters, *tables, *_versions(keys)]
    groups = [Request(901, {"clusterName": world.clusters[0], "brokerName": name}) for name in world.names]
    keys = [(cluster, addr) for cluster in world.clusters[:2] for addr in world.addrs]
    return [
        Request(106),
        Request(106, version=373),
        *lists,
        *routes,
        *clusters,
        *tables,
        *groups,
        *_versions(keys),
    ]


def _versions(keys: list[tuple[str, str]]) -> list[Request]:
    body = b'{"counter":1,"stateVersion":0,"timestamp":1700000000000}'
    return [
        Request(322, {"clusterName": cluster, "brokerAddr": addr, "brokerName": "any", "brokerId": "0"}, body)
        for cluster, addr in keys
    ]
