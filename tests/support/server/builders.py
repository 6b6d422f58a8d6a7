"""Values that tests need often, with everything beside the point filled in."""

from collections.abc import Callable, Generator, Iterable
from typing import Any

from namekeeper.model.now import Now
from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.change import Applied, TableChange
from namekeeper.route.change_queue import ChangeQueue
from namekeeper.route.channel import Channel
from namekeeper.route.commit import RegisterResult
from namekeeper.route.events import Cause, Event
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.registration import RegisterBroker
from namekeeper.route.removal import EndOfRegistration, UnregisterBroker, end_sparing, overdue
from namekeeper.route.tables import RouteTables

CLUSTER = "DefaultCluster"
RW4 = QueueSpec(4, 4, 6, 0)


def at(seconds: float) -> Now:
    """An instant that many seconds after the start of the test's world."""
    ms = int(seconds * 1000)
    return Now(1_700_000_000_000 + ms, 1_000_000 + ms)


def channel(channel_id: int = 1) -> Channel:
    return Channel(channel_id, f"10.9.0.{channel_id}:5000")


def header(
    name: str = "broker-a", addr: str = "10.0.0.1:10911", broker_id: int = 0, **more: Any
) -> RegisterBrokerHeader:
    return RegisterBrokerHeader(
        **{
            "broker_name": name,
            "broker_addr": addr,
            "cluster_name": CLUSTER,
            "ha_server_addr": addr.replace(":1091", ":1092"),
            "broker_id": broker_id,
            "enable_acting_master": False,
            **more,
        }
    )


def body(
    topics: Iterable[str] | dict[str, QueueSpec] = ("T1", "T2"), version: int = 1, **more: Any
) -> RegistrationBody:
    specs = topics if isinstance(topics, dict) else dict.fromkeys(topics, RW4)
    state_version = more.pop("state_version", 0)
    return RegistrationBody(
        data_version=DataVersion(
            counter=version, state_version=state_version, timestamp=1_700_000_000_000 + version
        ),
        topics=specs,
        topic_count=len(specs),
        **more,
    )


def decoding(
    value: RegistrationBody, turns: int = 0
) -> Callable[[], Generator[None, None, RegistrationBody]]:
    """A decoder that takes that many turns."""

    def decode() -> Generator[None, None, RegistrationBody]:
        for _ in range(turns):
            yield
        return value

    return decode


def register(
    head: RegisterBrokerHeader,
    content: RegistrationBody,
    over: Channel,
    *,
    decode_turns: int = 0,
    raw: bytes | None = None,
) -> RegisterBroker:
    """A registration whose bytes stand for its content, so that equal contents are equal bytes."""
    data = raw if raw is not None else repr(content).encode()
    return RegisterBroker(head, data, version=513, channel=over, decode=decoding(content, decode_turns))


def unregister(
    over: Channel, name: str = "broker-a", addr: str = "10.0.0.1:10911", cluster: str = CLUSTER
) -> UnregisterBroker:
    return UnregisterBroker(cluster, addr, name, over)


class World:
    """Tables with a queue before them, a copy made from events, and the answers in order."""

    def __init__(self, tables: RouteTables | None = None) -> None:
        self.tables = tables or RouteTables()
        self.starts_elsewhere = tables is not None
        self.queue = ChangeQueue(self.tables)
        self.copy = RouteTables()
        self.events: list[Event] = []
        self.answers: list[tuple[TableChange[Any], Any]] = []
        self.now = at(0)

    def submit(self, change: TableChange[Any]) -> None:
        if isinstance(change, RegisterBroker):
            change.arrive(self.tables, self.now)
        self.queue.submit(change, self._done, now=self.now)

    def _done(self, change: TableChange[Any], outcome: Applied[Any] | Exception) -> None:
        if isinstance(outcome, Exception):
            self.answers.append((change, outcome))
            return
        self.events += outcome.events
        self.copy.apply_all(outcome.events)
        self.answers.append((change, outcome.result))
        if not self.starts_elsewhere:
            check_copy(self)

    def run_turns(self) -> None:
        while self.queue.is_busy:
            self.queue.turn(self.now)

    def do(self, change: TableChange[Any]) -> Any:
        """Submit, run every turn, and give the answer."""
        self.submit(change)
        self.run_turns()
        check_consistency(self)
        answer = self.answers[-1][1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def register(
        self,
        head: RegisterBrokerHeader | None = None,
        content: RegistrationBody | None = None,
        over: Channel | None = None,
    ) -> RegisterResult:
        result = self.do(register(head or header(), content or body(), over or channel()))
        assert isinstance(result, RegisterResult)
        return result

    def begin(
        self,
        head: RegisterBrokerHeader | None = None,
        content: RegistrationBody | None = None,
        over: Channel | None = None,
        *,
        decode_turns: int = 3,
    ) -> RegisterBroker:
        """Submit a registration that takes turns, and leave it under way."""
        change = register(head or header(), content or body(), over or channel(), decode_turns=decode_turns)
        self.submit(change)
        assert self.queue.is_busy
        return change

    def close(self, over: Channel) -> None:
        """Lose a connection, as the edge does: marked at once, then the end of what registered over it."""
        over.is_open = False
        for live in self.tables.broker_live_table.over_channel(over.channel_id):
            self.submit(EndOfRegistration(live.key, live.gen, Cause.CHANNEL_CLOSED, over.remote_addr))

    def scan(self) -> None:
        """Submit the end of what is overdue."""
        ends = overdue(self.tables, self.now)
        end_sparing(self.tables)
        for end in ends:
            self.submit(end)

    def hear(self, addr: str = "10.0.0.1:10911", *, now: Now | None = None) -> None:
        """Refresh a live registration."""
        live = self.live(addr)
        assert live is not None
        self.tables.apply(live.heard(now or self.now), now=now or self.now)

    def result_of(self, change: TableChange[Any]) -> Any:
        """What a change came to; fails while it waits."""
        (result,) = [result for done, result in self.answers if done is change]
        return result

    def addrs(self, name: str = "broker-a") -> dict[int, str]:
        """Members of a broker name."""
        return self.tables.broker_addr_table[name].broker_addrs

    def perm(self, topic: str = "T1", name: str = "broker-a") -> int:
        """Permission in effect."""
        return self.tables.topics_of(name)[topic].effective.perm

    def live(self, addr: str = "10.0.0.1:10911", cluster: str = CLUSTER) -> BrokerLiveInfo | None:
        return self.tables.broker_live_table.get((cluster, addr))


def check_consistency(world: World) -> None:
    """Assert what must hold whenever nothing is under way: docs/decisions/0002 and 0004."""
    tables = world.tables
    rows = {(topic, name) for name, table in tables.topic_queue_table.items() for topic in table}
    assert {(topic, name) for topic in tables.topic_index for name in tables.topic_index.names(topic)} == rows
    assert all(tables.topic_queue_table.values())
    members = {
        (name, broker_id, addr)
        for name, group in tables.broker_addr_table.items()
        for broker_id, addr in group.broker_addrs.items()
    }
    entries = list(tables.broker_live_table)
    assert sorted((live.broker_name, live.broker_id, live.broker_addr) for live in entries) == sorted(members)
    listed = {name for names in tables.cluster_addr_table.values() for name in names}
    assert listed == set(tables.broker_addr_table)
    assert set(tables.filter_server_table) <= {live.key for live in entries}
    check_copy(world)


def check_copy(world: World) -> None:
    """Assert that the events recorded so far make the tables that are shown now (docs/decisions/0004)."""
    tables, copy = world.tables, world.copy
    assert copy.topic_queue_table == tables.topic_queue_table
    assert set(copy.topics()) == set(tables.topics())
    assert copy.broker_addr_table == tables.broker_addr_table
    assert copy.cluster_addr_table == tables.cluster_addr_table
    assert copy.filter_server_table == tables.filter_server_table
    assert copy.topic_queue_mapping_info_table == tables.topic_queue_mapping_info_table
    assert {_recorded(live) for live in copy.broker_live_table} == {
        _recorded(live) for live in tables.broker_live_table
    }


def _recorded(live: BrokerLiveInfo) -> tuple[Any, ...]:
    """What events record of a live registration."""
    return (
        live.key, live.broker_name, live.broker_id, live.gen, live.ha_server_addr, live.heartbeat_timeout_ms,
        live.data_version, live.channel_id,
    )  # fmt: skip
