"""Histories of name servers, made up from a seed: the records that their journals would hold, and what was true.

A history is a small world: some brokers of one cluster, and a few name servers that watch them with their own
clocks. What happens to the world (brokers start, die and flap, topics come and go, people wipe permissions, name
servers stop, crash and lose records, clocks jump) reaches each name server at its own time, or not at all.

Nothing here shares code with what it tests: neither the server's tables nor the pipeline.
"""

import random
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Belief", "History", "Record", "State", "histories", "history"]

Record = dict[str, Any]
State = dict[str, dict[tuple[Any, ...], Any]]
"""Table -> key -> value: what the wire could show at one position."""

TABLES = ("live", "group", "cluster", "topic", "mapping", "filter", "kv", "config")

HOUR = 3_600_000
MARCH = 1_772_323_200_000
"""2026-03-01T00:00:00Z."""

READ, WRITE = 4, 2
TIMEOUT_MS = 120_000
"""After so much silence a broker expires."""


@dataclass(frozen=True)
class Belief:
    """What a name server held from one position of its journal on."""

    boot: int
    seq: int
    true_ms: int
    state: State | None
    """None: it was not running."""


@dataclass
class History:
    """What the journals of one world hold, and what was true."""

    name: str
    records: dict[str, list[Record]] = field(default_factory=dict)
    """Name server -> its records in the order of writing; those that were lost are not among them."""
    beliefs: dict[str, list[Belief]] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)
    crashed: int = 0
    restored: int = 0
    """Starts at which brokers came back."""
    dropped: int = 0
    jumped: int = 0


@dataclass
class Broker:
    """A broker process of the world."""

    cluster: str
    name: str
    broker_id: int
    addr: str
    acting: bool
    zone: str | None
    topics: dict[str, tuple[int, int, int, int]]
    """Shared by the brokers of a name."""
    mappings: dict[str, Record]
    version: int = 1
    is_up: bool = False
    filters: tuple[str, ...] = ()


def empty() -> State:
    """No rows at all."""
    return {table: {} for table in TABLES}


def copied(state: State) -> State:
    """A state that changes of the other do not reach; values are never changed in place."""
    return {table: dict(rows) for table, rows in state.items()}


class NameServer:
    """A name server of the world: its tables, its clock, its journal."""

    def __init__(self, name: str, rng: random.Random, history: History) -> None:
        self.name = name
        self.rng = rng
        self.history = history
        self.records = history.records.setdefault(name, [])
        self.beliefs = history.beliefs.setdefault(name, [])
        self.uuid = history.uuids.setdefault(name, str(uuid.UUID(int=rng.getrandbits(128), version=4)))
        self.offset = rng.choice((0, 0, 0, 40, -70, 2_500, -40_000))
        self.boot = self.seq = self.gen = self.began = self.last_ts = self.last_true = 0
        self.is_up = False
        self.state = empty()
        self.cut_off: set[str] = set()
        """Brokers that can't reach it."""
        self.losing = False
        """Whether what it writes now is lost: the queue is full, or the disk is gone."""
        self.restored: set[tuple[str, str]] = set()
        """Brokers that came back at the start, and have not registered since."""
        self.checkpoint_rows: list[Record] = []
        self.checkpoint = 0
        self.counts: dict[str, int] = {}
        self.pending_step = 0
        self.alive_ts = 0
        """When it still ran after its last record, as a file beside the journal says."""

    # Writing.

    def write(self, now: int, rows: list[Record], *, cause: str = "", peer: str = "", begin: int = 0) -> None:
        """Append one change."""
        now = self.last_true = max(now, self.last_true)
        if self.pending_step:
            step, self.pending_step = self.pending_step, 0
            self.last_ts = 0
            self.write(now, [{"kind": "clock_changed", "step_ms": step}])
        ts = max(now + self.offset, self.last_ts)
        self.last_ts = ts
        change = self.seq + 1
        for row in rows:
            self.seq += 1
            envelope = {"v": 1, "namesrv": self.name, "boot": self.boot, "seq": self.seq, "change": change}
            record = {**row, **envelope, "ts": ts, "up_ms": now - self.began}
            optional = {"cause": cause, "peer": peer, "checkpoint": begin, "end": row is rows[-1]}
            record |= {member: value for member, value in optional.items() if value}
            if not self.losing:
                self.records.append(record)
        self.beliefs.append(Belief(self.boot, self.seq, now, copied(self.state) if self.is_up else None))

    def changed(self, now: int, before: State, *, cause: str, peer: str = "", idle: int = 0) -> None:
        """Write what differs from `before`, if anything does."""
        if rows := list(differences(before, self.state, self.rng, cause=cause, idle=idle)):
            self.write(now, rows, cause=cause, peer=peer)

    # Start and stop of the process.

    def start(self, now: int) -> None:
        """Begin a boot: its first record and a full checkpoint."""
        previous = (self.boot, self.records[-1]["seq"] if self.records else 0)
        self.boot = max(now + self.offset, self.boot + 1)
        self.seq, self.began, self.last_ts, self.pending_step = 0, now, 0, 0
        self.restored = set()
        kept = {table: dict(self.state[table]) for table in ("kv", "config")}
        self.state = {**empty(), **kept}
        self.state["config"].setdefault(("listenPort",), "9876")
        self.is_up, self.losing = True, False
        started = {"kind": "server_started", "uuid": self.uuid, "server_version": "0.1.0", "port": 9876}
        if previous[0]:
            started |= {"previous_boot": previous[0], "previous_seq": previous[1]}
        if self.alive_ts:
            started["previous_alive_ts"], self.alive_ts = self.alive_ts, 0
        self.write(now, [started])
        self.begin_checkpoint(now, "start")
        self.write_checkpoint(now)

    def restore(self, now: int, old: State, idle: int) -> None:
        """The routes of the boot before come back; their brokers have been silent for so many ms."""
        before = copied(self.state)
        for table in ("live", "group", "cluster", "topic", "mapping", "filter"):
            self.state[table] = dict(old[table])
        for key, (name, broker_id, _, *more) in self.state["live"].items():
            self.gen += 1
            self.state["live"][key] = (name, broker_id, self.gen, *more)
            self.restored.add(key)
        self.changed(now, before, cause="restored", idle=idle)
        self.history.restored += bool(self.restored)

    def stop(self, now: int) -> None:
        """End a boot in order."""
        if self.losing:
            self.losing = False
            if self.rng.random() < 0.5:  # else it stops before the checkpoint that would heal it
                self.recover(now)
        self.write_checkpoint(now)
        self.is_up = False
        self.write(now, [{"kind": "server_stopped", "last_seq": self.seq + 1}])

    def crash(self, now: int) -> None:
        """End a boot as a crash does; the last records never reached the disk, perhaps a part of a change."""
        self.is_up = False
        self.checkpoint_rows = []
        tail = min(self.rng.choice((0, 1, 2, 5, 9)), self.seq)
        if not (tail or self.losing):
            self.alive_ts = (self.last_true + now) // 2 + self.offset
        while tail and self.records and self.records[-1]["boot"] == self.boot:
            self.records.pop()
            tail -= 1
        self.history.crashed += 1
        self.beliefs.append(Belief(self.boot, self.seq + 1, now, None))

    def recover(self, now: int) -> None:
        """Write again after records were dropped: a checkpoint comes first."""
        self.losing = False
        self.checkpoint_rows = []
        self.begin_checkpoint(now, "recovery")
        self.write_checkpoint(now)

    def jump(self, now: int, step: int) -> None:
        """Set the wall clock."""
        self.offset += step
        if abs(step) >= 1_000:
            self.pending_step += step
            self.history.jumped += 1
            self.write(now, [{"kind": "server_alive", "connections": 3}])

    # Checkpoints.

    def begin_checkpoint(self, now: int, reason: str) -> None:
        """Take the state and write the begin."""
        self.checkpoint_rows = list(checkpoint_rows(self.state, self.rng))
        self.counts = {}
        for row in self.checkpoint_rows:
            self.counts[row["kind"]] = self.counts.get(row["kind"], 0) + 1
        self.write(now, [{"kind": "checkpoint_begin", "reason": reason}])
        self.checkpoint = self.seq
        self.checkpoint_rows.append({"kind": "checkpoint_end", "counts": self.counts})

    def write_checkpoint(self, now: int, rows: int = 10**9) -> None:
        """Write rows of the checkpoint that is under way."""
        for row in self.checkpoint_rows[:rows]:
            self.write(now, [row], begin=self.checkpoint)
        self.checkpoint_rows = self.checkpoint_rows[rows:]

    # Changes of the tables.

    def register(self, now: int, broker: Broker) -> None:
        """103, over the connection that is there or a new one."""
        if not self.is_up or broker.addr in self.cut_off:
            return
        before, state = copied(self.state), self.state
        key = (broker.cluster, broker.addr)
        old = state["live"].get(key)
        group = state["group"].get((broker.name,), (broker.cluster, None, False, ()))
        members = {member: addr for member, addr in group[3] if addr != broker.addr}
        if (loser := members.get(broker.broker_id)) is not None:
            state["live"].pop((broker.cluster, loser), None)
            state["filter"].pop((broker.cluster, loser), None)
        members[broker.broker_id] = broker.addr
        if old is None or key in self.restored:
            self.gen += 1
            self.restored.discard(key)
            old = None
        ha = f"{broker.addr}2"
        gen = old[2] if old else self.gen
        state["live"][key] = (broker.name, broker.broker_id, gen, ha, TIMEOUT_MS, (0, MARCH, broker.version))
        rows = tuple(sorted(members.items()))
        state["group"][broker.name,] = (broker.cluster, broker.zone, broker.acting, rows)
        names = state["cluster"].get((broker.cluster,), ())
        state["cluster"][broker.cluster,] = tuple(sorted({*names, broker.name}))
        self._take_topics(broker, is_acting=broker.acting and 0 not in members)
        if broker.filters:
            state["filter"][key] = broker.filters
        self.changed(now, before, cause="register_broker", peer=f"{broker.addr.split(':')[0]}:40{gen:03}")

    def _take_topics(self, broker: Broker, *, is_acting: bool) -> None:
        if broker.broker_id and not is_acting:
            return
        for topic, (read, write, perm, flag) in broker.topics.items():
            effective = perm & ~WRITE if is_acting else perm
            self.state["topic"][broker.name, topic] = (read, write, effective, flag)
        for topic, mapping in broker.mappings.items():
            self.state["mapping"][topic, broker.name] = frozen(mapping)

    def lose(self, now: int, broker: Broker, cause: str, idle: int) -> None:
        """The registration of a broker ends."""
        key = (broker.cluster, broker.addr)
        if not self.is_up or key not in self.state["live"]:
            return
        before, state = copied(self.state), self.state
        self.restored.discard(key)
        del state["live"][key]
        state["filter"].pop(key, None)
        cluster, zone, acting, members = state["group"][broker.name,]
        left = tuple(member for member in members if member[1] != broker.addr)
        if left:
            state["group"][broker.name,] = (cluster, zone, acting, left)
            self._act_as_master(broker.name, has_master=left[0][0] == 0, acting=acting)
        else:
            self._remove_name(broker)
        peer = f"{broker.addr.split(':')[0]}:41000" if cause == "unregister_broker" else ""
        self.changed(now, before, cause=cause, peer=peer, idle=idle)

    def _act_as_master(self, name: str, *, has_master: bool, acting: bool) -> None:
        if has_master or not acting:
            return
        for key, (read, write, perm, flag) in list(self.state["topic"].items()):
            if key[0] == name:
                self.state["topic"][key] = (read, write, perm & ~WRITE, flag)

    def _remove_name(self, broker: Broker) -> None:
        state = self.state
        del state["group"][broker.name,]
        names = tuple(name for name in state["cluster"][broker.cluster,] if name != broker.name)
        state["cluster"][broker.cluster,] = names
        if not names:
            del state["cluster"][broker.cluster,]
        for key in [key for key in state["topic"] if key[0] == broker.name]:
            del state["topic"][key]
        for key in [key for key in state["mapping"] if key[1] == broker.name]:
            del state["mapping"][key]

    def set_perm(self, now: int, name: str, *, write: bool) -> None:
        """205 and 327."""
        before = copied(self.state)
        for key, (read, writes, perm, flag) in list(self.state["topic"].items()):
            if key[0] == name:
                self.state["topic"][key] = (read, writes, perm | WRITE if write else perm & ~WRITE, flag)
        cause = "add_write_perm" if write else "wipe_write_perm"
        self.changed(now, before, cause=cause, peer="10.9.9.9:55555")

    def set_topic(self, now: int, name: str, topic: str, spec: tuple[int, int, int, int] | None) -> None:
        """216 and 217."""
        before = copied(self.state)
        if spec is None:
            self.state["topic"].pop((name, topic), None)
            self.state["mapping"].pop((topic, name), None)
        elif (name,) in self.state["group"]:
            self.state["topic"][name, topic] = spec
        cause = "delete_topic" if spec is None else "register_topic"
        self.changed(now, before, cause=cause, peer="10.9.9.9:55556")

    def set_kv(self, now: int, table: str, key: tuple[str, ...], value: str | None) -> None:
        """100, 102 and 318."""
        before = copied(self.state)
        if value is None:
            self.state[table].pop(key, None)
        else:
            self.state[table][key] = value
        cause = {"config": "update_namesrv_config"}.get(
            table, "delete_kv_config" if value is None else "put_kv_config"
        )
        self.changed(now, before, cause=cause, peer="10.9.9.9:55557")

    def activity(self, now: int) -> None:
        """What is rolled up: heartbeats, look-ups, look-ups of unknown topics, refusals."""
        minute = (now + self.offset) // 60_000 * 60_000
        for (cluster, addr), (name, broker_id, gen, *_) in self.state["live"].items():
            gaps = [0, 0, 0, 0, self.rng.randint(1, 3), self.rng.randint(0, 1), 0, 0]
            row = {"kind": "broker_minute", "cluster": cluster, "broker_addr": addr, "broker_name": name}
            row |= {"broker_id": broker_id, "gen": gen, "minute": minute, "last_seen": now + self.offset}
            row |= {"count": sum(gaps), "registrations": 1, "max_gap_ms": 30_000 + self.rng.randint(0, 9_000)}
            self.write(now, [{**row, "gaps": gaps, "body_bytes": self.rng.randint(1_000, 90_000)}])
        unknown = {
            "kind": "unknown_topic_minute",
            "minute": minute,
            "language": "JAVA",
            "client_version": 493,
        }
        self.write(now, [{**unknown, "topic": self.rng.choice(NAMES), "count": self.rng.randint(1, 9)}])
        lookups = [[topic, self.rng.randint(1, 99)] for topic in NAMES[:2]]
        self.write(now, [{"kind": "lookup_hour", "hour": minute // HOUR * HOUR, "lookups": lookups}])
        self.write(now, [{"kind": "server_alive", "connections": 2}])


def static_mapping(broker_name: str, epoch: int) -> Record:
    """TopicQueueMappingInfo of the topic `static`, as the wire has it."""
    queues = {"bname": broker_name, "currIdMap": {"0": epoch % 4, "3": 1}, "dirty": False, "epoch": epoch}
    return {**queues, "scope": "__global__", "topic": "static", "totalQueues": 4}


def frozen(value: Any) -> Any:
    """The same value, hashable and without an order of members."""
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(inner)) for key, inner in value.items()))
    return value


def thawed(value: Any) -> Any:
    """The JSON value of what `frozen` made; only objects and scalars occur."""
    if isinstance(value, tuple):
        return {key: thawed(inner) for key, inner in value}
    return value


def differences(
    before: State, after: State, rng: random.Random, *, cause: str, idle: int
) -> Iterator[Record]:
    """The records that lead from one state to another."""
    for key, old in before["live"].items():
        if key not in after["live"]:
            reason = cause if cause in REASONS else "replaced"
            yield {**live_row(key, old), "gone": True, "reason": reason, "idle_ms": idle}
    for key, new in after["live"].items():
        if (old := before["live"].get(key)) != new:
            begins = {"new": True} if old is None or old[2] != new[2] else {}
            connected = {"channel": new[2], "remote_addr": key[1], "body_bytes": 2_048}
            yield {
                **live_row(key, new),
                **begins,
                **({"idle_ms": idle} if cause == "restored" else connected),
            }
    for table, make in (("group", group_row), ("cluster", cluster_row), ("filter", filter_row)):
        for key in [*before[table], *(key for key in after[table] if key not in before[table])]:
            if before[table].get(key) != after[table].get(key):
                yield make(key, after[table].get(key))
    yield from topic_differences(before, after, rng)
    for key in [*before["mapping"], *(key for key in after["mapping"] if key not in before["mapping"])]:
        if before["mapping"].get(key) != after["mapping"].get(key):
            yield mapping_row(key, after["mapping"].get(key))
    for key in [*before["kv"], *(key for key in after["kv"] if key not in before["kv"])]:
        if before["kv"].get(key) != after["kv"].get(key):
            yield kv_row(key, after["kv"].get(key))
    changed = {key[0]: value for key, value in after["config"].items() if before["config"].get(key) != value}
    if changed:
        yield {"kind": "config", "properties": changed}


def topic_differences(before: State, after: State, rng: random.Random) -> Iterator[Record]:
    """Rows of each broker name, in pieces; a name that went takes its rows along without naming them."""
    old, new = before["topic"], after["topic"]
    for name in sorted({key[0] for key in old} | {key[0] for key in new}):
        if not any(key[0] == name for key in new) and (name,) not in after["group"]:
            yield {"kind": "broker_name_removed", "broker_name": name}
            continue
        keys = sorted({key for key in (*old, *new) if key[0] == name and old.get(key) != new.get(key)})
        rows = [[key[1], *new[key]] if key in new else [key[1]] for key in keys]
        yield from sliced(name, rows, rng)


def sliced(name: str, rows: list[list[Any]], rng: random.Random) -> Iterator[Record]:
    """Topic rows as records."""
    size = rng.choice((2, 1_000, 1_000))
    for start in range(0, len(rows), size):
        yield {"kind": "topic_queues", "broker_name": name, "rows": rows[start : start + size]}


def checkpoint_rows(state: State, rng: random.Random) -> Iterator[Record]:
    """The whole state as records."""
    for key, row in state["live"].items():
        yield {**live_row(key, row), "channel": row[2], "remote_addr": key[1]}
    for table, make in (
        ("group", group_row), ("cluster", cluster_row), ("filter", filter_row), ("mapping", mapping_row), ("kv", kv_row),
    ):  # fmt: skip
        for key, row in state[table].items():
            yield make(key, row)
    for name in sorted({key[0] for key in state["topic"]}):
        yield from sliced(
            name, [[key[1], *row] for key, row in state["topic"].items() if key[0] == name], rng
        )
    if state["config"]:
        yield {"kind": "config", "properties": {key[0]: value for key, value in state["config"].items()}}


def live_row(key: tuple[Any, ...], row: tuple[Any, ...]) -> Record:
    name, broker_id, gen, ha, timeout, version = row
    identity = {"kind": "broker_live", "cluster": key[0], "broker_addr": key[1], "broker_name": name}
    return {
        **identity, "broker_id": broker_id, "gen": gen, "ha_server_addr": ha, "timeout_ms": timeout,
        "data_version": list(version),
    }  # fmt: skip


def group_row(key: tuple[Any, ...], row: tuple[Any, ...] | None) -> Record:
    record: Record = {"kind": "broker_group", "broker_name": key[0]}
    if row is None:
        return {**record, "gone": True}
    record |= {"cluster": row[0], "broker_addrs": {str(member): addr for member, addr in row[3]}}
    return record | ({"zone": row[1]} if row[1] else {}) | ({"acting_master": True} if row[2] else {})


def cluster_row(key: tuple[Any, ...], row: tuple[str, ...] | None) -> Record:
    return {"kind": "cluster", "cluster": key[0]} | ({"broker_names": list(row)} if row else {})


def filter_row(key: tuple[Any, ...], row: tuple[str, ...] | None) -> Record:
    record = {"kind": "filter_servers", "cluster": key[0], "broker_addr": key[1]}
    return record | ({"filter_servers": list(row)} if row else {})


def mapping_row(key: tuple[Any, ...], row: Any) -> Record:
    record = {"kind": "topic_mapping", "topic": key[0], "broker_name": key[1]}
    return record | ({"gone": True} if row is None else {"mapping": thawed(row)})


def kv_row(key: tuple[Any, ...], row: str | None) -> Record:
    record = {"kind": "kv", "namespace": key[0], "key": key[1]}
    return record | ({"gone": True} if row is None else {"value": row})


REASONS = {"unregister_broker", "expired", "channel_closed", "replaced", "stale_registration"}
NAMES = (
    "orders",
    "payments",
    "it's; DROP TABLE --",
    "../../etc",
    'say "hi"\nthere',
    "主题",
    "%RETRY%group",
    "t8",
)


class World:
    """A cluster and its name servers; every method of `ACTIONS` is something that may happen."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.rng = rng
        self.now = MARCH + rng.randrange(20 * HOUR)
        self.history = History(name)
        self.servers = [
            NameServer(f"{name}.{number}_9876", rng, self.history) for number in range(rng.choice((1, 2, 3)))
        ]
        self.brokers = list(self._brokers(name))
        for server in self.servers:
            server.start(self.now + rng.randint(0, 900))

    def _brokers(self, name: str) -> Iterator[Broker]:
        rng = self.rng
        for number in range(rng.choice((1, 2, 3))):
            acting, zone = rng.random() < 0.3, rng.choice((None, "zone-a"))
            size = 1_003 if rng.random() < 0.01 else rng.randint(0, 3)
            topics = {f"{name}-t{index}": (4, 4, READ | WRITE, 0) for index in range(size)}
            topics |= dict.fromkeys(rng.sample(NAMES, 2), (8, 8, READ | WRITE, 0))
            mappings: dict[str, Record] = {}
            if rng.random() < 0.3:
                mappings["static"] = static_mapping(f"{name}-b{number}", 1)
            filters = (f"10.0.{number}.9:4000",) if rng.random() < 0.2 else ()
            for member in range(rng.choice((1, 1, 2))):
                addr = f"10.0.{number}.{member}:10911"
                yield Broker(
                    name, f"{name}-b{number}", member, addr, acting, zone, topics, mappings, filters=filters
                )

    def all_register(self, broker: Broker) -> None:
        """A registration goes to every name server, and arrives a little apart."""
        for server in self.servers:
            server.register(self.now + self.rng.randint(0, 300), broker)

    def some_up(self) -> list[Broker]:
        return [broker for broker in self.brokers if broker.is_up]

    # What may happen.

    def start_broker(self) -> None:
        down = [broker for broker in self.brokers if not broker.is_up]
        if down:
            broker = self.rng.choice(down)
            broker.is_up = True
            self.all_register(broker)

    def end_broker(self) -> None:
        if not (up := self.some_up()):
            return
        broker = self.rng.choice(up)
        broker.is_up = False
        cause = self.rng.choice(("expired", "channel_closed", "unregister_broker"))
        if cause == "expired":
            self.now += 121_000
        for server in self.servers:
            idle = 121_000 if cause == "expired" else self.rng.randint(0, 30_000)
            server.lose(self.now + self.rng.randint(0, 4_000), broker, cause, idle)

    def flap(self) -> None:
        if not (up := self.some_up()):
            return
        broker = self.rng.choice(up)
        for _ in range(self.rng.randint(1, 3)):
            for server in self.servers:
                server.lose(self.now + self.rng.randint(0, 200), broker, "channel_closed", 700)
            self.now += self.rng.choice((0, 400, 7_000, 45_000))
            self.all_register(broker)
            self.now += 1_000

    def move(self) -> None:
        """A broker comes back under another address and takes its id."""
        if up := self.some_up():
            broker = self.rng.choice(up)
            host, _, port = broker.addr.partition(":")
            broker.addr = f"{host}{self.rng.randint(1, 9)}:{port}"
            self.all_register(broker)

    def new_topic(self) -> None:
        if up := self.some_up():
            broker = self.rng.choice(up)
            topic = self.rng.choice((*NAMES, "static"))
            broker.topics[topic] = (
                self.rng.randint(1, 16),
                self.rng.randint(0, 16),
                self.rng.choice((2, 4, 6)),
                0,
            )
            if topic == "static":
                broker.mappings[topic] = static_mapping(broker.name, self.rng.randint(1, 9))
            for mate in self.brokers:
                if mate.name == broker.name and mate.is_up:
                    mate.version += 1
                    self.all_register(mate)

    def several_topics(self) -> None:
        for _ in range(6):
            self.new_topic()
            self.now += self.rng.randint(400, 9_000)

    def perm(self) -> None:
        name, write = self.rng.choice(self.brokers).name, self.rng.random() < 0.5
        for server in self.rng.sample(self.servers, self.rng.randint(1, len(self.servers))):
            if server.is_up:
                server.set_perm(self.now + self.rng.randint(0, 500), name, write=write)

    def topic_by_hand(self) -> None:
        broker = self.rng.choice(self.brokers)
        topic = self.rng.choice((*broker.topics, *NAMES))
        spec = self.rng.choice((None, None, (1, 1, 6, 0), (3, 0, 6, 1)))
        for server in self.rng.sample(self.servers, self.rng.randint(1, len(self.servers))):
            if server.is_up:
                server.set_topic(self.now, broker.name, topic, spec)

    def kv(self) -> None:
        table, key = self.rng.choice(
            (
                ("kv", ("ORDER_TOPIC_CONFIG", "orders")),
                ("kv", ("o'; --", "k\n")),
                ("config", ("orderMessageEnable",)),
            )
        )
        value = (
            self.rng.choice(("b0:4;b1:4", "x", "y"))
            if table == "config"
            else self.rng.choice((None, "1", "2"))
        )
        for server in self.servers:
            if server.is_up and self.rng.random() < 0.8:
                server.set_kv(self.now, table, key, value)

    def cut_off(self) -> None:
        """One name server does not hear a broker any more, or hears it again."""
        server, broker = self.rng.choice(self.servers), self.rng.choice(self.brokers)
        if broker.addr in server.cut_off:
            server.cut_off.discard(broker.addr)
            if broker.is_up:
                server.register(self.now, broker)
        else:
            server.cut_off.add(broker.addr)
            self.now += 121_000
            server.lose(self.now, broker, "expired", 121_000)

    def restart(self) -> None:
        server = self.rng.choice(self.servers)
        if server.is_up:
            end = self.rng.choice((server.stop, server.crash))
            end(self.now)
            self.now += self.rng.choice((500, 60_000, 2 * HOUR))
        old, away = server.state, self.now - server.last_true
        server.start(self.now)
        idle = away + self.rng.choice((1, 30_000))
        if idle < TIMEOUT_MS and self.rng.random() < 0.9:
            # At the start; a release before recorded it later.
            server.restore(self.now + idle % 2, old, idle)
        self.now += self.rng.choice((0, 5_000, 200_000))
        for broker in self.some_up():
            server.register(self.now + self.rng.randint(0, 20_000), broker)
        self.now += 20_000
        for broker in self.brokers:
            if not broker.is_up or broker.addr in server.cut_off:
                server.lose(self.now, broker, "expired", 121_000)

    def shut_down(self) -> None:
        server = self.rng.choice(self.servers)
        if server.is_up and len(self.servers) > 1:
            server.stop(self.now)

    def drop(self) -> None:
        """The journal can't keep up: changes are lost until the next checkpoint."""
        server = self.rng.choice(self.servers)
        if not server.is_up:
            return
        if server.checkpoint_rows and not server.losing:
            self._tear(server)
            return
        server.losing = not server.losing
        self.history.dropped += server.losing
        if not server.losing:
            if self.rng.random() < 0.4:
                server.begin_checkpoint(self.now, "recovery")
                self._tear(server)
            else:
                server.recover(self.now)

    def _tear(self, server: NameServer) -> None:
        """A checkpoint with a hole in it has an end all the same; it must not count."""
        self.now += 5_000
        server.set_kv(self.now, "kv", ("kept", "k"), str(self.now))
        server.losing = True
        server.set_kv(self.now, "kv", ("lost", "k"), str(self.now))
        server.losing = False
        server.write_checkpoint(self.now)
        self.now += self.rng.choice((0, 60_000))
        server.recover(self.now)
        self.history.dropped += 1

    def miscount(self) -> None:
        """A checkpoint with a row too few or too many: its counts tell, and its rows are no news."""
        server = self.rng.choice(self.servers)
        if not server.is_up or server.losing or server.checkpoint_rows:
            return
        server.begin_checkpoint(self.now, "interval")
        if len(server.checkpoint_rows) > 2 and self.rng.random() < 0.5:
            del server.checkpoint_rows[self.rng.randrange(len(server.checkpoint_rows) - 1)]
        else:
            server.checkpoint_rows.insert(
                0, {"kind": "kv", "namespace": "of nobody", "key": "k", "value": "v"}
            )
        server.write_checkpoint(self.now)

    def checkpoint(self) -> None:
        server = self.rng.choice(self.servers)
        if not server.is_up or server.losing:
            return
        if server.checkpoint_rows:
            server.write_checkpoint(self.now)
        else:
            server.begin_checkpoint(self.now, "interval")
            server.write_checkpoint(self.now + 10, self.rng.choice((1, 3, 10**9)))

    def clock(self) -> None:
        server = self.rng.choice(self.servers)
        if server.is_up and not server.losing:
            server.jump(self.now, self.rng.choice((-90_000, -2_000, 30_000, 3 * HOUR, -HOUR, 300, -300)))

    def activity(self) -> None:
        for server in self.servers:
            if server.is_up:
                server.activity(self.now)

    ACTIONS: Mapping[str, int] = {
        "start_broker": 12, "end_broker": 4, "flap": 3, "move": 1, "new_topic": 5, "several_topics": 1, "perm": 3,
        "topic_by_hand": 3, "kv": 3, "cut_off": 3, "restart": 3, "shut_down": 1, "drop": 2, "checkpoint": 5, "miscount": 1,
        "clock": 2, "activity": 6,
    }  # fmt: skip


def history(name: str, seed: int, *, actions: int = 40) -> History:
    """One history.

    Args:
        name: prefix of its name servers and name of its cluster, so that histories do not meet.
        seed: the same seed makes the same history.
        actions: how many things happen.
    """
    rng = random.Random(seed)
    world = World(name, rng)
    names, weights = list(World.ACTIONS), list(World.ACTIONS.values())
    for _ in range(actions):
        world.now += rng.choice(
            (
                1_000,
                4_000,
                4_000,
                20_000,
                20_000,
                130_000,
                130_000,
                600_000,
                600_000,
                HOUR,
                HOUR,
                5 * HOUR,
                5 * HOUR,
                30 * HOUR,
            )
        )
        getattr(world, rng.choices(names, weights)[0])()
    world.now += 1_000
    for server in world.servers:
        if server.is_up and not server.losing:
            server.write(world.now, [{"kind": "server_alive", "connections": 1}])
            if rng.random() < 0.2:
                server.jump(world.now, -90_000)
    return world.history


def histories(seed: int, count: int, *, actions: int = 40) -> list[History]:
    """Several histories that do not meet."""
    seeds = enumerate(range(seed * 1_000, seed * 1_000 + count))
    return [history(f"w{number}", each, actions=actions) for number, each in seeds]
