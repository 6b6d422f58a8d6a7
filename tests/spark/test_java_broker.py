"""The life of a real Java broker, as our journal and the tables show it: DuckDB's in CI, at night Spark's, too.

It registers with a Java name server as well, whose observer writes another journal of it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.explain import explain
from namekeeper.answers.from_facts import evidence_from_facts
from namekeeper.journal.disk.heard_file import load_heard
from namekeeper.journal.reading.verify import verify
from namekeeper.pipeline.answers.recorded import recorded_for_why
from namekeeper.pipeline.checks.checking import run_checks
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.store.parquet_store import ParquetStore
from tests.interop.clients import JavaClient
from tests.interop.routes import route
from tests.interop.servers import Namekeeper, observe_command
from tests.spark.running import run
from tests.support.java.artifacts import require
from tests.support.java.servers import JavaBroker, JavaNameServer
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.file_warehouse import tables_at
from tests.support.system.processes import Process, eventually, scratch_folder
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
AFTERWARDS_MS = 2_000


@pytest.fixture(scope="module")
def lived() -> Iterator["Lived"]:
    """A Java broker went through everything."""
    require()
    with scratch_folder("journal-") as folder:
        yield live(folder)


@pytest.fixture
def journal(lived: "Lived") -> Path:
    """The journal of our name server."""
    return lived.own


@dataclass(frozen=True, slots=True)
class Lived:
    """What is left of the life of a broker."""

    own: Path
    """The sealed journal of our name server."""
    observed: Path
    """That of the observer of Java's."""
    began: int
    """Wall ms from which on it was registered with both: a broker of 5.x comes to one of them 10 s later."""


def live(folder: Path) -> Lived:
    """Start, heartbeats, a new topic, a permission that is wiped, silence until expiry, return, kill -9."""
    scan = {"scanNotActiveBrokerInterval": 500}
    with (
        Namekeeper({"journalPath": folder / "own", "journalNamesrvId": "ns-1", **scan}) as server,
        JavaNameServer(VERSION, scan) as java,
        Process(
            "observe",
            observe_command(java.address, folder, "--log", str(java.home / "logs" / "all.log")),
            output=folder / "observe.txt",
        ) as observer,
    ):
        observed = folder / "observed" / java.address.replace(":", "_")
        observer.await_line("observed: 0 brokers", within=SOON)
        addresses = [server.address, java.address]

        def come_to(wanted: Callable[[Queues | None], bool], what: str) -> None:
            """Wait until both name servers have it, and the observer has recorded it."""
            eventually(lambda: all(wanted(queues(each)) for each in addresses), within=SOON, what=what)
            eventually(lambda: wanted(recorded_queues(observed)), within=SOON, what=f"{what}, recorded")

        with JavaBroker(VERSION, addresses, "broker-a", properties=EXPIRES_SOON) as broker:
            eventually(
                lambda: recorded_queues(observed, "broker-a"), within=SOON, what="the broker, recorded"
            )
            began = time.time_ns() // 1_000_000
            client = JavaClient(VERSION, ";".join(addresses))
            client.admin(f"updateTopic -b {broker.address} -t {TOPIC} -r 3 -w 2")
            come_to(lambda found: found == (3, 2, 6), "the topic's route")
            client.admin("wipeWritePerm -b broker-a")
            come_to(lambda found: found == (3, 2, 4), "the wiped permission")
            os.kill(broker.process.pid, signal.SIGSTOP)
            come_to(lambda found: found is None, "its expiry")
            os.kill(broker.process.pid, signal.SIGCONT)
            come_to(lambda found: found is not None, "its return")
            broker.kill()
            come_to(lambda found: found is None, "its end")
        last = load_heard(str(observed)).ts
        eventually(
            lambda: load_heard(str(observed)).ts > last + AFTERWARDS_MS,
            within=SOON,
            what="a last state that lasts",
        )
        observer.terminate()
        assert observer.wait(within=SOON) == 0
    return Lived(folder / "own", observed, began)


Queues = tuple[int, int, int]
"""Read queues, write queues, permission."""


def queues(address: str) -> Queues | None:
    found = route(address, TOPIC)
    return None if found is None else found.queues.get("broker-a")


def recorded_queues(folder: Path, name: str = TOPIC) -> Queues | None:
    """The last ones that a journal has of a topic."""
    last: Queues | None = None
    for record in records_in(folder):
        if record["kind"] == "broker_name_removed":
            last = None
        elif record["kind"] == "topic_queues":
            for topic, *numbers in record["rows"]:
                if topic == name:
                    last = (numbers[0], numbers[1], numbers[2]) if numbers else None
    return last


def test_the_journal_is_whole(journal: Path):
    assert verify(str(journal)).is_complete


Made = tuple[str, list[Any]]
"""A warehouse, and what a check finds in it."""


SAME = {
    "broker_session": ("cluster", "broker_addr", "broker_name", "broker_id", "ended_by", "to_cause"),
    "broker_group_history": ("broker_name", "cluster", "members", "ended_by"),
    "cluster_history": ("cluster", "broker_names", "ended_by"),
    "topic_route": (
        "broker_name", "topic", "read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag", "ended_by", "to_cause",
    ),
    "topic_outage_daily": ("cluster", "topic", "state"),
    "incident": ("kind", "cluster", "subject", "brokers", "broker_names", "topics", "first_topic", "cause"),
}  # fmt: skip
"""Table of gold -> what an observer sees, in the order of time."""
APART_MS = 5_000
"""A broker registers with one name server after the other, and each looks for brokers that expired at times of its own."""


def test_the_tables_of_an_observed_name_server_are_those_of_our_journal_up_to_the_windows(
    lived: Lived,
):
    own, observed = gold_of(lived.own), gold_of(lived.observed)
    for table, columns in SAME.items():
        mine, seen = (rows_of(each, table, columns, lived.began) for each in (own, observed))
        assert [row for row, _ in seen] == [row for row, _ in mine], table
        for (row, exact), (_, windows) in zip(mine, seen, strict=True):
            for (begin, end), (earliest, latest) in zip(exact, windows, strict=True):
                assert begin == end, "our own journal has no windows"
                assert earliest - APART_MS <= begin <= latest + APART_MS, (table, row)


def gold_of(journal: Path) -> Duck:
    duck = Duck()
    make_gold(duck, duck.load(records_in(journal)))
    return duck


Window = tuple[int, int]
"""Wall ms between which something happened."""


def rows_of(
    duck: Duck, table: str, columns: tuple[str, ...], began: int
) -> list[tuple[tuple[object, ...], list[Window]]]:
    """The rows of a table from a time on, and the windows of their start and end; in order of values, then time."""
    begin, end = ("from_ts", "to_ts") if table == "incident" else ("valid_from", "valid_to")
    found = []
    for row in duck.gold(table):
        if (row[end] is not None and row[end] <= began) or row.get("kind") == "name_server_down":
            continue
        windows = [
            (max(row[at] - (row.get(window) or 0), began), max(row[at], began))
            for at, window in ((begin, "from_window_ms"), (end, "to_window_ms"))
            if row[at] is not None
        ]
        found.append((tuple(row[column] for column in columns), windows))
    return sorted(found, key=lambda pair: (repr(pair[0][:2]), pair[1]))


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
