"""Every broker of a large fleet registers at the same moment while clients look up other topics."""

import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.load.bench import Bench, Meter, Sample
from benchmarks.load.errors import RefusedError
from benchmarks.load.fleet import ask, registered
from benchmarks.load.payload import (
    BASE_BROKERS,
    GET_ROUTEINFO_BY_TOPIC,
    Broker,
    Topic,
    distinct_topics,
    registration,
    request,
    topics,
)
from benchmarks.load.rows import Scale
from benchmarks.load.servers import REAL, Server
from benchmarks.load.steady import BACKGROUND, base_frames, check_routes, failures, warm_up

__all__ = ["DISTINCT", "run", "write_frames"]

SHARED, DISTINCT = "storm-shared", "storm-distinct"
AFTER_SECONDS = 0.5  # what the server still does once all are answered is in the latency too


def run(bench: Bench) -> None:
    """Take both storms; each sample has a server of its own, because a storm leaves its tables full."""
    for key in (SHARED, DISTINCT):
        if not bench.wants(key):
            continue
        frames = bench.scratch / f"{key}.frames"
        witnesses = write_frames(frames, key, bench.scale)
        for _ in range(min(bench.scale.rounds, bench.scale.storm_rounds)):
            for name in bench.names:
                with bench.started(name) as server:
                    bench.record(key, name, _sample(bench, server, frames, witnesses))
        frames.unlink()


def write_frames(path: Path, key: str, scale: Scale) -> dict[str, str]:
    """Write a frame for each broker, in JSON, a broker's default; return broker name -> its last topic."""
    witnesses: dict[str, str] = {}
    with path.open("wb") as file:
        for number, rows in enumerate(_rows(key, scale)):
            broker = Broker(f"storm-{number:03}", f"10.1.{number // 250}.{number % 250 + 1}:9091")
            file.write(registration(broker, rows, compressed=False))
            witnesses[broker.name] = rows[-1][0]
    return witnesses


def _rows(key: str, scale: Scale) -> Iterator[list[Topic]]:
    """Topics of each broker: a random part of the shared ones, or ones that no other broker has."""
    if key == SHARED:
        chance = random.Random(1)  # the same storm in every run
        shared = topics("StormTopic", range(scale.storm_distinct))
        for _ in range(scale.storm_brokers):
            yield chance.sample(shared, scale.storm_topics)
    else:
        for first in range(0, scale.storm_brokers * scale.storm_topics, scale.storm_topics):
            yield distinct_topics("StormTopic", range(first, first + scale.storm_topics))


def _sample(bench: Bench, server: Server, frames: Path, witnesses: Mapping[str, str]) -> Sample:
    scale = bench.scale
    with registered(server.port, BASE_BROKERS, base_frames(scale.topics)):
        check_routes(server, scale.topics)
        warm_up(bench, server)
        with Meter(server) as meter:
            load = bench.generator.lookups(
                server.port, seconds=2 * scale.storm_seconds, topics=scale.topics, **BACKGROUND
            )
            time.sleep(2 * BACKGROUND["warmup"])
            brokers = bench.generator.register(server.port, frames, timeout=scale.storm_seconds)
            storm = brokers.first_line()
            time.sleep(AFTER_SECONDS)
            load.stop_measuring()
            found = load.result()
        missing = _missing(server, witnesses)
        dropped = server.journal_status().dropped_records if server.alive else 0
        brokers.release()
    rss, peak = server.memory_mib() if server.alive else (0.0, 0.0)
    return {
        "all_s": storm["last_ms"] / 1000,
        "first_s": storm["first_ms"] / 1000,
        "p99_ms": found["p99_us"] / 1000,
        "p999_ms": found["p999_us"] / 1000,
        "max_ms": found["max_us"] / 1000,
        "failures": storm["refused"] + storm["closed"] + storm["unanswered"] + missing + failures(found),
        "closed": storm["closed"],
        "missing": missing,
        "dropped": dropped,
        "refused_lookups": found["wrong"],
        "cpu_s": meter.cpu_seconds,
        "rss_mib": rss,
        "peak_mib": peak,
        "foreign": meter.foreign,
    }


def _missing(server: Server, witnesses: Mapping[str, str]) -> int:
    """Count brokers that were told "success" and whose last topic has no route to them all the same."""
    if server.name not in REAL:
        return 0
    return sum(broker.encode() not in _route(server, topic) for broker, topic in witnesses.items())


def _route(server: Server, topic: str) -> bytes:
    try:
        return ask(server.port, request(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))
    except (RefusedError, OSError):
        return b""
