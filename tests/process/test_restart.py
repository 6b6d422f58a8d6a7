"""A restart under a fleet of brokers: whoever gets an answer gets the whole route, after SIGTERM and after kill -9."""

import contextlib
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from namekeeper.journal.disk.heard_file import HEARD_FILE, load_heard
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.differential.wire import Connection
from tests.process.running import NameServerProcess, environment
from tests.support.system.processes import eventually, free_port
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import ask

pytestmark = pytest.mark.waits

BROKERS, TOPICS = 20, 10
ALL_TOPICS, LOOK_UP = 206, 105
IDLE_SECONDS = 30.0
LATE_MS = 20_000
MANY_BROKERS, MANY_TOPICS = 30, int(os.environ.get("NAMEKEEPER_RESTORED_TOPICS", "2000"))
"""The night has 100,000, so 3 million rows."""
WRITTEN_SECONDS = 60.0


class Client:
    """Looks topics up, without a pause while nobody answers, and counts the brokers of each answer."""

    def __init__(self, address: str, topics: list[str], pause_seconds: float = 0.0) -> None:
        self.seen: Counter[tuple[int, int]] = Counter()
        """Code and number of brokers -> answers."""
        self._address, self._topics = address, topics
        self._pause_seconds = pause_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    @property
    def answers(self) -> int:
        return sum(self.seen.values())

    def _look(self) -> None:
        for topic in itertools.cycle(self._topics):
            if self._is_over.is_set():
                return
            with contextlib.suppress(OSError):  # nobody listens: the client would ask another name server
                answer = ask(self._address, LOOK_UP, timeout=IDLE_SECONDS * PATIENCE, topic=topic)
                brokers = len(answer.json()["brokerDatas"]) if answer.code == 0 else 0
                self.seen[answer.code, brokers] += 1
                self._is_over.wait(self._pause_seconds)

    def wait(self, more: int) -> None:
        """Wait for so many more answers."""
        wanted = self.answers + more
        eventually(lambda: self.answers >= wanted, within=IDLE_SECONDS, what=f"{wanted} answers")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


@contextlib.contextmanager
def fleet(folder: Path, address: str, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Brokers of a process of their own: they register each 30 s, and do not notice that a server restarted."""
    words = [
        sys.executable, "-m", "namekeeper", "fleet", "--namesrv", address, "--brokers", str(BROKERS),
        "--topics", str(TOPICS), "--churn", "none", "--duration", "1h", *more,
    ]  # fmt: skip
    with (folder / "fleet.txt").open("wb") as out:
        child = subprocess.Popen(words, stdout=out, stderr=out, env=environment(folder))
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def topics_of(address: str) -> list[str]:
    """The topics of the fleet, once all brokers have registered."""

    def registered() -> list[str] | None:
        names = ask(address, ALL_TOPICS).json()["topicList"]
        own = sorted(name for name in names if "%" not in name)
        routes = [ask(address, LOOK_UP, topic=name) for name in own]
        is_complete = all(each.code == 0 and len(each.json()["brokerDatas"]) == BROKERS for each in routes)
        return own if len(own) >= TOPICS and is_complete else None

    return eventually(registered, within=IDLE_SECONDS, what="the fleet")


def run(
    folder: Path, ends: list[Callable[[NameServerProcess], object]], *fleet_options: str,
    pause_seconds: float = 0.0, **flags: str,
) -> Client:  # fmt: skip
    """Restart a name server with a fleet and a client; each boot ends in one of these ways."""
    flags = {"listen_port": str(free_port()), **flags}
    address = f"127.0.0.1:{flags['listen_port']}"
    with contextlib.ExitStack() as stack:
        client = None
        for end in [*ends, NameServerProcess.stop]:
            with NameServerProcess(folder, **flags) as server:
                server.started()
                if client is None:
                    stack.enter_context(fleet(folder, address, *fleet_options))
                    client = stack.enter_context(Client(address, topics_of(address), pause_seconds))
                client.wait(2 * TOPICS)
                end(server)
        assert client is not None
        return client


@pytest.mark.parametrize("restarts", [2, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize("end", [NameServerProcess.stop, NameServerProcess.kill])
def test_no_look_up_is_answered_without_the_whole_route(tmp_path, end, restarts):
    """Brokers register each 30 s and are away after 120 s: a slow machine must not need that long for all restarts."""
    client = run(tmp_path, [end] * restarts)
    # A server that stops in order refuses lookups.
    assert {(0, BROKERS)} <= client.seen.keys() <= {(0, BROKERS), (1, 0)}


def test_without_it_the_gap_shows(tmp_path):
    """So that the test above can fail."""
    client = run(tmp_path, [NameServerProcess.stop], restore_routes="false")
    assert client.seen[17, 0] > 0


def test_kill_9_forgets_no_broker_that_has_a_timeout_of_ten_seconds(tmp_path):
    """They registered longer ago than that; their heartbeats are recorded by the minute."""
    file = tmp_path / "journal" / HEARD_FILE

    def kill_late(server: NameServerProcess) -> None:
        def is_late() -> bool:
            times = load_heard(str(file.parent)).brokers
            return len(times) == BROKERS and min(up_ms for _, _, up_ms in times) > LATE_MS

        eventually(is_late, within=LATE_MS / 1_000 + IDLE_SECONDS, what="heartbeats")
        server.kill()

    # Most of the time is spent waiting: the client need not take a core meanwhile.
    journal = str(file.parent)
    client = run(tmp_path, [kill_late], "--acting-master", pause_seconds=0.05, journal_path=journal)
    assert {(0, BROKERS)} <= client.seen.keys() <= {(0, BROKERS), (1, 0)}


def test_many_rows_come_back_all_of_them(tmp_path):
    http_port = free_port()
    flags = {"listen_port": str(free_port()), "http_port": str(http_port), "http_bind_address": "127.0.0.1"}
    topics = {f"topic-{number}": TopicConfig() for number in range(MANY_TOPICS)}
    first = registration(Broker("c", "broker-0", 0, "broker-0:10911", conn=1, form="zip5", topics=topics))

    def is_written() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/status", timeout=IDLE_SECONDS) as answer:
            journal = json.load(answer)["journal"]
        return bool(journal) and journal["last_seq"] == journal["durable_seq"]

    with NameServerProcess(tmp_path, **flags) as server:
        connection = Connection(server.started().address)
        for number in range(MANY_BROKERS):
            name = f"broker-{number}"
            own = {"brokerName": name, "brokerAddr": f"{name}:10911", "haServerAddr": f"{name}:10912"}
            assert connection.ask(dataclasses.replace(first, fields={**first.fields, **own})).code == 0
        eventually(is_written, within=WRITTEN_SECONDS, what="the journal is on the disk")
        server.kill()
        connection.close()
    with NameServerProcess(tmp_path, **flags) as server:
        for topic in ("topic-0", f"topic-{MANY_TOPICS // 2}", f"topic-{MANY_TOPICS - 1}"):
            answer = ask(server.started().address, LOOK_UP, topic=topic)
            assert len(answer.json()["brokerDatas"]) == len(answer.json()["queueDatas"]) == MANY_BROKERS
        server.logged(f"restored {MANY_BROKERS} brokers and {MANY_TOPICS:,} topics of boot ")
