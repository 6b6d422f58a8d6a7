"""Java's mqadmin sees the past as it saw the present then: the same topics, routes and brokers."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from namekeeper.answers.times import shown
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.differential.wire import Connection
from tests.interop.clients import Admins, JavaClient
from tests.interop.servers import Namekeeper
from tests.support.java.servers import VERSIONS, JavaBroker
from tests.support.java_model.values import Request
from tests.support.system.processes import Process, eventually, scratch_folder
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

COMMANDS = ("topicList", "topicRoute -t looked-at", "clusterList", "topicClusterList -t looked-at")
FIGURES_FROM = 4
"""Columns of clusterList up to here are the name server's; the others are what the broker says today."""
INSTANTS = int(os.environ.get("NAMEKEEPER_INSTANTS", "4"))
"""How many are compared; 50 at night."""
IN_WAREHOUSE = 5
"""Each so many of them, if there are more, are also asked of a warehouse: to make one takes long."""
TOPICS = ("looked-at", "T1", "T2", "T3", "T4")


def parsed(topics: str, routed: str, cluster: str, its_cluster: str) -> list[object]:
    return [
        sorted(topics.split()),
        sorted(re.findall(r"[\w:.-]+", routed)),
        sorted(line.split()[:FIGURES_FROM] for line in cluster.splitlines() if "broker" in line),
        its_cluster.split(),
    ]


def answers(version: str, address: str) -> list[object]:
    return parsed(*JavaClient(version, address).admin(*COMMANDS))


def instant() -> str:
    """Now, as an option takes it."""
    return shown(int(datetime.now(UTC).timestamp() * 1_000), UTC).removesuffix(" UTC") + "Z"


@contextlib.contextmanager
def past_at(at: str, *source: str) -> Iterator[str]:
    """The past at a time; gives its address."""
    words = [sys.executable, "-m", "namekeeper", "past", "--at", at, *source]
    with scratch_folder("past-") as folder, Process("past", words, output=folder / "past.txt") as past:
        yield past.await_line(r"address (127\.0\.0\.1:\d+)\n")[1]


@pytest.mark.parametrize("version", ["4.8.0", "5.5.0"])
def test_mqadmin_sees_what_it_saw_then(version: str, tmp_path: Path):
    timers = {"timerWheelEnable": "true"}  # a 5.x broker without them fails to delete a topic
    with (
        Namekeeper() as live,
        JavaBroker(version, [live.address], "broker-then", "cluster-then", properties=timers) as broker,
    ):
        admin = JavaClient(version, live.address)
        (created,) = admin.admin(f"updateTopic -c {broker.cluster} -t looked-at -r 3 -w 3")
        assert "success" in created
        eventually(lambda: ask(live.address, 105, topic="looked-at").code == 0, within=60, what="a route")
        then = answers(version, live.address)
        at = instant()
        (deleted,) = admin.admin(f"deleteTopic -c {broker.cluster} -t looked-at")
        assert "success" in deleted
        eventually(lambda: ask(live.address, 105, topic="looked-at").code == 17, within=60, what="no route")
        broker.stop()
        journal = live.home / "journal" / live.address.rpartition(":")[2]
        with past_at(at, "--journal", str(journal)) as address:
            assert answers(version, address) == then
            assert ["cluster-then", "broker-then", "0", broker.address] in then[2]
            (refused,) = JavaClient(version, address).admin("updateKvConfig -s interop -k key -v value")
            assert "success" not in refused
            assert ask(address, 100, namespace="interop", key="key", value="value").code == 16
            assert ask(address, 101, namespace="interop", key="key").code == 22


class ChangingBrokers:
    """Brokers that come, change and go; nobody answers at their addresses."""

    def __init__(self, address: str, chance: Random) -> None:
        self._address, self._chance = address, chance
        self._brokers = [
            Broker("cluster-now", f"broker-{number // 2}", number % 2, f"127.0.0.1:{number}1", conn=0,
                   form="json5", acting=False, timeout="3600000")
            for number in range(1, 5)
        ]  # fmt: skip
        self._control = Connection(address)
        self._connections: dict[str, Connection] = {}

    def change(self) -> None:
        """One to three changes of the routes."""
        choices: tuple[Callable[[Broker], None], ...] = (
            self._register, self._register, self._register, self._unregister, self._vanish, self._change_topic,
        )  # fmt: skip
        for _ in range(self._chance.randint(1, 3)):
            self._chance.choice(choices)(self._chance.choice(self._brokers))

    def _register(self, broker: Broker) -> None:
        broker.counter += 1
        broker.topics = {
            topic: TopicConfig(self._chance.randint(1, 16), self._chance.randint(1, 16))
            for topic in self._chance.sample(TOPICS, 3)
        }
        if broker.addr not in self._connections:
            self._connections[broker.addr] = Connection(self._address)
        assert self._connections[broker.addr].ask(registration(broker)).code == 0

    def _unregister(self, broker: Broker) -> None:
        assert self._control.ask(Request(104, broker.fields())).code == 0

    def _vanish(self, broker: Broker) -> None:
        connection = self._connections.pop(broker.addr, None)
        if connection is not None:
            connection.close()
            eventually(lambda: broker.addr not in self._members(), within=20, what="the end of its rows")

    def _members(self) -> str:
        return str(self._control.ask(Request(106)).body)

    def _change_topic(self, broker: Broker) -> None:
        topic = {"topic": self._chance.choice(TOPICS)}
        request = self._chance.choice((Request(216, topic), Request(205, {"brokerName": broker.name})))
        assert self._control.ask(request).code == 0

    def close(self) -> None:
        """Close all connections."""
        for connection in (self._control, *self._connections.values()):
            connection.close()


def seen(mqadmin: Admins, address: str) -> list[object]:
    """What mqadmin shows now."""
    return parsed(*mqadmin.run(address, *COMMANDS))


@pytest.mark.parametrize("version", ["4.8.0", "5.5.0"])
def test_mqadmin_sees_at_many_instants_what_it_saw_then(version: str, tmp_path: Path):
    """Of a journal at each of them, and of a warehouse at some, which the newest mqadmin asks."""
    recorded: dict[str, list[object]] = {}
    with Namekeeper() as live, JavaClient(version, live.address).admins() as mqadmin:
        with contextlib.closing(ChangingBrokers(live.address, Random(version))) as brokers:
            while len(recorded) < INSTANTS:
                brokers.change()
                time.sleep(0.002)  # times are in ms: what follows is not in the one of the change
                at = instant()
                recorded[at] = seen(mqadmin, live.address)
            live.stop()
        journal = live.home / "journal" / live.address.rpartition(":")[2]
        for at, then in recorded.items():
            with past_at(at, "--journal", str(journal)) as address:
                assert seen(mqadmin, address) == then, at
        if version == VERSIONS[-1] and INSTANTS > IN_WAREHOUSE:
            warehouse = str(tmp_path / "warehouse")
            run = [sys.executable, "-m", "namekeeper", "pipeline", "run", "--journal", str(journal)]
            subprocess.run([*run, "--warehouse", warehouse], check=True)
            for at, then in list(recorded.items())[::IN_WAREHOUSE]:
                with past_at(at, "--warehouse", warehouse) as address:
                    assert seen(mqadmin, address) == then, at
    states = list(recorded.values())
    assert len({str(state) for state in states}) > INSTANTS // 2  # they differ
    assert any("broker-" in str(state[2]) for state in states), [state[2] for state in states]
