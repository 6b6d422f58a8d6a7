"""An observer beside Java's own name servers and brokers: each change has a window that contains its true instant.

A second client asks the same name server every few milliseconds, so that the true instants are known.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from tests.interop.servers import observe_command
from tests.process.running import environment
from tests.support.java.servers import FIVE, JavaBroker, JavaNameServer
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask
from tests.unit.journal.disk_parts import records_in

pytestmark = [pytest.mark.interop, pytest.mark.slow]

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
TOPIC = "observed-topic"
UPDATE_AND_CREATE_TOPIC, DELETE_TOPIC_IN_BROKER = 17, 215
WITHIN = 60.0
TIMERS = {"timerWheelEnable": "true"}
"""A 5.x broker without them fails to delete a topic."""
EXPIRY = 200.0
"""Seconds: a broker of 4.x that is silent expires after two minutes."""
QUICK_SCAN = {"scanNotActiveBrokerInterval": "1000"}
QUICK_EXPIRY = {**TIMERS, "enableSlaveActingMaster": "true", "brokerNotActiveTimeoutMillis": "30000"}
"""With it a broker of 5.x tells its name server to let it expire after 30 s; it sends a heartbeat each second."""
Record = dict[str, Any]
Row = tuple[str, ...]
STATED_MS: dict[Row, int] = {("broker",): 6_000, ("queues",): 10_000, ("kv",): 15_000}
"""The longest windows with few topics: a period and the time limit of an answer."""


class SecondClient(threading.Thread):
    """Asks without a pause, and notes between which two instants each row changed."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.changes: list[tuple[Row, Any, int, int]] = []
        """Row, its new value, and the two instants, in wall ms."""
        self._last: dict[Row, tuple[Any, int]] = {}
        self._is_stopping = threading.Event()

    def run(self) -> None:
        while not self._is_stopping.wait(0.02):
            began = now_ms()
            try:
                rows = dict(self._rows())
            except (OSError, ValueError):
                continue  # it restarts
            ended = now_ms()
            for row, value in rows.items():
                before, since = self._last.get(row, (value, began))
                if before != value:
                    self.changes.append((row, value, since, ended))
                self._last[row] = (value, began)

    def value_of(self, row: Row) -> Any:
        """What it saw last."""
        return self._last.get(row, (None, 0))[0]

    def stop(self) -> None:
        self._is_stopping.set()
        self.join()

    def _rows(self) -> Iterator[tuple[Row, Any]]:
        brokers = ask(self.address, 106).json()["brokerAddrTable"]
        yield ("broker",), brokers.get("broker-a", {}).get("brokerAddrs") or None
        answer = ask(self.address, 105, topic=TOPIC)
        queues = [] if answer.code else answer.json()["queueDatas"]
        yield ("queues",), next(((one["writeQueueNums"], one["perm"]) for one in queues), None)
        answer = ask(self.address, 219, namespace="ORDER_TOPIC_CONFIG")
        yield ("kv",), None if answer.code else answer.json()["table"].get(TOPIC)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Observed:
    """A Java name server with an observer and a second client."""

    def __init__(self, folder: Path, server: JavaNameServer) -> None:
        self.server = server
        self.journal = str(folder / "observed" / server.address.replace(":", "_"))
        self._folder = folder
        self.process = Process(
            "observe",
            observe_command(server.address, folder),
            output=folder / "observe.txt",
            env=environment(folder),
        )
        self.client = SecondClient(server.address)

    def __enter__(self) -> Self:
        self.client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop()
        self.process.kill()

    def records(self) -> list[Record]:
        return records_in(self.journal)

    def sees(self, what: str, is_it: Callable[[Record], bool], within: float = WITHIN) -> Record:
        """Wait for a record of a change after those that were waited for before."""
        known = len(self.records())
        return eventually(
            lambda: next((one for one in self.records()[self._from :] if is_it(one)), None),
            within=within, what=f"a record: {what} ({known} records)",
        )  # fmt: skip

    _from = 0

    @contextlib.contextmanager
    def change(self, what: str, is_it: Callable[[Record], bool], within: float = WITHIN) -> Iterator[None]:
        """A change is made inside; its record follows, with a window."""
        self._from = len(self.records())
        yield
        record = self.sees(what, is_it, within)
        assert record["cause"] == "observed"
        assert record["window_ms"] > 0

    def answers(self, *words: str) -> str:
        done = subprocess.run(
            [*NAMEKEEPER, *words, "--journal", self.journal], env=environment(self._folder),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout


def rows_of(record: Record) -> Iterator[tuple[Row, Any]]:
    """The rows that the second client looks at, and their new values."""
    kind = record["kind"]
    if kind == "broker_group":
        yield ("broker",), None if record.get("gone") else record["broker_addrs"]
    elif kind == "broker_name_removed":
        yield ("queues",), None
    elif kind == "topic_queues":
        for topic, *numbers in record["rows"]:
            if topic == TOPIC:
                yield ("queues",), (numbers[1], numbers[2]) if numbers else None
    elif kind == "kv":
        yield ("kv",), record.get("value")


def is_queues(queues: int | None, perm: int | None = None) -> Callable[[Record], bool]:
    def is_it(record: Record) -> bool:
        for row, value in rows_of(record):
            if row == ("queues",) and record["kind"] == "topic_queues" and record.get("window_ms"):
                if queues is None:
                    return value is None
                return value is not None and value[0] == queues and perm in {None, value[1]}
        return False

    return is_it


def create_topic(broker: JavaBroker, queues: int) -> None:
    answer = ask(
        broker.address, UPDATE_AND_CREATE_TOPIC, topic=TOPIC, defaultTopic="TBW102", readQueueNums=str(queues),
        writeQueueNums=str(queues), perm="6", topicFilterType="SINGLE_TAG", topicSysFlag="0", order="false",
    )  # fmt: skip
    assert answer.code == 0, answer


def is_gone(record: Record) -> bool:
    return record["kind"] == "broker_group" and bool(record.get("gone"))


def is_there(record: Record) -> bool:
    return record["kind"] == "broker_group" and not record.get("gone") and bool(record.get("window_ms"))


def has_expired(seen: Observed, broker: JavaBroker) -> None:
    """Wait until a silent broker is gone; then end it."""
    with seen.change("a broker that expired", is_gone, within=EXPIRY):
        os.kill(broker.process.pid, signal.SIGSTOP)
    eventually(
        lambda: seen.client.value_of(("broker",)) is None, within=WITHIN, what="the same at the second client"
    )
    seen.client.stop()
    broker.kill()


@pytest.mark.long  # a broker of 4.x takes its two minutes
def test_a_change_by_expiry_has_a_window_in_4x_too(tmp_path: Path) -> None:
    with (
        JavaNameServer("4.8.0") as server,
        JavaBroker("4.8.0", [server.address]) as broker,
        Observed(tmp_path, server) as seen,
    ):
        seen.process.await_line(r"observed: 1 broker", within=WITHIN)
        has_expired(seen, broker)
        assert [change[:2] for change in seen.client.changes] == [(("broker",), None)]
        compare_windows(seen, changes=1)


@pytest.mark.parametrize(
    "version",
    ["4.8.0", "5.5.0", *(pytest.param(each, marks=pytest.mark.long) for each in ("4.9.7", "5.3.3"))],
)
def test_every_change_has_a_window_that_contains_its_true_instant(version: str, tmp_path: Path) -> None:
    with JavaNameServer(version, QUICK_SCAN) as server, contextlib.ExitStack() as brokers:
        broker = brokers.enter_context(JavaBroker(version, [server.address], properties=TIMERS))
        with Observed(tmp_path, server) as seen:
            seen.process.await_line(r"observed: 1 broker", within=WITHIN)
            with seen.change("a new topic", is_queues(4)):
                create_topic(broker, 4)
            with seen.change("other queues", is_queues(8)):
                create_topic(broker, 8)
            with seen.change("an order configuration", lambda record: record["kind"] == "kv"):
                fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": TOPIC, "value": "broker-a:8"}
                assert ask(server.address, 100, **fields).code == 0
            with seen.change("a wiped permission", is_queues(8, 4)):
                assert ask(server.address, 205, brokerName="broker-a").code == 0
            with seen.change("a deleted topic", is_queues(None)):
                assert ask(broker.address, DELETE_TOPIC_IN_BROKER, topic=TOPIC).code == 0
                assert ask(server.address, 216, topic=TOPIC).code == 0
            assert "the topic was deleted, or" in seen.answers("why", TOPIC)
            create_topic(broker, 4)
            seen.sees("the topic again", is_queues(4))
            with seen.change("a broker that stopped", is_gone):
                broker.stop()
            assert "is gone" in seen.answers("why", TOPIC)
            with seen.change("a broker", is_there):
                broker = brokers.enter_context(JavaBroker(version, [server.address], home=tmp_path / "b"))
            with seen.change("a broker that was killed", is_gone):
                broker.kill()
            if version in FIVE:
                broker = JavaBroker(version, [server.address], properties=QUICK_EXPIRY, home=tmp_path / "b")
                with seen.change("a broker", is_there):
                    brokers.enter_context(broker)
                has_expired(seen, broker)
            seen.client.stop()
            broker = brokers.enter_context(JavaBroker(version, [server.address], home=tmp_path / "b"))
            seen.sees("a broker", is_there)
            os.kill(broker.process.pid, signal.SIGSTOP)  # so that the observer sees the empty tables
            server.restart()
            started = seen.sees(
                "a restart", lambda record: record["kind"] == "server_started" and "restart" in record
            )
            assert started["restart"] == "seen"
            broker.kill()
            compare_windows(seen, changes=12 if version in FIVE else 10)


def compare_windows(seen: Observed, *, changes: int) -> None:
    """Each change that the second client saw is recorded, with a window that contains it and is not too long."""
    windows = [
        (row, value, record["ts"] - record["window_ms"], record["ts"])
        for record in seen.records()
        if record.get("window_ms")
        for row, value in rows_of(record)
    ]
    assert len(seen.client.changes) >= changes
    for row, value, since, until in seen.client.changes:
        found = [
            (begin, end)
            for its, now, begin, end in windows
            if (its, now) == (row, value) and begin <= until and since <= end
        ]
        assert found, (row, value, since, until, windows)
        assert min(end - begin for begin, end in found) <= STATED_MS[row], row
