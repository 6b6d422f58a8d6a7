"""Java's mqadmin sees the past as it saw the present then: the same topics, routes and brokers."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from namekeeper.answers.times import shown
from tests.interop.clients import JavaClient
from tests.interop.servers import Namekeeper
from tests.support.java.servers import JavaBroker
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

COMMANDS = ("topicList", "topicRoute -t looked-at", "clusterList", "topicClusterList -t looked-at")
FIGURES_FROM = 4
"""Columns of clusterList up to here are the name server's; the others are what the broker says today."""


def answers(version: str, address: str) -> list[object]:
    topics, routed, cluster, its_cluster = JavaClient(version, address).admin(*COMMANDS)
    return [
        sorted(topics.split()),
        sorted(re.findall(r"[\w:.-]+", routed)),
        sorted(line.split()[:FIGURES_FROM] for line in cluster.splitlines() if "broker" in line),
        its_cluster.split(),
    ]


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
        at = shown(int(datetime.now(UTC).timestamp() * 1_000), UTC).removesuffix(" UTC") + "Z"
        (deleted,) = admin.admin(f"deleteTopic -c {broker.cluster} -t looked-at")
        assert "success" in deleted
        eventually(lambda: ask(live.address, 105, topic="looked-at").code == 17, within=60, what="no route")
        broker.stop()
        journal = live.home / "journal" / live.address.rpartition(":")[2]
        past = Process(
            "past",
            [sys.executable, "-m", "namekeeper", "past", "--journal", str(journal), "--at", at],
            output=tmp_path / "past.txt",
        )
        try:
            address = past.await_line(r"address (127\.0\.0\.1:\d+)\n")[1]
            assert answers(version, address) == then
            assert ["cluster-then", "broker-then", "0", broker.address] in then[2]
            (refused,) = JavaClient(version, address).admin("updateKvConfig -s interop -k key -v value")
            assert "success" not in refused
            assert ask(address, 100, namespace="interop", key="key", value="value").code == 16
            assert ask(address, 101, namespace="interop", key="key").code == 22
        finally:
            past.stop()
            past.kill()
