"""The causes of changes that an observer reads from the log of Java's own name server, against what was done."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from tests.interop.servers import observe_command
from tests.process.running import environment
from tests.support.java.artifacts import VERSIONS
from tests.support.java.servers import FIVE, JavaBroker, JavaNameServer
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask
from tests.unit.journal.disk_parts import records_in

pytestmark = [pytest.mark.interop, pytest.mark.slow]

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
TOPIC, DELETED_TOPIC = "SELF_TEST_TOPIC", "BenchmarkTest"
PUT_KV, DELETE_KV, UNREGISTER, WIPE, ADD, DELETE_TOPIC = 100, 102, 104, 205, 327, 216
WITHIN = 60.0
QUICK_SCAN = {"scanNotActiveBrokerInterval": "1000"}
QUICK_EXPIRY = {
    "timerWheelEnable": "true",
    "enableSlaveActingMaster": "true",
    "brokerNotActiveTimeoutMillis": "30000",
}
Record = dict[str, Any]


class ObservedWithLog:
    """A Java name server whose observer reads its log."""

    def __init__(self, folder: Path, server: JavaNameServer) -> None:
        self.log = server.home / "logs" / "all.log"
        self.journal = str(folder / "observed" / server.address.replace(":", "_"))
        self._environment = environment(folder)
        self.process = Process(
            "observe", observe_command(server.address, folder, "--log", str(self.log)),
            output=folder / "observe.txt", env=self._environment,
        )  # fmt: skip
        self._known = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def next(
        self, what: str, is_it: Callable[[Record], bool], make: Callable[[], None] = lambda: None
    ) -> Record:
        """Wait for a record after those that were waited for before.

        Args:
            what: the record, in words.
            is_it: whether it is this one.
            make: makes the change, again and again: what soon goes back may never be observed.
        """

        def found() -> Record | None:
            make()
            for index, record in enumerate(records_in(self.journal)[self._known :], self._known + 1):
                if record.get("window_ms") and is_it(record):
                    self._known = index
                    return record
            return None

        return eventually(found, within=WITHIN, what=what)

    def why(self, topic: str = TOPIC) -> str:
        done = subprocess.run(
            [*NAMEKEEPER, "why", topic, "--journal", self.journal], env=self._environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout


def is_gone(record: Record) -> bool:
    return record["kind"] == "broker_live" and bool(record.get("gone"))


def is_row(record: Record, topic: str = TOPIC) -> bool:
    """Whether the row of a topic changed while its broker stayed."""
    return record["kind"] == "topic_queues" and any(row[0] == topic for row in record["rows"])


def is_deleted(record: Record) -> bool:
    return is_row(record, DELETED_TOPIC)


def is_kv(record: Record) -> bool:
    return record["kind"] == "kv"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_change_has_the_cause_that_was_made(version: str, tmp_path: Path) -> None:
    with JavaNameServer(version, QUICK_SCAN) as server, contextlib.ExitStack() as running:

        def broker(**properties: str) -> JavaBroker:
            return running.enter_context(
                JavaBroker(version, [server.address], properties=properties, home=tmp_path / "b")
            )

        first = broker(timerWheelEnable="true")
        seen = running.enter_context(ObservedWithLog(tmp_path, server))
        seen.process.await_line(r"observed: 1 broker", within=WITHIN)
        restores = () if version == "4.8.0" else ((ADD, "add_write_perm"),)  # it came with 4.9
        for request, cause in ((WIPE, "wipe_write_perm"), *restores):
            assert ask(server.address, request, brokerName=first.name).code == 0
            record = seen.next(cause, is_row)
            assert record["cause"] == cause
            assert record["peer"].startswith("127.0.0.1:")
        fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": TOPIC}
        assert ask(server.address, PUT_KV, value="broker-a:8", **fields).code == 0
        assert seen.next("an entry", is_kv)["cause"] == "put_kv_config"
        assert ask(server.address, DELETE_KV, **fields).code == 0
        assert seen.next("no entry", is_kv)["cause"] == "delete_kv_config"
        assert ask(server.address, DELETE_TOPIC, topic=DELETED_TOPIC, clusterName=first.cluster).code == 0
        if version == "4.8.0":  # it writes no line about that
            cause, text = "observed", f"the topic was deleted, or {first.name} registered without it"
        else:
            cause, text = "delete_topic", f"deleted on {first.name}"
        assert seen.next("a deleted topic", is_deleted)["cause"] == cause
        assert text in seen.why(DELETED_TOPIC)

        first.kill()
        assert seen.next("a killed broker", is_gone)["reason"] == "channel_closed"
        assert "lost its connection" in seen.why()
        second = broker()
        seen.next("the topic again", is_row)

        def unregister() -> None:
            fields = {"clusterName": second.cluster, "brokerName": second.name, "brokerId": "0"}
            assert ask(server.address, UNREGISTER, brokerAddr=second.address, **fields).code == 0

        if version in FIVE:
            second.stop()
            unregistered = seen.next("a broker that unregistered", is_gone)
        else:  # such a broker stops without request 104
            unregistered = seen.next("a broker that unregistered", is_gone, unregister)
        assert unregistered["reason"] == "unregister_broker"
        assert "was unregistered" in seen.why()
        second.kill()

        rotate(seen.log, server)
        third = broker(**QUICK_EXPIRY if version in FIVE else {})
        seen.next("the topic again", is_row)
        if version in FIVE:  # one of 4.x takes two minutes
            os.kill(third.process.pid, signal.SIGSTOP)
            assert seen.next("a silent broker", is_gone)["reason"] == "expired"
            assert "expired" in seen.why()
        else:
            third.stop()
            assert seen.next("a stopped broker", is_gone)["reason"] == "channel_closed"


def rotate(log: Path, server: JavaNameServer) -> None:
    """Cut the log as `copytruncate` of logrotate does: the name server goes on writing behind a hole."""
    assert server.process.returncode is None
    os.truncate(log, 0)
