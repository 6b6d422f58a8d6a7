"""How long a restart takes that restores routes: from the start of the process to the first answer."""

import shutil
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
GET_BROKER_CLUSTER_INFO = request(106, {})


def run(bench: Bench) -> None:
    """Take both sizes."""
    if NAME not in bench.names:
        return
    if bench.wants("ready-again"):
        _restarts(bench, "ready-again", bench.scale.topics, 4)
    if bench.wants("ready-again-large"):
        _restarts(bench, "ready-again-large", bench.scale.large_topics, bench.scale.large_brokers)


def _restarts(bench: Bench, key: str, topics: int, count: int) -> None:
    """Register brokers, kill the server, and start it again with copies of its journal."""
    rows = [base_topic(index) for index in range(topics)]
    brokers = [Broker(f"bench-{n:02}", f"10.0.2.{n + 1}:9091") for n in range(count)]
    frames = [registration(broker, rows, compressed=True) for broker in brokers]
    journal, port = bench.scratch / key, free_port()
    with (
        bench.started(NAME, "--journal-path", str(journal), port=port) as server,
        registered(server.port, brokers, frames),
    ):
        eventually(lambda: _is_written(server), within=WRITTEN_SECONDS, what="the journal is on the disk")
    for turn in range(min(bench.scale.rounds, ROUNDS)):
        copy = Path(f"{journal}-{turn}")
        shutil.copytree(journal, copy)
        with bench.started(NAME, "--journal-path", str(copy), port=port) as server:
            if ask(port, GET_BROKER_CLUSTER_INFO).count(b'"brokerName"') != count:
                raise ServerError("the brokers were not restored: the machine was too slow, or it is a bug")
            bench.record(key, NAME, {"ready_ms": server.ready_ms, "cpu_ms": server.ready_cpu_ms})
        shutil.rmtree(copy)
    shutil.rmtree(journal)


def _is_written(server: Server) -> bool:
    status = server.journal_status()
    return 0 < status.last_seq == status.durable_seq
