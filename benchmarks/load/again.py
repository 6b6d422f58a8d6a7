"""How long a restart takes that restores routes: from the start of the process to the first answer."""

import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.load.bench import Bench
from benchmarks.load.errors import ServerError
from benchmarks.load.fleet import ask, registered
from benchmarks.load.payload import Broker, base_topic, registration, request
from benchmarks.load.servers import Server
from tests.support.system.processes import eventually, free_port

__all__ = ["run"]

NAME = "namekeeper"
ROUNDS = 3
"""At most: a broker that is silent for 120 s expires, and then there is nothing to restore."""
WRITTEN_SECONDS = 300
SMALL_TOPICS, SMALL_BROKERS = 10, 2
GET_BROKER_CLUSTER_INFO = request(106, {})

ENDS: dict[str, Callable[[Server], None]] = {"killed": Server.kill, "stopped": Server.stop}
"""How the server before ends: by kill -9, or by SIGTERM."""


def run(bench: Bench) -> None:
    """Take all sizes."""
    if NAME not in bench.names:
        return
    scale = bench.scale
    for key, topics, count in (
        ("ready-again-empty", 0, 0),
        ("ready-again-small", SMALL_TOPICS, SMALL_BROKERS),
        ("ready-again", scale.topics, 4),
        ("ready-again-large", scale.large_topics, scale.large_brokers),
    ):
        if bench.wants(key):
            _restarts(bench, key, topics, count)


def _restarts(bench: Bench, key: str, topics: int, count: int) -> None:
    """Register brokers, end the server in each way, and start it again with copies of its journal."""
    rows = [base_topic(index) for index in range(topics)]
    brokers = [Broker(f"bench-{n:02}", f"10.0.2.{n + 1}:9091") for n in range(count)]
    frames = [registration(broker, rows, compressed=True) for broker in brokers]
    taken = {how: _starts(bench, f"{key}-{how}", brokers, frames, end) for how, end in ENDS.items()}
    for (killed_ms, cpu_ms), (stopped_ms, _) in zip(taken["killed"], taken["stopped"], strict=True):
        bench.record(key, NAME, {"ready_ms": killed_ms, "stopped_ms": stopped_ms, "cpu_ms": cpu_ms})


def _starts(
    bench: Bench, name: str, brokers: list[Broker], frames: list[bytes], end: Callable[[Server], None]
) -> list[tuple[float, float]]:
    """The time and the CPU time of each start, in ms."""
    journal, port = bench.scratch / name, free_port()
    with (
        bench.started(NAME, "--journal-path", str(journal), port=port) as server,
        registered(server.port, brokers, frames),
    ):
        eventually(lambda: _is_written(server), within=WRITTEN_SECONDS, what="the journal is on the disk")
        end(server)
    found = []
    for turn in range(min(bench.scale.rounds, ROUNDS)):
        copy = Path(f"{journal}-{turn}")
        shutil.copytree(journal, copy)
        with bench.started(NAME, "--journal-path", str(copy), port=port) as server:
            if ask(port, GET_BROKER_CLUSTER_INFO).count(b'"brokerName"') != len(brokers):
                raise ServerError("the brokers were not restored: the machine was too slow, or it is a bug")
            found.append((server.ready_ms, server.ready_cpu_ms))
        shutil.rmtree(copy)
    shutil.rmtree(journal)
    return found


def _is_written(server: Server) -> bool:
    status = server.journal_status()
    return 0 < status.last_seq == status.durable_seq
