"""`namekeeper undo` takes mistakes of `mqadmin` back, at our name server and at Java's, which is observed."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.clients import JavaClient
from tests.interop.servers import Namekeeper
from tests.process.running import environment
from tests.support.java.servers import JavaBroker, JavaNameServer
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask
from tests.unit.journal.disk_parts import records_in

pytestmark = [pytest.mark.interop, pytest.mark.slow]

VERSION = "5.5.0"
NAMEKEEPER = (sys.executable, "-m", "namekeeper")
TOPIC, READ_ONLY = "wiped", "read-only"
NO_EXPIRY = {"scanNotActiveBrokerInterval": "3600000"}
"""The broker is halted, because its next registration would take the mistakes back."""
Journalled = tuple[str, str]
"""Address of a name server, and the folder of its journal."""


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[Journalled]:
    with Namekeeper({**NO_EXPIRY, "journalPath": folder / "journal"}) as server:
        yield server.address, str(folder / "journal")


@contextlib.contextmanager
def observed(folder: Path) -> Iterator[Journalled]:
    with JavaNameServer(VERSION, NO_EXPIRY) as server:
        words = ("observe", "-n", server.address, "--journal", str(folder), "--budget", "5", "--port", "0")
        command = [*NAMEKEEPER, *words]
        with Process("observe", command, output=folder / "observe.txt", env=environment(folder)):
            yield server.address, str(folder / server.address.replace(":", "_"))


def instant(journal: str) -> str:
    """The time of the last record, as an option takes it."""
    return str(max(record["ts"] for record in records_in(journal)))


def shown(client: JavaClient) -> list[str]:
    commands = (f"topicRoute -t {TOPIC}", f"topicRoute -t {READ_ONLY}", f"updateOrderConf -m get -t {TOPIC}")
    return client.admin(*commands)


@pytest.mark.parametrize("name_server", [ours, observed])
def test_mqadmin_shows_the_same_as_before_the_mistakes(
    name_server: Callable[[Path], contextlib.AbstractContextManager[Journalled]], tmp_path: Path
) -> None:
    with name_server(tmp_path) as (address, journal), JavaBroker(VERSION, [address]) as broker:
        client = JavaClient(VERSION, address)
        client.admin(
            f"updateTopic -b {broker.address} -t {TOPIC} -r 4 -w 4",
            f"updateTopic -b {broker.address} -t {READ_ONLY} -r 2 -w 2 -p 4",
            f"updateOrderConf -m put -t {TOPIC} -v {broker.name}:4",
        )

        def has(*kinds: str) -> bool:
            text = str(records_in(journal))
            return all(kind in text for kind in kinds)

        eventually(lambda: has(TOPIC, READ_ONLY, f"{broker.name}:4"), within=60, what="records of the topics")
        os.kill(broker.process.pid, signal.SIGSTOP)
        before, since = shown(client), instant(journal)
        client.admin(
            f"wipeWritePerm -b {broker.name}", f"updateOrderConf -m put -t {TOPIC} -v {broker.name}:9"
        )
        assert ask(address, 216, topic=READ_ONLY).code == 0
        assert shown(client) != before

        def undo(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*NAMEKEEPER, "undo", "--from", since, "--journal", journal, *words],
                env=environment(tmp_path), capture_output=True, text=True, check=False,
            )  # fmt: skip

        def plans_all() -> bool:
            lines = undo().stdout
            parts = (f"configuration of {TOPIC}:", f"topic {TOPIC} on", f"topic {READ_ONLY} on")
            return all(part in lines for part in parts)

        eventually(plans_all, within=60, what="a plan with all three rows")
        done = undo("--apply", address)
        assert "not sent" not in done.stderr, done
        assert "in vain" not in done.stderr, done
        assert shown(client) == before
        broker.kill()
