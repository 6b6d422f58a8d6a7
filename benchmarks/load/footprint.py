"""The rows that need servers of their own: memory with large tables, and the time to start."""

from benchmarks.load.bench import Bench
from benchmarks.load.fleet import registered
from benchmarks.load.payload import Broker, base_topic, registration
from benchmarks.load.servers import REAL

__all__ = ["run"]

MEMORY_LOOKUP_SECONDS = 2.0


def run(bench: Bench) -> None:
    """Take both."""
    if bench.wants("memory-large"):
        _memory(bench)
    if bench.wants("ready"):
        _ready(bench)


def _memory(bench: Bench) -> None:
    """Register, look up for a while, and read what is resident then; once, because noise doesn't bend it."""
    scale = bench.scale
    rows = [base_topic(index) for index in range(scale.large_topics)]
    brokers = [Broker(f"bench-{n:02}", f"10.0.2.{n + 1}:9091") for n in range(scale.large_brokers)]
    frames = [registration(broker, rows, compressed=True) for broker in brokers]
    for name in (name for name in REAL if name in bench.names):
        with bench.started(name) as server, registered(server.port, brokers, frames):
            bench.generator.lookups(
                server.port, seconds=MEMORY_LOOKUP_SECONDS, topics=scale.large_topics, connections=16
            ).result()
            rss, peak = server.memory_mib()
        bench.record("memory-large", name, {"rss_mib": rss, "peak_mib": peak})


def _ready(bench: Bench) -> None:
    """Start and stop; all were started before, so nothing is read from the disk."""
    for _ in range(bench.scale.rounds):
        for name in bench.names:
            with bench.started(name) as server:
                bench.record("ready", name, {"ready_ms": server.ready_ms, "cpu_ms": server.ready_cpu_ms})
