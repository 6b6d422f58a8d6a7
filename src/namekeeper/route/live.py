"""The live registrations: the brokers, their generations and their connections."""

from collections.abc import Hashable, Iterator
from typing import TypeVar

from msgspec import Struct, field

from namekeeper.model.broker import NOBODY, BrokerKey, Owner
from namekeeper.model.now import Now
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.model.version import DataVersion
from namekeeper.route.channel import Channel
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged

__all__ = ["AppliedAs", "AppliedBodies", "BrokerLiveInfo", "BrokerLiveTable"]

K = TypeVar("K", bound=Hashable)

MAX_APPLIED_BODIES = 64
"""Bodies remembered for each registration: a split registration of 50,000 topics has that many parts."""


class AppliedAs(Struct, frozen=True, gc=False):
    """The circumstances of an applied body; under others the same bytes may differ in effect."""

    broker_id: int
    enable_acting_master: bool | None
    zone_name: str | None
    compressed: bool
    version: int
    body_crc32: int
    contributes: bool
    deletes_missing: bool
    """The operator's switch: with it, the server deletes topics that the body lacks."""


class AppliedBodies:
    """Digests of the bodies applied since rows or data version last changed (docs/decisions/0014)."""

    __slots__ = ("_bodies",)

    def __init__(self) -> None:
        self._bodies: dict[bytes, AppliedAs] = {}

    def __contains__(self, body: tuple[bytes, AppliedAs]) -> bool:
        digest, applied_as = body
        return self._bodies.get(digest) == applied_as

    def remember(self, digest: bytes, applied_as: AppliedAs) -> None:
        """Remember a body as fully applied; beyond the limit the oldest goes."""
        if len(self._bodies) >= MAX_APPLIED_BODIES:
            del self._bodies[next(iter(self._bodies))]
        self._bodies[digest] = applied_as

    def clear(self) -> None:
        """Forget every body: the server decodes the next one."""
        self._bodies.clear()


class BrokerLiveInfo(Struct, gc=False, eq=False):
    """One live registration.

    `RouteTables` changes it in place, unlike every other row: a heartbeat must cost next to nothing.
    """

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    ha_server_addr: str
    heartbeat_timeout_ms: int
    data_version: DataVersion
    gen: int
    """The number of this generation: one counter for all registrations of this boot."""
    channel_id: int
    channel: Channel | None = None
    """The connection of the newest registration; None in a copy made from events."""
    heard_at_ms: int = 0
    """Monotonic time of the last refresh."""
    last_update_timestamp: int = 0
    """Wall time of the last refresh."""
    applied_bodies: AppliedBodies = field(default_factory=AppliedBodies)
    owner: Owner = NOBODY
    """The sender of the newest registration that an event records."""
    has_full_table: bool = False
    """Whether the broker has registered other than single topics; until then 322 answers it "changed".

    No event holds it: a restored broker has to register all of its topics anyway.
    """
    silence_ms: int = 0
    """The longest silence that ended since the last event; the next `BrokerHeard` records it."""

    @property
    def key(self) -> BrokerKey:
        """The cluster and address that identify this registration."""
        return (self.cluster_name, self.broker_addr)

    def is_same_member(self, broker_name: str, broker_id: int) -> bool:
        """Whether this name and id are those of the registration."""
        return self.broker_name == broker_name and self.broker_id == broker_id

    def is_continued_by(self, header: RegisterBrokerHeader, channel: Channel) -> bool:
        """Whether a registration belongs to this generation; otherwise it starts a new one."""
        return self.channel is channel and self.is_same_member(header.broker_name, header.broker_id)

    def heard(self, now: Now, *, is_registration: bool = False, body_bytes: int = 0) -> BrokerHeard:
        """The event of a refresh at `now`; the row changes when the event is applied."""
        return BrokerHeard(
            self.cluster_name, self.broker_addr, self.gen, self.gap_ms(now), is_registration, body_bytes
        )

    def gap_ms(self, now: Now) -> int:
        """The longest silence since the last event, if a refresh ends it now."""
        return max(self.silence_ms, self.idle_ms(now))

    def idle_ms(self, now: Now) -> int:
        """Milliseconds since the last refresh."""
        return now.mono_ms - self.heard_at_ms

    def is_overdue(self, now: Now) -> bool:
        """Whether it must expire: silent beyond its timeout, though the server reads its connection."""
        if self.channel is not None and self.channel.is_spared:
            return False
        return self.idle_ms(now) > self.heartbeat_timeout_ms


class BrokerLiveTable:
    """(cluster, address) -> live registration, with an index by broker name and one by connection.

    Only `RouteTables` changes it.
    """

    __slots__ = ("_by_channel", "_by_name", "_live")

    def __init__(self) -> None:
        self._live: dict[BrokerKey, BrokerLiveInfo] = {}
        self._by_name: dict[str, dict[BrokerKey, BrokerLiveInfo]] = {}
        self._by_channel: dict[int, dict[BrokerKey, BrokerLiveInfo]] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[BrokerLiveInfo]:
        return iter(self._live.values())

    def __contains__(self, key: object) -> bool:
        return key in self._live

    def get(self, key: BrokerKey) -> BrokerLiveInfo | None:
        """The live registration of `key`."""
        return self._live.get(key)

    def of_name(self, broker_name: str) -> list[BrokerLiveInfo]:
        """Live registrations under a broker name."""
        return list(self._by_name.get(broker_name, {}).values())

    def over_channel(self, channel_id: int) -> list[BrokerLiveInfo]:
        """Live registrations whose newest 103 came over this connection."""
        return list(self._by_channel.get(channel_id, {}).values())

    def put(
        self, event: BrokerLiveChanged, channel: Channel | None = None, now: Now | None = None
    ) -> BrokerLiveInfo:
        """Make the row that `event` holds; a new generation remembers no bodies."""
        key = (event.cluster_name, event.broker_addr)
        info = self._live.get(key)
        if info is None or event.is_new:
            is_known = info is not None and info.is_same_member(event.broker_name, event.broker_id)
            has_full_table = info is not None and is_known and info.has_full_table
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
                has_full_table=has_full_table,
            )
            self._live[key] = info
            self._by_name.setdefault(info.broker_name, {})[key] = info
            self._by_channel.setdefault(event.channel_id, {})[key] = info
        elif info.data_version != event.data_version:
            info.applied_bodies.clear()
        info.ha_server_addr = event.ha_server_addr
        info.heartbeat_timeout_ms = event.heartbeat_timeout_ms
        info.data_version = event.data_version
        info.owner = event.owner
        if now is not None:
            _refresh(info, Now(now.wall_ms - event.idle_ms, now.mono_ms - event.idle_ms))
        return info

    def hear(self, event: BrokerHeard, now: Now) -> None:
        """Refresh the generation that `event` names."""
        info = self._live.get((event.cluster_name, event.broker_addr))
        if info is not None and info.gen == event.gen:
            _refresh(info, now)

    def note_arrival(self, key: BrokerKey, now: Now) -> None:
        """Refresh `key` at the arrival of a registration, whose commit may come much later."""
        info = self._live.get(key)
        if info is not None:
            silence_ms = info.gap_ms(now)
            _refresh(info, now)
            info.silence_ms = silence_ms

    def remove(self, key: BrokerKey) -> BrokerLiveInfo | None:
        """Take a row out of the table and both indexes."""
        info = self._live.pop(key, None)
        if info is not None:
            _discard(self._by_name, info.broker_name, key)
            _discard(self._by_channel, info.channel_id, key)
        return info


def _refresh(info: BrokerLiveInfo, now: Now) -> None:
    info.heard_at_ms = now.mono_ms
    info.last_update_timestamp = now.wall_ms
    info.silence_ms = 0


def _discard(index: dict[K, dict[BrokerKey, BrokerLiveInfo]], at: K, key: BrokerKey) -> None:
    row = index[at]
    del row[key]
    if not row:
        del index[at]
