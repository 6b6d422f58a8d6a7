"""Writes the golden journals: three name servers over an hour and a half, with everything that a journal records.

The core, the recorder and the writer of a name server are real; sockets, threads and clocks are replaced. One run
writes the same bytes as the next.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from namekeeper.config.runtime import RuntimeConfig
from namekeeper.config.settings import NamesrvSettings
from namekeeper.journal.contract.activity import Access
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.disk.heard_file import HeardTimes
from namekeeper.journal.disk.identity import Identity, save_identity
from namekeeper.journal.disk.writer import Writer
from namekeeper.journal.queue.backlog import Backlog
from namekeeper.journal.queue.messages import CheckpointNeeded, FolderReady, FolderRefused
from namekeeper.journal.reading.last_state import read_last_state
from namekeeper.journal.recording.recorder import Recorder
from namekeeper.journal.recording.snapshot import Snapshot, take_snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.journal.settings import Limits, WriterSettings
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.lookup_cache.counters import LookupCounters
from namekeeper.model.now import Now
from namekeeper.route.channel import Channel
from namekeeper.route.events import Change
from tests.differential.bodies import Broker, TopicConfig, registration, route_body
from tests.property.local_server import LocalServer
from tests.support.java_model.values import Request

__all__ = ["BEGIN_MS", "MINUTE_MS", "NAME_SERVERS", "write_journals"]

BEGIN_MS = 1_773_129_600_000
"""10 March 2026, 08:00 UTC."""
MINUTE_MS = 60_000
NAME_SERVERS = ("golden-1_9876", "golden-2_9876", "golden-3_9876")
MINUTES = 92
CHECKPOINT_MS = 30 * MINUTE_MS
BEATS_MS = 30_000
"""Pause between two heartbeats of a broker."""
ADMIN = 900
"""Connection of the administrator."""
TOPICS_OF_BIG = 2_300
"""Rows that need three records and more than one block."""
LOST_SEGMENT = 3
"""Which sealed segment of the third name server is missing."""
ONE_HOUR = Limits(max_age_ms=60 * MINUTE_MS)


class _Clock:
    """Wall and monotonic time of one name server; the wall clock may make a step."""

    def __init__(self, ms: int) -> None:
        self.wall_ms, self.mono_ms = BEGIN_MS + ms, 5_000_000 + ms

    def now(self) -> Now:
        return Now(self.wall_ms, self.mono_ms)

    def advance(self, ms: int) -> None:
        self.wall_ms += ms
        self.mono_ms += ms


class _NameServer:
    """One name server over all its boots, and its journal."""

    def __init__(self, folder: Path, namesrv: str, *, clock: _Clock, limits: Limits) -> None:
        self.folder, self.namesrv, self.clock = folder / namesrv, namesrv, clock
        self._limits = limits
        self.folder.mkdir(parents=True)
        uuid = f"{namesrv[7]}0000000-0000-4000-8000-000000000000"
        save_identity(str(self.folder), Identity(namesrv, uuid))
        self._kv = KvConfigStore()
        self.is_up = False
        self._conns = 0
        self.over: dict[str, int] = {}
        """Address of a broker -> its connection."""

    # boots

    def start(self, *, restores: bool = False) -> None:
        last = read_last_state(str(self.folder)) if restores else None
        self.server = LocalServer(KvConfigStore.from_text(self._kv.to_text()), self._changed)
        self._kv = self.server.state.kv_config
        self.server.state.reconfigure(RuntimeConfig.start(_SETTINGS, {}))
        self.lookups = LookupCounters(by_topic=True)
        self.backlog = Backlog(64 << 20)
        source = Source(self._snapshot, lambda: len(self.over), self.lookups.take, self._heard)
        self.recorder = Recorder(
            source, self.backlog, clock=self.clock, started=self._started, checkpoint_ms=CHECKPOINT_MS
        )
        settings = WriterSettings(folder=str(self.folder), namesrv=self.namesrv, limits=self._limits)
        self._writer = Writer(settings, self.backlog, lock=lambda _path: lambda: None)
        self.is_up = True
        self.over = {}
        self.recorder.begin()
        if last is not None:
            self.server.restore(last.tables, 30_000, self.clock.mono_ms)
            self.server.run_all(self.clock.mono_ms)
        self.tick()

    def stop(self) -> None:
        """Stop in an orderly way."""
        self._note_heard()
        self.recorder.end()
        self._writer.close(self.clock.now())
        self.is_up = False

    def kill(self, torn_bytes: int = 0) -> None:
        """End as a crash does. The crash may also tear bytes off the open segment."""
        self._note_heard()
        self.tick()
        self.is_up = False
        if torn_bytes:
            (file,) = self.folder.glob("*.open")
            file.write_bytes(file.read_bytes()[:-torn_bytes])

    def tick(self) -> None:
        """Do all that is due."""
        while self._writer.messages:
            message = self._writer.messages.popleft()
            assert not isinstance(message, FolderRefused | FolderReady)
            if isinstance(message, CheckpointNeeded):
                self.recorder.need_checkpoint(message.reason)
            else:
                self.recorder.note(message)
        while self.recorder.tick(lost_records=self._writer.lost_records, is_writable=True) < 1:
            pass
        step_ms = self.recorder.take_clock_step_ms()
        if step_ms:
            self._writer.note_clock_step(step_ms, self.clock.now())
        self._note_heard()
        self._writer.note_missing(self.server.state.missing.rows())
        self._writer.step(self.clock.now())
        assert not self._writer.trouble, self._writer.trouble

    # what happens

    def ask(self, code: int, body: bytes = b"", **fields: str) -> None:
        self._ask(Request(code, fields, body), ADMIN)

    def register(self, broker: Broker) -> None:
        if broker.addr not in self.over:
            self._conns += 1
            self.over[broker.addr] = self._conns
            host = broker.addr.partition(":")[0]
            self.server.channels[self._conns] = Channel(self._conns, f"{host}:{40_000 + self._conns}")
        self._ask(registration(broker), self.over[broker.addr])

    def beat(self, broker: Broker) -> None:
        """A heartbeat, of the kind that brokers of its line send."""
        if broker.addr not in self.over:
            return
        if broker.form == "json5":
            request = Request(904, broker.fields(), one_way=True)
        else:
            request = Request(322, broker.fields(), b'{"counter":%d,"timestamp":1}' % broker.counter)
        self._ask(request, self.over[broker.addr])

    def leave(self, broker: Broker) -> None:
        """The broker unregisters."""
        self._ask(Request(104, broker.fields()), self.over[broker.addr])

    def close(self, broker: Broker) -> None:
        """The connection of the broker breaks."""
        self.server.close(self.over.pop(broker.addr), self.clock.mono_ms)
        self.server.run_all(self.clock.mono_ms)

    def scan(self) -> None:
        self.server.scan(self.clock.mono_ms)
        self.server.run_all(self.clock.mono_ms)

    def _ask(self, request: Request, conn: int) -> None:
        if conn == ADMIN:
            self.server.channels[ADMIN] = Channel(ADMIN, "10.9.9.9:55555")
        self.server.begin(request, conn, self.clock.mono_ms, lambda answer: None)
        self.server.run_all(self.clock.mono_ms)
        self.clock.advance(1)

    # what the recorder asks

    def _changed(self, change: Change) -> None:
        self.server.state.missing.take(change, self.clock.wall_ms)
        self.recorder.record(change)

    def _snapshot(self) -> Snapshot:
        state = self.server.state
        return take_snapshot(state.tables, state.kv_config, state.config.values(), now=self.clock.now())

    def _heard(self) -> list[tuple[str, str, int]]:
        table = self.server.state.tables.broker_live_table
        return [(live.cluster_name, live.broker_addr, live.heard_at_ms) for live in table]

    def _note_heard(self) -> None:
        heard = self.recorder.last_heard()
        assert heard is not None
        self._writer.note_heard(
            HeardTimes(
                0,
                heard,
                "",
                self.recorder.began_ms,
                ts=self.clock.wall_ms,
                seq=self.recorder.sequencer.last_seq,
            )
        )

    def _started(self) -> ServerStarted:
        opened = self._writer.opened
        assert opened is not None
        return ServerStarted(
            uuid=opened.uuid,
            server_version="golden",
            previous_boot=opened.previous_boot,
            previous_seq=opened.previous_seq,
            previous_alive_ts=opened.previous_alive_ts,
            scan_interval_ms=5_000,
            port=9876,
            checksums=True,
        )


_SETTINGS = NamesrvSettings(
    allow_config_update=True,
    rocketmq_home="/opt/rocketmq",
    kv_config_path="/opt/rocketmq/namesrv/kvConfig.json",
    broker_names_limit=20_000,  # the default when the journals were written
    config_store_path="/opt/rocketmq/namesrv/namesrv.properties",
)

_MAPPING = {
    "bname": "broker-a", "currIdMap": {"0": 0, "1": 1}, "epoch": 1_700_000_000_002, "scope": "__global__",
    "topic": "static", "totalQueues": 4, "dirty": False,
}  # fmt: skip


def _topics(*names: str, queues: int = 4) -> dict[str, TopicConfig]:
    return dict.fromkeys(names, TopicConfig(queues, queues))


class _World:
    """The name servers, the brokers, and what happens in each minute."""

    def __init__(self, folder: Path) -> None:
        self.servers = [
            _NameServer(folder, namesrv, clock=_Clock(7 * number), limits=limits)
            for number, (namesrv, limits) in enumerate(
                zip(NAME_SERVERS, (Limits(), ONE_HOUR, Limits()), strict=True)
            )
        ]
        self.one, self.two, self.three = self.servers
        alpha = partial(Broker, "alpha", conn=0)
        self.a0 = alpha(
            "broker-a", 0, "10.0.0.1:10911", acting=True, timeout="150000", state=1,
            topics={**_topics("orders", "payments"), "static": TopicConfig(4, 4)}, mappings={"static": _MAPPING},
        )  # fmt: skip
        self.a1 = alpha("broker-a", 1, "10.0.0.2:10911", acting=True, topics=_topics("orders", "payments"))
        self.b0 = alpha(
            "broker-b", 0, "10.0.0.3:10911", zone="zone-1",
            topics={**_topics("orders", "%RETRY%group", queues=8), "payments": TopicConfig(2, 2, 6, 1)},
        )  # fmt: skip
        self.c0 = Broker(
            "beta", "broker-c", 0, "10.0.1.1:10911", 0, form="zip4",
            topics=_topics("orders", "only-c"), filters=["10.0.1.1:4000"],
        )  # fmt: skip
        self.d0 = Broker("beta", "broker-d", 0, "10.0.1.2:10911", 0, form="old", topics=_topics("legacy"))
        self.big = Broker(
            "beta", "broker-big", 0, "10.0.1.9:10911", 0, form="zip5",
            topics=_topics(*(f"many-{number:04}-of-a-broker" for number in range(TOPICS_OF_BIG)), queues=1),
        )  # fmt: skip
        self.up: list[Broker] = []

    def live(self) -> None:
        """Live through all minutes."""
        for minute in range(MINUTES):
            for happening in _PLAN.get(minute, ()):
                happening(self)
            for _ in range(MINUTE_MS // BEATS_MS):
                for server in self.some_up():
                    server.clock.advance(BEATS_MS - 20)
                    for broker in self.up:
                        server.beat(broker)
                    server.scan()
                    server.tick()
                self._align()

    def _align(self) -> None:
        """Clocks of servers that are down go on, and nobody's runs ahead."""
        newest = max(server.clock.mono_ms for server in self.servers)
        for server in self.servers:
            server.clock.advance(newest - server.clock.mono_ms)

    def some_up(self) -> Iterable[_NameServer]:
        return [server for server in self.servers if server.is_up]

    def register(self, *brokers: Broker, at: Iterable[_NameServer] | None = None) -> None:
        for broker in brokers:
            if broker not in self.up:
                self.up.append(broker)
            for server in self.some_up() if at is None else at:
                server.register(broker)

    def change(self, broker: Broker, **topics: TopicConfig | None) -> None:
        """The broker has other topics, which it registers."""
        for topic, config in topics.items():
            broker.topics.pop(topic, None)
            if config is not None:
                broker.topics[topic] = config
        broker.counter += 1
        self.register(broker)

    def close(self, *brokers: Broker) -> None:
        for broker in brokers:
            self.up.remove(broker)
            for server in self.some_up():
                if broker.addr in server.over:
                    server.close(broker)

    def unregister(self, broker: Broker) -> None:
        self.up.remove(broker)
        for server in self.some_up():
            server.leave(broker)
            server.over.pop(broker.addr)

    def ask_all(self, code: int, body: bytes = b"", **fields: str) -> None:
        for server in self.some_up():
            server.ask(code, body, **fields)

    # what happens in more than one line

    def lookups(self) -> None:
        """Clients look topics up, some in vain."""
        for number, server in enumerate(self.some_up()):
            for topic, count in (("orders", 40 + number), ("payments", 7), ("static", 1)):
                server.lookups.of(topic).count += count
            for _ in range(3 + number):
                server.recorder.unknown_topic("Nope", "JAVA", 493)
            server.recorder.unknown_topic("payments", "GO", 513)
            server.recorder.unknown_topic("no topic\n", None, 0)

    def judge(self) -> None:
        """Access rules judge requests, and some requests are refused."""
        self.one.recorder.denied(318, "10.9.9.9", "updating config is off")
        self.one.recorder.denied(318, "10.9.9.9", "updating config is off")
        self.one.recorder.denied(105, "10.7.7.7", "no rule allows it")
        for number, allowed in enumerate((True, False)):
            self.one.recorder.access(
                Access(
                    peer=f"10.9.9.{number}:55001", code=216, allowed=allowed, rule="admins" if allowed else "",
                    mode="enforce", user="ann" if allowed else "", claimed="" if allowed else "ann",
                    certificate="CN=ann" if allowed else "", about=["topics=payments"], count=1,
                )
            )  # fmt: skip
        for server in self.some_up():
            server.recorder.access(
                Access(peer="10.0.0.9:4", code=103, mode="audit", about=["brokers=x"], count=1)
            )

    def lose_changes(self) -> None:
        """The queue is full: two changes are lost, and a checkpoint follows."""
        limit, self.one.backlog.limit = self.one.backlog.limit, 0
        self.one.ask(100, namespace="n", key="lost", value="1")
        self.one.ask(205, brokerName="broker-b")
        self.one.backlog.limit = limit
        self.one.clock.advance(15_000)
        self.one.ask(327, brokerName="broker-b")

    def move(self) -> None:
        """A broker comes back under another address, and takes its id."""
        self.close(self.a1)
        self.a1.addr = "10.0.0.22:10911"
        self.register(self.a1)
        taker = Broker("alpha", "broker-b", 0, "10.0.0.33:10911", 0, topics=self.b0.topics, zone="zone-2")
        taker.counter = self.b0.counter + 1
        self.up.remove(self.b0)
        self.b0 = taker
        self.register(taker)

    def claim(self) -> None:
        """A slave claims the id of its master with an older state: its own registration ends."""
        self.a1.broker_id = 0
        self.register(self.a1)
        self.a1.broker_id = 1

    def come_back(self, server: _NameServer, *, restores: bool) -> None:
        """A name server starts, and the brokers come back one after the other."""
        server.start(restores=restores)
        for broker in self.up:
            server.clock.advance(1_200)
            server.register(broker)


_Happening = Callable[[_World], None]


def _config(world: _World) -> None:
    world.one.ask(318, body=b"deleteTopicWithBrokerRegistration=true\n")


def _delete_payments(world: _World) -> None:
    for server in (world.one, world.two):
        server.ask(216, topic="payments")


def _wipe(world: _World) -> None:
    world.one.ask(205, brokerName="broker-b")


def _may_write(world: _World) -> None:
    world.one.ask(327, brokerName="broker-b")


def _order_config(world: _World) -> None:
    world.ask_all(100, namespace="ORDER_TOPIC_CONFIG", key="orders", value="broker-a:4;broker-b:8")
    world.ask_all(100, namespace="n", key="k'\n", value="")
    world.ask_all(102, namespace="n", key="k'\n")


def _step(ms: int) -> _Happening:
    def step(world: _World) -> None:
        world.two.clock.wall_ms += ms

    return step


_PLAN: dict[int, tuple[_Happening, ...]] = {
    0: (lambda w: w.one.start(), lambda w: w.two.start()),
    1: (lambda w: w.three.start(), lambda w: w.register(w.a0, w.a1, w.b0, w.c0, w.d0)),
    2: (_World.lookups,),
    5: (_order_config,),
    6: (_config,),
    8: (_wipe,),
    10: (_may_write,),
    12: (lambda w: w.close(w.a1),),
    13: (lambda w: w.register(w.a1),),
    15: (lambda w: w.unregister(w.a0),),
    18: (lambda w: w.change(w.a0, refunds=TopicConfig(16, 16)),),
    20: (_delete_payments,),
    22: (lambda w: w.change(w.b0, late=TopicConfig(1, 1, 4)),),
    24: (lambda w: w.ask_all(217, route_body({"broker-b": TopicConfig(3, 3)}), topic="manual"),),
    26: (lambda w: w.up.remove(w.c0),),
    30: (_step(90_000), _World.lookups),
    33: (_step(-95_000),),
    35: (lambda w: w.register(w.big, at=[w.two]),),
    38: (lambda w: w.three.kill(torn_bytes=25),),
    39: (lambda w: w.come_back(w.three, restores=True),),
    45: (lambda w: w.register(w.c0), _World.judge),
    47: (lambda w: w.close(w.big),),
    50: (_World.lose_changes,),
    55: (lambda w: w.one.stop(),),
    56: (lambda w: w.come_back(w.one, restores=True),),
    60: (_World.lookups,),
    65: (lambda w: w.three.kill(),),
    70: (lambda w: w.come_back(w.three, restores=False),),
    72: (lambda w: w.close(w.d0),),
    75: (_World.move,),
    78: (lambda w: w.change(w.a0, static=None, refunds=TopicConfig(16, 0)),),
    80: (lambda w: w.ask_all(100, namespace="ORDER_TOPIC_CONFIG", key="orders", value="broker-a:4"),),
    82: (_World.claim,),
    83: (lambda w: w.register(w.a1),),
    85: (lambda w: w.two.stop(),),
    88: (_World.lookups, lambda w: w.register(w.d0)),
    90: (lambda w: w.one.stop(), lambda w: w.three.kill()),
}  # fmt: skip
"""Minute -> what happens at its begin."""


def write_journals(folder: Path) -> None:
    """Write the journals of all name servers into an empty folder, and lose a sealed segment of the third."""
    _World(folder).live()
    names = [SegmentName.parse(file.name) for file in sorted((folder / NAME_SERVERS[2]).iterdir())]
    sealed = [name for name in names if name is not None and not name.is_open]
    (folder / NAME_SERVERS[2] / str(sealed[LOST_SEGMENT])).unlink()
    for file in folder.glob(".*.last-boot"):
        file.unlink()
