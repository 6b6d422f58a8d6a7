"""Steps, evidence and changes from rows of facts; tests/unit/pipeline/answers/test_recorded.py has whole warehouses."""

import pytest

from namekeeper.answers.from_facts import changes_from_facts, evidence_from_facts
from namekeeper.history.rows import GroupKey, LiveKey, TopicKey, What
from namekeeper.history.sources.warehouse import steps_from_facts
from namekeeper.journal.contract.record import BrokerLive, TopicQueues
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Stopped

NS = {"namesrv": "ns", "boot": 5}


def row(seq: int, checkpoint: int | None = None, **values):
    place = {"seq": seq, "place": checkpoint or seq, "checkpoint": checkpoint, "change": seq, "ts": 100 + seq}
    return {**NS, **place, "cause": "register_broker", "peer": "p:1", **values}


def topic(seq: int, checkpoint: int | None = None, *, gone: bool = False, **values):
    numbers = dict.fromkeys(
        ("read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag"), None if gone else 4
    )
    return row(seq, checkpoint, broker_name="b", topic="T", gone=gone, **{**numbers, **values})


def live(seq: int, checkpoint: int | None = None, **values):
    fields = {
        "cluster": "c", "broker_addr": "a:1", "broker_name": "b", "broker_id": 0, "gen": 1, "ha_server_addr": None,
        "timeout_ms": None, "data_version": [0, 7, 1], "gone": False, "reason": None, "idle_ms": None,
    }  # fmt: skip
    return row(seq, checkpoint, **{**fields, **values})


def group(seq: int, name: str, addr: str):
    return row(
        seq,
        broker_name=name,
        cluster="c",
        zone=None,
        acting_master=False,
        broker_addrs={"0": addr},
        gone=False,
    )


TABLES = {
    "name_server_boot": [{**NS, "first_ts": 101}],
    "server_start_or_stop": [
        {**NS, "seq": 1, "ts": 101, "kind": "server_started"},
        {**NS, "seq": 9, "ts": 109, "kind": "server_stopped"},
    ],
    "complete_checkpoint": [{**NS, "begin_seq": 2, "from_ts": 102}],
    "loss": [{**NS, "first_seq": 7, "unknown_from": 106}],
    "recorded_broker_live": [live(3, 2)],
    "recorded_topic_queues": [topic(4, 2), topic(6, gone=True), {**topic(8), "namesrv": "another"}],
    "name_server_period": [{"namesrv": "ns", "valid_from": 102, "valid_to": None, "state": "up", "boot": 5}],
    "lookup_in_vain": [{"namesrv": "ns", "minute": 60, "language": None, "client_version": None, "count": 2}],
    "refused_request": [
        {
            "namesrv": "ns",
            "at": 104,
            "code": 103,
            "about": None,
            "peer": None,
            "user": None,
            "rule": None,
            "count": 3,
        }
    ],
}


def test_steps_are_in_the_order_of_the_journal():
    found = steps_from_facts(TABLES, "ns")
    assert [type(step) for step in found] == [Seen, Began, CheckpointApplied, Changed, Lost, Stopped]
    assert set(found[2].state.of) == {LiveKey("c", "a:1"), TopicKey("T", "b")}
    (record,) = found[3].records
    assert isinstance(record, TopicQueues)
    assert (record.rows, record.cause, record.peer) == ([("T",)], "register_broker", "p:1")


def test_what_is_before_the_base_is_left_out():
    assert [step.seq for step in steps_from_facts(TABLES, "ns", (5, 2))] == [2, 6, 7, 9]


def test_records_of_one_change_come_together():
    rows = {"recorded_topic_queues": [{**topic(4), "change": 3}], "recorded_broker_live": [live(3)]}
    (found,) = steps_from_facts(rows, "ns")
    assert [type(record) for record in found.records] == [BrokerLive, TopicQueues]
    assert found.records[0].data_version == (0, 7, 1)


def test_evidence_has_the_periods_and_look_ups_of_the_tables():
    (found,) = evidence_from_facts("T", TABLES, {"ns": (0, 0)}, {"ns": 109})
    (route,) = found.routes
    assert (route.valid_from, route.valid_to, route.ended_by, route.to_peer) == (102, 106, "gone", "p:1")
    assert (found.known_from, found.knows_up_to, found.lookups[0].count) == (102, 109, 2)
    assert [(each.at, each.count) for each in found.refused] == [(104, 3)]


def test_changes_are_those_of_the_window():
    (found,) = changes_from_facts("T", TABLES, {"ns": (5, 2)}, 102, 106)[:1]
    assert (found.at, found.what, found.cause) == (106, What.CHANGE, "register_broker")
    assert changes_from_facts("T", TABLES, {"ns": (5, 2)}, 109, 200) == []


UNREADABLE = {"data_version": [1]}
"""A row with it makes no record, so a test fails that reads the row."""


@pytest.mark.parametrize("name", ["T", "b", "a:1", "a"])
def test_rows_of_other_brokers_are_not_read(name: str):
    other = live(5, broker_name="other", broker_addr="x:1", **UNREADABLE)
    tables = {**TABLES, "recorded_broker_live": [live(3, 2), live(5), other], "recorded_broker_group": []}
    without = {**tables, "recorded_broker_live": [live(3, 2), live(5)]}
    assert changes_from_facts(name, tables, {"ns": (0, 0)}, 0, 200) == changes_from_facts(
        name, without, {"ns": (0, 0)}, 0, 200
    )
    with pytest.raises(ValueError, match="data_version"):
        changes_from_facts(None, tables, {"ns": (0, 0)}, 0, 200)


def test_a_broker_that_takes_the_address_of_another_one_is_a_change_of_its_topic():
    taken = live(5, broker_name="other", gen=2)
    tables = {**TABLES, "loss": [], "recorded_broker_live": [live(3, 2), taken]}
    shown = [row for each in changes_from_facts("T", tables, {"ns": (0, 0)}, 104, 105) for row in each.rows]
    assert [(row.key, row.before.broker_name, row.after.broker_name) for row in shown] == [
        (LiveKey("c", "a:1"), "b", "other")
    ]


def test_a_group_is_a_change_of_the_hosts_that_its_members_had():
    groups = [group(5, "g", "h:1"), group(6, "g", "x:1"), group(6, "other", "x:2")]
    tables = {
        **TABLES,
        "loss": [],
        "recorded_broker_live": [],
        "recorded_topic_queues": [],
        "recorded_broker_group": groups,
    }
    found = changes_from_facts("h", tables, {"ns": (0, 0)}, 103, 106)
    assert [(each.at, [row.key for row in each.rows]) for each in found] == [
        (105, [GroupKey("g")]),
        (106, [GroupKey("g")]),
    ]


def test_a_data_version_that_is_none_is_refused():
    with pytest.raises(ValueError, match="data_version"):
        steps_from_facts({"recorded_broker_live": [{**live(3), "data_version": [1]}]}, "ns")
