"""A server's journal is made from its settings and told what happens; without one nothing is missed."""

import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from namekeeper.app import journaling
from namekeeper.app.journaling import Journaling
from namekeeper.errors import ConfigError
from namekeeper.journal.reading.verify import verify
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.topic import QueueSpec
from namekeeper.processor.state import NameServerState
from namekeeper.route.events import Cause, Change, TopicQueuesChanged
from namekeeper.route.rows import make_row
from namekeeper.wire.codec import encode_command
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually
from tests.support.wire.peer import connect
from tests.unit.app.parts import FakeClock, frame, name_server, registration, startup
from tests.unit.journal.disk_parts import records_in

LOCAL = "127.0.0.1"
BROKER = {
    "brokerName": "broker-a",
    "brokerAddr": "10.0.0.1:10911",
    "clusterName": "DefaultCluster",
    "brokerId": "0",
}


def folder_of(folder: Path) -> Path:
    (found,) = (folder / "journal").glob("[0-9]*")
    return found


async def read(folder: Path):
    """Records so far, read in a thread: a loop must not wait for a disk."""
    return await asyncio.to_thread(records_in, folder)


async def wait_for(folder: Path, kind: str) -> None:
    """Wait until a record of a kind is in a file."""
    async with asyncio.timeout(10 * PATIENCE):
        while not of_kind(await read(folder), kind):  # noqa: ASYNC110 - another thread writes it
            await asyncio.sleep(0.01)


async def is_complete(folder: Path) -> bool:
    return (await asyncio.to_thread(verify, str(folder))).is_complete


def of_kind(records, kind):
    return [record for record in records if record["kind"] == kind]


def loaded_late(monkeypatch) -> threading.Event:
    """Have the thread that imports the journal wait for an event, which it returns."""
    may_load, real = threading.Event(), journaling._import_journal

    def load():
        if threading.current_thread() is not threading.main_thread():
            may_load.wait(60 * PATIENCE)
        return real()

    monkeypatch.setattr(journaling, "_import_journal", load)
    return may_load


async def exchange(peer, *frames):
    await peer.send(b"".join(frames))
    return [await peer.answer() for _ in frames]


@both_loops
async def test_what_happens_on_a_server_is_in_its_journal(tmp_path):
    async with (
        name_server(tmp_path, journal_namesrv_id="ns-1") as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        port = server.port
        await exchange(peer, encode_command(registration()))
        await exchange(
            peer,
            frame(322, opaque=2, **BROKER),
            *(frame(105, opaque=opaque, topic="T1") for opaque in range(3, 8)),
            frame(105, opaque=9, topic="nobody"),
            frame(101, opaque=12, namespace="a", key="not there"),
            frame(318, b"orderMessageEnable=true", opaque=10),
            frame(100, opaque=11, namespace="a", key="b", value="c"),
        )
        folder = tmp_path / "journal" / str(port)
        await eventually(folder.exists)
        await wait_for(folder, "kv")
    records = await read(folder)
    assert [record["kind"] for record in records[:2]] == ["server_started", "checkpoint_begin"]
    assert records[0]["port"] == port
    assert records[0]["namesrv"] == "ns-1"
    assert [(kv["namespace"], kv["key"], kv["value"], kv["cause"]) for kv in of_kind(records, "kv")] == [
        ("a", "b", "c", "put_kv_config")
    ]
    assert of_kind(records, "topic_queues")[0]["rows"] == [["T1", 4, 4, 6, 0], ["T2", 4, 4, 6, 0]]
    # Perhaps in two minutes, or two hours.
    assert sum(record["count"] for record in of_kind(records, "broker_minute")) == 2
    lookups = [row for record in of_kind(records, "lookup_hour") for row in record["lookups"]]
    assert ({topic for topic, _ in lookups}, sum(count for _, count in lookups)) == ({"T1"}, 5)
    assert of_kind(records, "unknown_topic_minute")[0]["topic"] == "nobody"
    (denied,) = of_kind(records, "denied")
    assert (denied["code"], denied["host"]) == (318, LOCAL)
    assert records[-1]["kind"] == "server_stopped"
    assert not [record for record in of_kind(records, "broker_live") if record.get("gone")]
    assert await is_complete(folder)


@pytest.mark.parametrize("code", [103, 104])
async def test_who_tried_to_take_a_live_broker_over_or_to_end_it_is_in_journal_and_log(
    tmp_path, caplog, code
):
    names = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": "0"}
    async with (
        name_server(tmp_path, protect_broker_names="true") as server,
        connect(f"{LOCAL}:{server.port}") as broker,
        connect(f"{LOCAL}:{server.port}", local_host="127.0.0.9") as stranger,
    ):
        await exchange(broker, encode_command(registration()))
        claims = [
            encode_command(registration(version=number, addr="10.9.9.9:1"))
            if code == 103
            else frame(104, opaque=number, brokerAddr="10.0.0.1:10911", **names)
            for number in range(2, 32)
        ]
        answers = [answer for claim in claims for answer in await exchange(stranger, claim)]
        assert len(server.state.tables.broker_live_table) == 1
    remark = "10.0.0.1:10911 is live and was registered by another host"
    assert [(answer.code, remark in answer.remark) for answer in answers] == [(16, True)] * 30
    records = await read(folder_of(tmp_path))
    denied = of_kind(records, "denied")
    by_property = "refused by rule 'protectBrokerNames'"
    assert {(each["code"], each["host"], each["reason"]) for each in denied} == {
        (code, "127.0.0.9", by_property)
    }
    assert sum(each["count"] for each in denied) == 30  # perhaps in two minutes
    refused = of_kind(records, "access")
    assert len(refused) == 30
    assert {each["peer"].partition(":")[0] for each in refused} == {"127.0.0.9"}
    (said,) = {
        (each["code"], each.get("allowed", False), each["rule"], each["mode"], *each["about"])
        for each in refused
    }
    assert said == (
        code, False, "protectBrokerNames", "enforce", "clusters=DefaultCluster", "brokers=broker-a",
    )  # fmt: skip
    lines = [line for line in caplog.messages if f" ({code}) from 127.0.0.9:" in line]
    assert len(lines) == 20
    assert remark in lines[0]


@both_loops
async def test_the_first_checkpoint_is_the_state_before_the_first_request(tmp_path):
    (tmp_path / "kv.json").write_text(json.dumps({"configTable": {"ns": {"k": "v"}}}))
    async with name_server(tmp_path) as server:
        stats = server.operators.stats()
        assert stats.journal is None or stats.journal.last_seq == 5
    records = await read(folder_of(tmp_path))
    assert [record["kind"] for record in records] == [
        "server_started", "checkpoint_begin", "kv", "config", "checkpoint_end", "server_stopped",
    ]  # fmt: skip


@both_loops
@pytest.mark.parametrize("stops_early", [False, True])
async def test_what_happens_before_the_journal_is_loaded_is_recorded_as_it_was(
    tmp_path, monkeypatch, stops_early
):
    may_load = loaded_late(monkeypatch)
    async with (
        name_server(tmp_path, journal_namesrv_id="ns-1") as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        await exchange(
            peer, frame(105, opaque=1, topic="nobody"), encode_command(registration()), frame(318, b"a=b", opaque=3)
        )  # fmt: skip
        assert server.operators.stats().journal is None
        if not stops_early:
            may_load.set()
            await eventually(lambda: server.operators.stats().journal is not None)
        folder = tmp_path / "journal" / str(server.port)
    may_load.set()
    records = await read(folder)
    assert [record["kind"] for record in records[:2]] == ["server_started", "checkpoint_begin"]
    (topics,) = of_kind(records, "topic_queues")
    assert (topics["cause"], "checkpoint" in topics) == ("register_broker", False)
    assert of_kind(records, "unknown_topic_minute")[0]["topic"] == "nobody"
    assert of_kind(records, "denied")[0]["code"] == 318
    assert of_kind(records, "server_stopped")
    assert await is_complete(folder)


@both_loops
async def test_what_is_too_much_before_the_journal_is_loaded_comes_with_a_checkpoint(tmp_path, monkeypatch):
    may_load = loaded_late(monkeypatch)
    monkeypatch.setattr("namekeeper.app.journaling.MAX_NOTES", 4)
    async with (
        name_server(tmp_path, journal_namesrv_id="ns-1") as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        folder = tmp_path / "journal" / str(server.port)
        await exchange(peer, *(frame(105, opaque=opaque, topic="nobody") for opaque in range(1, 9)))
        await exchange(
            peer, *(frame(100, opaque=n, namespace="ns", key=f"k{n}", value="v") for n in range(20, 30))
        )
        may_load.set()
        await eventually(lambda: server.operators.stats().journal is not None)
        journal = server.operators.stats().journal
        assert (journal.dropped_changes, journal.dropped_records) == (8, 8)
        async with asyncio.timeout(10 * PATIENCE):
            while len(of_kind(await read(folder), "checkpoint_end")) < 2:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
    records = await read(folder)
    kept = of_kind(records, "kv")
    assert [record["key"] for record in kept if "checkpoint" not in record] == ["k20", "k21"]
    begin = of_kind(records, "checkpoint_begin")[1]
    assert (begin["reason"], begin["seq"] - records.index(begin)) == ("recovery", 8 + 1)
    assert [record["key"] for record in kept if record.get("checkpoint") == begin["seq"]] == [
        f"k{n}" for n in range(20, 30)
    ]
    assert sum(record["count"] for record in of_kind(records, "unknown_topic_minute")) == 2


def test_restored_routes_are_kept_before_the_journal_is_loaded_whatever_else_waits(tmp_path, monkeypatch):
    monkeypatch.setattr("namekeeper.app.journaling.MAX_NOTED_ROWS", 3)
    made = startup(tmp_path)
    journaling = Journaling(NameServerState(made.runtime_config, KvConfigStore()), clock=FakeClock())
    journaling.begin()
    row = make_row(QueueSpec(), QueueSpec())

    def rows(cause, name, count):
        table = dict.fromkeys((f"T{number}" for number in range(count)), row)
        journaling.record(Change(cause, None, (TopicQueuesChanged(name, {}, table, tuple(table)),)))

    rows(Cause.REGISTER, "first", 3)
    rows(Cause.REGISTER, "too-much", 1)
    rows(Cause.REGISTER, "after-a-loss", 0)
    rows(Cause.RESTORED, "restored", 100)
    asyncio.run(journaling.stop())
    stats = journaling.stats()
    assert stats.dropped_changes == 2
    records = records_in(tmp_path / "journal" / "0")
    assert [record["broker_name"] for record in of_kind(records, "topic_queues")] == ["first", "restored"]


def test_each_change_has_its_own_number_before_the_journal_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr("namekeeper.app.journaling.MAX_NOTES", 3)
    state = NameServerState(startup(tmp_path).runtime_config, KvConfigStore())
    journaling = Journaling(state, clock=FakeClock())
    journaling.begin()
    numbers = [journaling.numbering()]
    for _ in range(5):  # the last ones are not kept
        journaling.record(Change(Cause.REGISTER, None, ()))
        numbers.append(journaling.numbering())
    assert [number.seq for number in numbers] == [0, 1, 2, 3, 4, 5]
    assert len({number.epoch for number in numbers}) == 1


@both_loops
async def test_a_journal_that_can_not_be_started_is_reported_and_keeps_nothing(tmp_path, monkeypatch, caplog):
    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("namekeeper.journal.journal.Journal.start", fail)
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await eventually(lambda: "journal" in server.operators.health().degraded)
        assert "could not be started" in server.operators.health().degraded["journal"]
        await exchange(peer, encode_command(registration()), frame(105, opaque=2, topic="nobody"))
        assert server.operators.stats().journal is None
        assert server.operators.stats().is_ready
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


@both_loops
async def test_operators_are_reported_how_it_is(tmp_path):
    async with name_server(tmp_path, journal_fsync_interval_ms="1") as server:

        def is_durable():
            journal = server.operators.stats().journal
            return journal is not None and journal.durable_seq == journal.last_seq

        await eventually(is_durable)
        journal = server.operators.stats().journal
        assert (journal.is_writable, journal.dropped_changes, journal.dropped_records) == (True, 0, 0)
        assert journal.boot > 0
        assert journal.namesrv.endswith(f"_{server.port}")
        assert journal.written_bytes > 0
        assert server.operators.health().degraded == {}


@both_loops
async def test_a_folder_that_can_not_be_used_is_degraded_and_stops_nothing(tmp_path, caplog):
    (tmp_path / "journal").touch()
    async with name_server(tmp_path) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await eventually(lambda: "journal" in server.operators.health().degraded)
        assert "Not a directory" in server.operators.health().degraded["journal"]
        await exchange(peer, encode_command(registration()), frame(105, opaque=2, topic="T1"))
        await eventually(lambda: server.operators.stats().journal is not None)
        assert not server.operators.stats().journal.is_writable
        assert server.operators.stats().is_ready
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


@both_loops
async def test_two_servers_on_one_folder_only_the_first_has_the_journal(tmp_path):
    path = str(tmp_path / "shared")
    async with name_server(tmp_path, journal_path=path) as first:
        await eventually((tmp_path / "shared" / "identity.json").exists)
        async with name_server(tmp_path, journal_path=path) as second:
            await eventually(lambda: "journal" in second.operators.health().degraded)
            assert f"in use by process {os.getpid()}" in second.operators.health().degraded["journal"]
            assert first.operators.health().degraded == {}
    assert await is_complete(Path(path))


@both_loops
async def test_where_none_is_wanted_there_is_none(tmp_path):
    async with (
        name_server(tmp_path, journal_enable="false") as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        await exchange(
            peer, encode_command(registration()), frame(105, opaque=2, topic="T1"), frame(105, opaque=3, topic="U"),
            frame(318, b"a=b", opaque=4),
        )  # fmt: skip
        assert server.operators.stats().journal is None
        assert server.operators.health().degraded == {}
    assert not (tmp_path / "journal").exists()


@pytest.mark.parametrize("namesrv", ["a b", "../a", "a--b"])
def test_an_id_that_can_not_be_used_is_refused(tmp_path, namesrv):
    made = startup(tmp_path, journal_namesrv_id=namesrv)
    state = NameServerState(made.runtime_config, KvConfigStore())
    with pytest.raises(ConfigError, match=f"journalNamesrvId={namesrv}: up to 120 letters"):
        Journaling(state, clock=FakeClock())


async def test_who_asked_is_in_the_journal_of_a_server_with_access_rules(tmp_path):
    rules = tmp_path / "access.toml"
    everybody = 'mode = "enforce"\n[[rule]]\nname = "everybody"\nrequests = ["broker", 216]\n'
    await asyncio.to_thread(rules.write_text, everybody)
    async with (
        name_server(tmp_path, journal_namesrv_id="ns-1", access_file=str(rules)) as server,
        connect(f"{LOCAL}:{server.port}") as peer,
    ):
        folder = tmp_path / "journal" / str(server.port)
        await exchange(
            peer,
            encode_command(registration()),
            frame(216, opaque=2, topic="T1"),
            frame(100, opaque=3, namespace="a", key="b", value="c"),
        )
        await eventually(folder.exists)
        await wait_for(folder, "access")
    found = of_kind(await read(folder), "access")
    assert [(each["code"], each.get("allowed", False), each.get("rule")) for each in found] == [
        (103, True, "everybody"),
        (216, True, "everybody"),
        (100, False, None),
    ]
    assert {each["peer"].rpartition(":")[0] for each in found} == {LOCAL}
    assert await is_complete(folder)
