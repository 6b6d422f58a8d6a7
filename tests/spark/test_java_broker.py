"""The life of a real Java broker, as our journal and the tables show it: DuckDB's in CI, at night Spark's, too."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.explain import explain
from namekeeper.answers.from_facts import evidence_from_facts
from namekeeper.journal.reading.verify import verify
from namekeeper.pipeline.answers.recorded import recorded_for_why
from namekeeper.pipeline.checks.checking import run_checks
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.interop.clients import JavaClient
from tests.interop.routes import route
from tests.interop.servers import Namekeeper
from tests.spark.running import run
from tests.support.java.artifacts import require
from tests.support.java.servers import JavaBroker
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.file_warehouse import tables_at
from tests.support.system.processes import eventually, scratch_folder
from tests.unit.journal.disk_parts import records_in

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1_200)]

VERSION = "5.3.3"
TOPIC = "of-a-java-broker"
SOON = 60
EXPIRES_SOON = {
    # The only brokers that say themselves how long their silence may be (protocol.md 6.5).
    "enableSlaveActingMaster": "true",
    "brokerNotActiveTimeoutMillis": 3_000,
    "brokerHeartbeatInterval": 500,
}
WRITE = 2


@pytest.fixture(scope="module")
def journal() -> Iterator[Path]:
    """The sealed journal of a name server with which a Java broker went through everything."""
    require()
    with scratch_folder("journal-") as folder:
        live(folder)
        yield folder


def live(folder: Path) -> None:
    """Start, heartbeats, a new topic, a permission that is wiped, silence until expiry, return, kill -9."""
    settings = {"journalPath": folder, "journalNamesrvId": "ns-1", "scanNotActiveBrokerInterval": 500}
    with (
        Namekeeper(settings) as server,
        JavaBroker(VERSION, [server.address], "broker-a", properties=EXPIRES_SOON) as broker,
    ):
        client = JavaClient(VERSION, server.address)
        client.admin(f"updateTopic -b {broker.address} -t {TOPIC} -r 3 -w 2")
        eventually(lambda: queues(server) == (3, 2, 6), within=SOON, what="the topic's route")
        client.admin("wipeWritePerm -b broker-a")
        eventually(lambda: queues(server) == (3, 2, 4), within=SOON, what="the wiped permission")
        os.kill(broker.process.pid, signal.SIGSTOP)
        eventually(lambda: queues(server) is None, within=SOON, what="its expiry")
        os.kill(broker.process.pid, signal.SIGCONT)
        eventually(lambda: queues(server) is not None, within=SOON, what="its return")
        broker.kill()
        eventually(lambda: queues(server) is None, within=SOON, what="its end")


def queues(server: Namekeeper) -> tuple[int, int, int] | None:
    found = route(server.address, TOPIC)
    return None if found is None else found.queues.get("broker-a")


def test_the_journal_is_whole(journal: Path):
    assert verify(str(journal)).is_complete


Made = tuple[str, list[Any]]
"""A warehouse, and what a check finds in it."""


def made_by_duckdb(journal: Path, folder: Path, _request: pytest.FixtureRequest) -> Made:
    duck = Duck()
    make_gold(duck, duck.load(records_in(journal)))
    return duck.write_warehouse(folder), run_checks(duck)


def made_by_spark(journal: Path, folder: Path, request: pytest.FixtureRequest) -> Made:
    result = run(request.getfixturevalue("spark"), folder, journal, check=True)
    return str(folder), list(result.findings)


@pytest.mark.parametrize("make", [made_by_duckdb, pytest.param(made_by_spark, marks=pytest.mark.long)])
def test_the_tables_tell_its_life(
    make: Callable[[Path, Path, pytest.FixtureRequest], Made],
    journal: Path, tmp_path: Path, request: pytest.FixtureRequest,
):  # fmt: skip
    warehouse, findings = make(journal, tmp_path / "warehouse", request)
    assert findings == []

    def rows(name: str) -> list[dict[str, Any]]:
        reader = ParquetStore(open_folder(warehouse)).reader()
        files = [f"{warehouse}/{path}" for path in reader.paths(GOLD[name])]
        found = [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
        return sorted(found, key=lambda row: row["valid_from"])

    sessions = [row for row in rows("broker_session") if row["broker_name"] == "broker-a"]
    ends = [(row["ended_by"], row["to_cause"]) for row in sessions]
    assert ("gone", "expired") in ends
    assert ends[-1] == ("gone", "channel_closed")
    expired = sessions[ends.index(("gone", "expired"))]
    assert expired["idle_ms"] > EXPIRES_SOON["brokerNotActiveTimeoutMillis"]

    held = [row for row in rows("topic_route") if row["topic"] == TOPIC]
    first, wiped = held[:2]
    assert (first["read_queue_nums"], first["write_queue_nums"], first["perm"]) == (3, 2, 6)
    assert (first["from_cause"], first["to_cause"]) == ("register_broker", "wipe_write_perm")
    assert first["valid_to"] == wiped["valid_from"]
    assert not wiped["perm"] & WRITE
    assert held[-1]["valid_to"] == sessions[-1]["valid_to"]

    def judged(at: int) -> tuple[str, str]:
        found = recorded_for_why(tables_at(warehouse), TOPIC, at - DAY_MS, at)
        ends = dict.fromkeys(found.bases, at)
        (explanation,) = explain(evidence_from_facts(TOPIC, found.tables, found.bases, ends), at)
        return explanation.verdict, explanation.summary

    assert judged((wiped["valid_from"] + wiped["valid_to"]) // 2)[0] == "write_perm_wiped"
    verdict, summary = judged(expired["valid_to"])
    assert (verdict, "expired" in summary) == ("broker_gone", True)
    verdict, summary = judged(sessions[-1]["valid_to"])
    assert (verdict, "connection" in summary) == ("broker_gone", True)
