"""The rows taken from servers that run with 20,000 topics of 4 brokers: look-ups, memory, registrations."""

import contextlib
import json
import math
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from benchmarks.load.bench import Bench, Meter, Sample
from benchmarks.load.changes import (
    SMALL,
    SMALL_TOPICS,
    Changes,
    change_of_base,
    change_of_one,
    change_of_small,
)
from benchmarks.load.errors import RefusedError, WrongAnswerError
from benchmarks.load.fleet import Fleet, ask, registered
from benchmarks.load.payload import (
    BASE_BROKERS,
    GET_ROUTEINFO_BY_TOPIC,
    Broker,
    base_topic,
    goodbye,
    registration,
    request,
    route_body,
    topics,
)
from benchmarks.load.servers import OURS, REAL, Server
from benchmarks.load.watchers import watched

__all__ = ["BACKGROUND", "ROUTE_BYTES", "base_frames", "check_routes", "failures", "run", "warm_up"]

T = TypeVar("T")
Fleets = dict[Server, Fleet]

LOOKUPS: dict[str, dict[str, float]] = {
    "lookups-16": {"connections": 16},
    "lookups-1x16": {"connections": 1, "in_flight": 16},
    "lookups-200": {"connections": 200},
    "lookups-1024": {"connections": 1024},
}
MISSES: dict[str, dict[str, Any]] = {
    f"lookups-{kind}": {"connections": 16, "kind": kind} for kind in ("other", "binary", "unknown")
}
"""What a cache by the bytes of requests can't answer; see lookups.c."""
FIRST = "lookups-first"
NEW = "lookups-new"
UNCACHED = "lookups-uncached"
NO_CACHE = ("--lookup-cache-bytes", "0", "--route-cache-bytes", "0")
"""How one of ours is started for that row."""
CHANGES = {
    f"changes-{whose}-{rate}": (change, rate)
    for whose, change in (("small", change_of_small), ("base", change_of_base))
    for rate in (1, 10, 100)
}
"""Row -> what changes while clients look up, and how often a second."""
WATCHED = {"watchers": (change_of_base, 10, 20), "watchers-one-topic": (change_of_one, 1, 0)}
"""Row -> the same, and how many topics each watcher has; 0: all have the first."""
HEARTBEATS = {"heartbeat-json": False, "heartbeat-compressed": True}
"""Row -> whether the body is compressed."""

ROUTE_BYTES = len(route_body(BASE_BROKERS, base_topic(0)))
BACKGROUND: dict[str, float] = {"rate": 2000, "connections": 4, "warmup": 0.3, "body_bytes": ROUTE_BYTES}
"""Open loop: what clients ask while brokers register."""

LARGE = Broker("bench-large", "10.0.1.1:9091")
REGISTRATIONS = {"registration-json": False, "registration": True}
"""Row -> whether the body is compressed."""
GET_BROKER_CLUSTER_INFO = 106
WARM_UP_SECONDS = 30
GONE_SECONDS = 300
REST_SECONDS = 20
REST_STEP_SECONDS = 0.1
REST_SHARE = 0.05
"""All servers together use less of a processor when they rest."""
FIRST_SECONDS = 60
GOODBYE_SECONDS = 1
"""After that a front of ours does not try any more to make the answers of what is gone, and has had time for
those of what came."""
FIRST_CHANGE = 1_000_000
"""Above the numbers of the changes before."""
REGISTRATION_SECONDS = 300


def run(bench: Bench) -> None:
    """Start every server once, then take the rows in rounds: A B C D, A B C D, ..."""
    if not bench.wants(
        "memory", FIRST, NEW, UNCACHED, *LOOKUPS, *MISSES, *CHANGES, *WATCHED, *REGISTRATIONS, *HEARTBEATS
    ):
        return
    with contextlib.ExitStack() as opened:
        fleets: Fleets = {}
        for name in bench.names:
            server, fleets[server] = _started(bench, name, opened)
            if bench.wants("memory"):
                rss, peak = server.memory_mib()
                bench.record("memory", name, {"rss_mib": rss, "peak_mib": peak})
        _lookups(bench, fleets)
        _registrations(bench, fleets)
        _heartbeats(bench, fleets)
        real = {server: fleet for server, fleet in fleets.items() if server.name in REAL}
        _first(bench, real)
        _new(bench, real)
        if bench.wants(UNCACHED):
            _uncached(bench, {server: fleet for server, fleet in real.items() if server.name not in OURS})


def _started(bench: Bench, name: str, opened: contextlib.ExitStack, *options: str) -> tuple[Server, Fleet]:
    """A server with its brokers, which has answered enough to be warm."""
    frames = [*base_frames(bench.scale.topics), registration(SMALL, SMALL_TOPICS, compressed=True)]
    server = opened.enter_context(bench.started(name, *options))
    fleet = opened.enter_context(registered(server.port, [*BASE_BROKERS, SMALL], frames))
    check_routes(server, bench.scale.topics)
    warm_up(bench, server)
    return server, fleet


def base_frames(count: int) -> list[bytes]:
    """The registrations behind the topics that are looked up."""
    rows = [base_topic(index) for index in range(count)]
    return [registration(broker, rows, compressed=True) for broker in BASE_BROKERS]


def check_routes(server: Server, count: int) -> None:
    """Compare a few routes with what they must be, as values and in size."""
    for index in (0, 1, count // 2, count - 1):
        topic = base_topic(index)
        answer = ask(server.port, request(GET_ROUTEINFO_BY_TOPIC, {"topic": topic[0]}))
        got, expected = json.loads(answer), json.loads(route_body(BASE_BROKERS, topic))
        for rows in (got["brokerDatas"], got["queueDatas"]):
            rows.sort(key=lambda row: row["brokerName"])
        if got != expected or len(answer) != ROUTE_BYTES:
            raise WrongAnswerError(f"{server.name} answers {got} for {topic}, not {expected}")


def warm_up(bench: Bench, server: Server, **load: float | str) -> None:
    """Ask until a just-in-time compiler and a cache have seen enough."""
    bench.generator.lookups(
        server.port, seconds=WARM_UP_SECONDS, requests=bench.scale.warmup_requests, warmup=0,
        topics=bench.scale.topics, body_bytes=ROUTE_BYTES, connections=16, **load,
    ).result()  # fmt: skip


def failures(found: Mapping[str, float]) -> float:
    """Count look-ups that were answered wrongly, or not at all, and connections that the server closed."""
    return found["wrong"] + found["lost"] + found["overrun"] + found["closed"]


def _turns(bench: Bench, rows: Mapping[str, T], fleets: Fleets) -> Iterator[tuple[str, T, Server]]:
    for _ in range(bench.scale.rounds):
        for key, value in rows.items():
            for server, fleet in fleets.items():
                if bench.wants(key):
                    fleet.refresh()
                    if not _rest(fleets):
                        bench.notes.append(f"{key} of {server.name}: servers were at work before it")
                    yield key, value, server


def _rest(servers: Iterable[Server]) -> bool:
    """Wait until no server works any more at the row before, or compiles it; returns whether that came."""
    deadline = time.monotonic() + REST_SECONDS
    before = -math.inf
    while time.monotonic() < deadline:
        used = sum(server.cpu_seconds() for server in servers)
        if used - before < REST_SHARE * REST_STEP_SECONDS:
            return True
        before = used
        time.sleep(REST_STEP_SECONDS)
    return False


def _lookups(bench: Bench, fleets: Fleets) -> None:
    """Quiet look-ups and those beside changes, in the same rounds: they are compared."""
    numbers = dict.fromkeys(fleets, 0)
    rows: dict[str, Any] = {**LOOKUPS, **CHANGES, **WATCHED, **MISSES}
    for key, row, server in _turns(bench, rows, fleets):
        if key not in LOOKUPS and server.name not in (OURS if key in WATCHED else REAL):
            continue
        if key in LOOKUPS or key in MISSES:
            sample = _look_up(bench, server, row)
        else:
            change, rate, *watching = row
            changes = Changes(fleets[server], change, rate, first=numbers[server])
            if watching:
                with watched(server.http_port, _watched_topics(bench, *watching)), changes:
                    sample = _look_up_beside(bench, server, rate)
            else:
                sample = _compared(bench, server, changes, rate)
            numbers[server] += changes.sent
        bench.record(key, server.name, sample)


def _compared(bench: Bench, server: Server, changes: Changes, rate: float) -> Sample:
    """Look-ups before, during and after changes: what the machine does meanwhile meets all of them."""
    before = _look_up_beside(bench, server, rate)
    with changes:
        found = _look_up_beside(bench, server, rate)
    after = _look_up_beside(bench, server, rate)
    return {**found, "kept": 2 * found["per_second"] / (before["per_second"] + after["per_second"])}


def _look_up_beside(bench: Bench, server: Server, rate: float) -> Sample:
    """Look up for long enough that something changes at this rate."""
    return _look_up(bench, server, LOOKUPS["lookups-16"] | {"seconds": 1 / rate})


def _watched_topics(bench: Bench, each: int) -> list[list[str]]:
    """The topics of each watcher; together the watchers have those that change."""
    return [
        [base_topic((number * each + index) % bench.scale.topics)[0] for index in range(max(1, each))]
        for number in range(bench.scale.watchers)
    ]


def _look_up(bench: Bench, server: Server, load: dict[str, Any]) -> Sample:
    seconds = max(bench.scale.seconds, load.get("seconds", 0))
    defaults = {"warmup": bench.scale.warmup, "topics": bench.scale.topics, "body_bytes": ROUTE_BYTES}
    with Meter(server) as meter:
        found = bench.generator.lookups(server.port, **(defaults | load | {"seconds": seconds})).result()
    return {
        "per_second": found["per_second"],
        "p50_ms": found["p50_us"] / 1000,
        "p99_ms": found["p99_us"] / 1000,
        "p999_ms": found["p999_us"] / 1000,
        "max_ms": found["max_us"] / 1000,
        "cpu_us": meter.cpu_seconds * 1e6 / max(1, found["answered_total"]),
        "failures": failures(found),
        "foreign": meter.foreign,
    }


def _uncached(bench: Bench, fleets: Fleets) -> None:
    """Our server without any cache beside the others."""
    with contextlib.ExitStack() as opened:
        server, fleet = _started(bench, OURS[0], opened, *NO_CACHE)
        for key, load, each in _turns(bench, {UNCACHED: LOOKUPS["lookups-16"]}, {server: fleet, **fleets}):
            bench.record(key, each.name, _look_up(bench, each, load))


def _first(bench: Bench, fleets: Fleets) -> None:
    """Every route changes, and then clients ask for each once, with headers that were never seen."""
    rows = [base_topic(index) for index in range(bench.scale.topics)]
    changed = [(name, 12 - read, 12 - write) for name, read, write in rows]
    for number, (key, _, server) in enumerate(_turns(bench, {FIRST: None}, fleets)):
        turn = number // len(fleets)
        for broker in BASE_BROKERS:
            frame = registration(
                broker, rows if turn % 2 else changed, compressed=True, changes=FIRST_CHANGE + turn
            )
            fleets[server].send_as(broker, frame)
        bench.record(key, server.name, _look_up_once(bench, server))


def _new(bench: Bench, fleets: Fleets) -> None:
    """Topics go and come again, and a second later clients ask for each once: nobody has since they came."""
    frames = base_frames(bench.scale.topics)
    for key, _, server in _turns(bench, {NEW: None}, fleets):
        fleet = fleets[server]
        for broker in BASE_BROKERS:
            fleet.send_as(broker, goodbye(broker))
        time.sleep(GOODBYE_SECONDS)
        for broker, frame in zip(BASE_BROKERS, frames, strict=True):
            fleet.send_as(broker, frame)
        time.sleep(GOODBYE_SECONDS)
        bench.record(key, server.name, _look_up_once(bench, server))


def _look_up_once(bench: Bench, server: Server) -> Sample:
    once = {"connections": 16, "kind": "first", "requests": bench.scale.topics, "seconds": FIRST_SECONDS}
    return _look_up(bench, server, once)


def _registrations(bench: Bench, fleets: Fleets) -> None:
    """A broker that the server does not know registers many new topics while clients look up others."""
    sizes = {"registration-json": bench.scale.json_topics, "registration": bench.scale.large_topics}
    for key, compressed in REGISTRATIONS.items():
        if not bench.wants(key):
            continue
        frame = registration(LARGE, topics("LargeTopic", range(sizes[key])), compressed=compressed)
        for _, _, server in _turns(bench, {key: None}, fleets):
            bench.record(key, server.name, _register(bench, server, frame))


def _register(bench: Bench, server: Server, frame: bytes) -> Sample:
    with Meter(server) as meter, contextlib.ExitStack() as opened:
        load = bench.generator.lookups(
            server.port, seconds=REGISTRATION_SECONDS, topics=bench.scale.topics, **BACKGROUND
        )
        time.sleep(2 * BACKGROUND["warmup"])
        fleet = Fleet(server.port, [LARGE], opened)
        before = server.cpu_seconds()
        (answered,) = fleet.send([frame])
        used = server.cpu_seconds() - before
        time.sleep(BACKGROUND["warmup"])
        load.stop_measuring()
        found = load.result()
    _await_gone(server, LARGE)
    return {
        "answered_ms": answered * 1000,
        "cpu_ms": used * 1000,
        "pause_ms": found["max_us"] / 1000,
        "p99_ms": found["p99_us"] / 1000,
        "failures": failures(found),
        "foreign": meter.foreign,
    }


def _heartbeats(bench: Bench, fleets: Fleets) -> None:
    """A broker sends again what it sent before, over the same connection."""
    rows = topics("HeartTopic", range(bench.scale.heartbeat_topics))
    broker = Broker("bench-heart", "10.0.1.2:9091")
    for key, compressed, server in _turns(bench, HEARTBEATS, fleets):
        frame = registration(broker, rows, compressed=compressed)
        with registered(server.port, [broker], [frame]) as fleet:
            _beat(bench.scale.heartbeats, server, fleet, frame)
            bench.record(key, server.name, _beat(bench.scale.heartbeats, server, fleet, frame))
        _await_gone(server, broker)


def _beat(times: int, server: Server, fleet: Fleet, frame: bytes) -> Sample:
    with Meter(server) as meter:
        seconds = [fleet.send([frame])[0] for _ in range(times)]
    return {
        "cpu_ms": meter.cpu_seconds * 1000 / times,
        "answered_ms": statistics.median(seconds) * 1000,
        "foreign": meter.foreign,
    }


def _await_gone(server: Server, broker: Broker) -> None:
    """Wait until the end of its connection has removed a broker: the next one finds the same state."""
    deadline = time.monotonic() + GONE_SECONDS
    while _lists(server, broker):
        if time.monotonic() > deadline:
            raise WrongAnswerError(f"{server.name} still lists {broker.name}, whose connection is closed")
        time.sleep(0.05)


def _lists(server: Server, broker: Broker) -> bool:
    """Say whether a broker is among those of 106, or may be.

    Java answers 106 with code 1 when a broker goes at that instant: it reads the tables without their lock.
    """
    try:
        return broker.name.encode() in ask(server.port, request(GET_BROKER_CLUSTER_INFO, {}))
    except RefusedError:
        return True
