"""The live registrations: who is there, since which generation, heard when, over which connection."""

from collections.abc import Hashable, Iterator
from typing import TypeVar

from msgspec import Struct, field

from namekeeper.model.broker import BrokerKey
from namekeeper.model.now import Now
from namekeeper.model.version import DataVersion
from namekeeper.route.channel import Channel
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged

__all__ = ["AppliedAs", "AppliedBodies", "BrokerLiveInfo", "BrokerLiveTable"]

K = TypeVar("K", bound=Hashable)

MAX_APPLIED_BODIES = 64
"""Bodies remembered for each registration: a split registration of 50,000 topics has that many parts."""


class AppliedAs(Struct, frozen=True, gc=False):
    """Under which circumstances a body was applied; the same bytes mean the same only under the same ones."""

    broker_id: int
    enable_acting_master: bool | None
    zone_name: str | None
    compressed: bool
    version: int
    body_crc32: int
    contributes: bool
    deletes_missing: bool
    """The operator's switch: with it, topics that are not in the body go."""


class AppliedBodies:
    """Digests of the bodies applied since tables or data version last changed (docs/decisions/0014)."""

    __slots__ = ("_bodies",)

    def __init__(self) -> None:
        self._bodies: dict[bytes, AppliedAs] = {}

    def __contains__(self, body: tuple[bytes, AppliedAs]) -> bool:
        digest, applied_as = body
        return self._bodies.get(digest) == applied_as

    def remember(self, digest: bytes, applied_as: AppliedAs) -> None:
        """Remember a body as fully applied; the oldest goes when there are too many."""
        if len(self._bodies) >= MAX_APPLIED_BODIES:
            del self._bodies[next(iter(self._bodies))]
        self._bodies[digest] = applied_as

    def clear(self) -> None:
        """Forget every body: the next one is decoded."""
        self._bodies.clear()


class BrokerLiveInfo(Struct, gc=False, eq=False):
    """One live registration; the only row that is changed in place, for a heartbeat must cost nothing."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    ha_server_addr: str
    heartbeat_timeout_ms: int
    data_version: DataVersion
    gen: int
    """Counts every beginning of a registration in this boot: fences what was meant for an older one."""
    channel_id: int
    channel: Channel | None = None
    """The connection that the newest registration came over; None in a copy made from events."""
    heard_at_ms: int = 0
    """Monotonic time of the last refresh."""
    last_update_timestamp: int = 0
    """The same as wall time."""
    applied_bodies: AppliedBodies = field(default_factory=AppliedBodies)
    silence_ms: int = 0
    """The silence that a registration under way ended; the next `BrokerHeard` tells it."""

    @property
    def key(self) -> BrokerKey:
        """What identifies this registration."""
        return (self.cluster_name, self.broker_addr)

    def hear(self, now: Now, *, is_registration: bool = False, body_bytes: int = 0) -> BrokerHeard:
        """Refresh: the broker is alive at `now`."""
        self.note_arrival(now)
        gap_ms, self.silence_ms = self.silence_ms, 0
        return BrokerHeard(self.cluster_name, self.broker_addr, self.gen, gap_ms, is_registration, body_bytes)

    def note_arrival(self, now: Now) -> None:
        """Refresh at the arrival of a registration, which makes its events when its turn comes."""
        self.silence_ms = max(self.silence_ms, self.idle_ms(now))
        self.heard_at_ms = now.mono_ms
        self.last_update_timestamp = now.wall_ms

    def idle_ms(self, now: Now) -> int:
        """Milliseconds since it was last heard."""
        return now.mono_ms - self.heard_at_ms

    def is_overdue(self, now: Now) -> bool:
        """Whether it must expire: silent for longer than it asked for, and not because we don't read."""
        if self.channel is not None and self.channel.is_spared:
            return False
        return self.idle_ms(now) > self.heartbeat_timeout_ms


class BrokerLiveTable:
    """(cluster, address) -> live registration, its two indexes kept in step by one add and one remove."""

    __slots__ = ("_by_channel", "_by_name", "_live")

    def __init__(self) -> None:
        self._live: dict[BrokerKey, BrokerLiveInfo] = {}
        self._by_name: dict[str, dict[BrokerKey, BrokerLiveInfo]] = {}
        self._by_channel: dict[int, dict[BrokerKey, BrokerLiveInfo]] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[BrokerLiveInfo]:
        return iter(self._live.values())

    def get(self, key: BrokerKey) -> BrokerLiveInfo | None:
        """The live registration of `key`."""
        return self._live.get(key)

    def of_name(self, broker_name: str) -> list[BrokerLiveInfo]:
        """Live registrations under a broker name."""
        return list(self._by_name.get(broker_name, {}).values())

    def over_channel(self, channel_id: int) -> list[BrokerLiveInfo]:
        """Live registrations whose newest 103 came over this connection."""
        return list(self._by_channel.get(channel_id, {}).values())

    def put(self, event: BrokerLiveChanged, channel: Channel | None) -> BrokerLiveInfo:
        """Make the row what `event` says; a new generation starts with nothing remembered."""
        key = (event.cluster_name, event.broker_addr)
        info = self._live.get(key)
        if info is None or event.is_new:
            if info is not None:
                self.remove(key)
            info = BrokerLiveInfo(
                cluster_name=event.cluster_name,
                broker_addr=event.broker_addr,
                broker_name=event.broker_name,
                broker_id=event.broker_id,
                ha_server_addr=event.ha_server_addr,
                heartbeat_timeout_ms=event.heartbeat_timeout_ms,
                data_version=event.data_version,
                gen=event.gen,
                channel_id=event.channel_id,
                channel=channel,
            )
            self._live[key] = info
            self._by_name.setdefault(info.broker_name, {})[key] = info
            self._by_channel.setdefault(event.channel_id, {})[key] = info
        elif info.data_version != event.data_version:
            info.applied_bodies.clear()
        info.ha_server_addr = event.ha_server_addr
        info.heartbeat_timeout_ms = event.heartbeat_timeout_ms
        info.data_version = event.data_version
        return info

    def remove(self, key: BrokerKey) -> BrokerLiveInfo | None:
        """Take a row out of the table and both indexes."""
        info = self._live.pop(key, None)
        if info is not None:
            _discard(self._by_name, info.broker_name, key)
            _discard(self._by_channel, info.channel_id, key)
        return info


def _discard(index: dict[K, dict[BrokerKey, BrokerLiveInfo]], at: K, key: BrokerKey) -> None:
    row = index[at]
    del row[key]
    if not row:
        del index[at]
