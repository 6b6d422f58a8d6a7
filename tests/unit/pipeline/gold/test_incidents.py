"""Incidents, from rows in to rows out; that they do not depend on the runs is test_steps.py's."""

from dataclasses import replace

import pytest

from namekeeper.common.expected import SHORTEST_DRIFT_MS, TOGETHER_END_MS, TOGETHER_MS
from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.answers.warehouse import open_warehouse
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from tests.support.history.histories import READ, WRITE, Broker, histories
from tests.support.history.observed import BROKER, FIRST, observed
from tests.support.pipeline.days import Day
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.incident_rows import (
    NOW,
    assert_incidents,
    away,
    groups,
    held,
    incidents_of,
    session,
    unwritable,
)
from tests.support.pipeline.law import records_of
from tests.support.pipeline.written_histories import WRITTEN_HISTORIES, incidents_in, reported

MINUTE = 60_000


def shown(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


def test_a_broker_that_is_away_over_midnight_is_one_incident_with_its_cause():
    end = {
        "namesrv": "ns-1", "cluster": "c", "broker_addr": "a", "broker_name": "b0", "broker_id": 0, "valid_from": 0,
        "valid_to": 1_000, "ended_by": "gone", "reason": "expired", "to_peer": None,
    }  # fmt: skip
    found = incidents_of(broker_state_daily=away("b0", 1_000, 9_000), broker_session=[end])
    assert shown(found, "kind", "cluster", "subject", "from_ts", "to_ts", "is_open", "cause") == [
        ("broker_away", "c", "b0", 1_000, 9_000, False, "expired")
    ]
    assert shown(found, "brokers", "broker_names", "topics", "first_topic", "lookups", "languages") == [
        (1, ["b0"], 0, None, 0, [])
    ]


def test_a_hung_broker_is_told_from_a_killed_one():
    """Both end because a connection closed."""
    hour = 3_600_000
    found = incidents_of(
        broker_state_daily=[*away("b0", hour, 2 * hour), *away("b1", 3 * hour, 4 * hour), *away("b2", 5 * hour, 6 * hour)],
        broker_session=[
            session("b0", hour, closed_by="idle"),
            session("b1", 3 * hour, closed_by="reset"),
            session("b2", 5 * hour, "expired"),
        ],
        broker_group_history=groups("b0", "b1", "b2"),
    )  # fmt: skip
    assert shown(found, "subject", "cause", "closed_by") == [
        ("b0", "channel_closed", "idle"), ("b1", "channel_closed", "reset"), ("b2", "expired", None),
    ]  # fmt: skip


def test_a_broker_that_unregistered_is_told_apart_and_has_its_topics():
    end = {
        "namesrv": "ns-1", "cluster": "c", "broker_addr": "a", "broker_name": "b0", "broker_id": 0, "valid_from": 0,
        "valid_to": 1_000, "ended_by": "gone", "reason": "unregister_broker", "to_peer": "10.0.0.1:5",
    }  # fmt: skip
    states = [{**row, "state": "unregistered"} for row in away("b0", 1_000, 9_000)]
    found = incidents_of(
        broker_state_daily=states, broker_session=[end], topic_outage_daily=unwritable("t", 1_000, 9_000),
        topic_route=[held("t", "b0")], broker_group_history=groups("b0"),
    )  # fmt: skip
    assert shown(found, "kind", "subject", "cause", "peer", "topics") == [
        ("broker_unregistered", "b0", "unregister_broker", "10.0.0.1:5", 1)
    ]


def test_what_lasts_up_to_the_last_record_has_no_end():
    found = incidents_of(broker_state_daily=away("b0", 1_000, NOW))
    assert shown(found, "to_ts", "is_open") == [(None, True)]


def test_a_broker_whose_outage_nothing_follows_was_forgotten():
    """Until the last record, it is not over; if it comes back later, that is another life."""
    up = {"cluster": "c", "broker_id": 0, "state": "up"}
    found = incidents_of(
        broker_state_daily=[
            *away("back", 0, 9_000_000),
            {**up, "broker_name": "back", "began_at": 9_000_000, "valid_from": 9_000_000, "valid_to": NOW},
            *away("forgotten", 1_000_000, 9_000_000),
            {
                **up,
                "broker_name": "forgotten",
                "began_at": 9_000_001,
                "valid_from": 9_000_001,
                "valid_to": NOW,
            },
            *away("away", 2_000_000, NOW),
        ],
    )
    assert shown(found, "subject", "is_open", "is_forgotten") == [
        ("back", False, False), ("forgotten", False, True), ("away", True, False),
    ]  # fmt: skip


def test_brokers_that_go_together_are_one_incident_and_many_a_mass_disconnect():
    some = [*away("b0", 0, 500_000), *away("b0", TOGETHER_MS, 400_000, 1)]
    assert shown(incidents_of(broker_state_daily=some), "kind", "brokers", "broker_names", "to_ts") == [
        ("broker_away", 2, ["b0"], 500_000)
    ]
    more = [*some, *away("b1", 2 * TOGETHER_MS, 600_000)]
    assert shown(incidents_of(broker_state_daily=more), "kind", "subject", "brokers", "broker_names") == [
        ("mass_disconnect", "b0", 3, ["b0", "b1"])
    ]
    later = [*some, *away("b1", 2 * TOGETHER_MS + 1, 600_000)]
    assert shown(incidents_of(broker_state_daily=later), "kind", "subject") == [
        ("broker_away", "b0"), ("broker_away", "b1"),
    ]  # fmt: skip


def test_topics_are_the_cost_of_the_failure_that_took_their_last_row():
    """Not of the failure that is next to them in time, and not of one of their brokers that went before."""
    asked = {"count": 7, "language": "JAVA", "namesrv": "ns-1"}
    found = incidents_of(
        broker_state_daily=[*away("b0", 5 * MINUTE, 20 * MINUTE), *away("b1", 10 * MINUTE, 12 * MINUTE)],
        broker_group_history=groups("b0", "b1", "b2"),
        broker_session=[session("b0", 5 * MINUTE), session("b1", 10 * MINUTE)],
        topic_route=[
            held("one", "b0"), held("both", "b0"), held("both", "b1"), held("later", "b1"),
            held("read only", "b2", 11 * MINUTE, "register_broker", to_peer="b2:5"),
            held("beside it", "b2", 11 * MINUTE + TOGETHER_MS, "register_broker"),
        ],
        topic_outage_daily=[
            *unwritable("one", 5 * MINUTE, 20 * MINUTE),
            *unwritable("both", 10 * MINUTE, 12 * MINUTE),
            *unwritable("later", 10 * MINUTE, 12 * MINUTE),
            *unwritable("read only", 11 * MINUTE, 70 * MINUTE),
            *unwritable("beside it", 11 * MINUTE + TOGETHER_MS, 71 * MINUTE),
        ],
        unknown_topic_minute=[
            {**asked, "topic": "one", "minute": 4 * MINUTE},
            {**asked, "topic": "one", "minute": 5 * MINUTE},
            {**asked, "topic": "one", "minute": 19 * MINUTE, "language": "GO"},
            {**asked, "topic": "one", "minute": 20 * MINUTE},
            {**asked, "topic": "never registered", "minute": 6 * MINUTE},
            {**asked, "topic": "read only", "minute": 65 * MINUTE, "language": None},
        ],
    )  # fmt: skip
    assert shown(found, "kind", "subject", "topics", "first_topic", "lookups", "languages", "topic_ms") == [
        ("broker_away", "b0", 1, "one", 14, ["GO", "JAVA"], 15 * MINUTE),
        ("broker_away", "b1", 2, "both", 0, [], 4 * MINUTE),
        ("topic_unwritable", "beside it", 2, "beside it", 7, [], 119 * MINUTE - TOGETHER_MS),
    ]
    assert shown(found[2:], "to_ts", "cause", "peer", "brokers", "broker_names", "name_servers") == [
        (71 * MINUTE, "register_broker", "b2:5", 1, ["b2"], ["ns-1"])
    ]


def test_a_permission_that_is_wiped_while_another_broker_is_away_has_its_own_topics():
    found = incidents_of(
        broker_state_daily=away("b0", 5 * MINUTE, 20 * MINUTE),
        broker_group_history=groups("b0", "b1"),
        broker_session=[session("b0", 5 * MINUTE)],
        topic_route=[
            held("both", "b0"), held("both", "b1", 6 * MINUTE, "wipe_write_perm"),
            {**held("both", "b1"), "perm": 4, "valid_from": 6 * MINUTE, "valid_to": 9 * MINUTE,
             "from_cause": "wipe_write_perm", "ended_by": "changed"},
        ],
        topic_outage_daily=unwritable("both", 6 * MINUTE, 9 * MINUTE),
    )  # fmt: skip
    assert shown(found, "kind", "subject", "topics") == [
        ("broker_away", "b0", 0),
        ("permission_wiped", "b1", 1),
    ]


def test_a_topic_that_a_name_server_alone_had_is_the_cost_of_its_stop():
    found = incidents_of(
        broker_group_history=groups("b0"),
        topic_route=[held("t", "b0", 5_000, None, ended_by="stopped")],
        topic_outage_daily=unwritable("t", 5_000, 8_000),
        name_server_timeline=[
            {"namesrv": "ns-1", "state": "stopped", "valid_from": 5_000, "valid_to": 8_000}
        ],
    )
    assert shown(found, "kind", "subject", "topics", "topic_ms") == [("name_server_down", "ns-1", 1, 3_000)]


def test_after_unknown_time_a_topic_belongs_to_the_broker_that_had_it_and_is_away():
    """The last name server was down when both went, so no row ended at the instant at which the outage begins."""
    lost = {"ended_by": "stopped"}
    found = incidents_of(
        broker_state_daily=[*away("b0", 5 * MINUTE, 20 * MINUTE), *away("b1", 5 * MINUTE, 20 * MINUTE)],
        broker_group_history=groups("b0", "b1"),
        broker_session=[session("b0", MINUTE, **lost), session("b1", MINUTE, **lost)],
        topic_route=[held("t", "b1", MINUTE, None, **lost), held("t", "b1", 0, None, **lost)],
        topic_outage_daily=unwritable("t", 5 * MINUTE, 20 * MINUTE),
        name_server_timeline=[
            {"namesrv": "ns-1", "state": "stopped", "valid_from": MINUTE, "valid_to": 3 * MINUTE}
        ],
    )
    assert shown(found, "kind", "broker_names", "topics") == [
        ("name_server_down", [], 0),
        ("broker_away", ["b0", "b1"], 1),
    ]


@pytest.mark.parametrize(("lasts", "kinds"), [(6, []), (TOGETHER_MS + 1, ["topic_unwritable"])])
def test_a_topic_that_can_be_written_to_soon_after_its_start_was_not_lost(lasts: int, kinds: list[str]):
    """Its slave registered before its master."""
    found = incidents_of(
        broker_group_history=groups("b0"),
        topic_route=[{**held("t", "b0"), "valid_from": 1_000 + lasts}],
        topic_outage_daily=unwritable("t", 1_000, 1_000 + lasts),
        unknown_topic_minute=[{"namesrv": "ns-1", "topic": "t", "minute": 0, "count": 7, "language": "JAVA"}],
    )
    assert [row["kind"] for row in found] == kinds


@pytest.mark.parametrize("topic", ["rmq_sys_SYNC_BROKER_MEMBER_b0", "rmq_sys_SYNC"])
def test_nobody_writes_to_the_topic_by_which_members_of_a_name_know_each_other(topic: str):
    """Each master of 5.x has one, with the permission 1. It is in no table of lost topics."""
    history, (server,) = observed(FIRST)
    server.come(0, 0, replace(BROKER, topics={"orders": (4, 4, READ | WRITE, 0), topic: (1, 1, 1, 0)}))
    server.end(20 * MINUTE)
    duck = Duck()
    make_gold(duck, duck.load(record for records in history.records.values() for record in records))
    lost = [topic] if topic == "rmq_sys_SYNC" else []
    for table in ("incident", "topic_outage_daily"):
        assert [row.get("topic", row.get("first_topic")) for row in duck.gold(table)] == lost, table
    assert {row["topic"] for row in duck.gold("topic_availability_daily")} == {"orders", *lost}
    assert {row["topic"] for row in duck.gold("topic_route")} == {"orders", topic}


DELETED = {"ended_by": "gone", "to_peer": "10.0.0.9:1"}


@pytest.mark.parametrize(
    ("rows", "minutes", "incident"),
    [
        ([held("t", "b0", MINUTE, "delete_topic", **DELETED)], (0, 1, 3), (MINUTE, 4 * MINUTE, 14)),
        ([held("t", "b0", MINUTE, "delete_topic", **DELETED)], (0,), None),
        ([held("t", "b0", MINUTE, "delete_topic", **DELETED), held("t", "b1")], (1, 3), None),
        ([held("t", "b0", MINUTE, "register_broker", **DELETED)], (1,), (MINUTE, 2 * MINUTE, 7)),
        ([held("t", "b0", MINUTE, "expired", **DELETED, reason="broker_name_removed")], (1,), None),
        ([held("t", "b0", MINUTE, None, ended_by="stopped")], (1,), None),
        ([held("t", "b0", MINUTE, "delete_topic", **DELETED), {**held("t", "b0"), "valid_from": 2 * MINUTE + 5}],
         (1, 2, 3), (MINUTE, 2 * MINUTE + 5, 14)),
        ([held("t", "b0", MINUTE, "delete_topic", **DELETED)], (1, NOW // MINUTE - 1), (MINUTE, None, 14)),
    ],
)  # fmt: skip
def test_a_deleted_topic_that_clients_go_on_asking_for_is_an_incident(rows, minutes, incident):
    """Not one that another broker still has, or whose brokers went, and not longer than until it is there again."""
    found = incidents_of(
        broker_group_history=groups("b0", "b1"),
        topic_route=rows,
        unknown_topic_minute=[
            {"namesrv": "ns-1", "topic": "t", "minute": minute * MINUTE, "count": 7, "language": "JAVA"}
            for minute in minutes
        ],
    )
    assert shown(found, "from_ts", "to_ts", "lookups") == ([] if incident is None else [incident])
    assert shown(found, "kind", "subject", "topics", "broker_names", "name_servers", "peer", "topic_ms") == [
        ("topic_deleted", "t", 1, ["b0"], ["ns-1"], "10.0.0.9:1", 0) for _ in found
    ]


@pytest.mark.parametrize("make", WRITTEN_HISTORIES)
def test_histories_that_were_written_manually_have_the_expected_incidents(make, tmp_path):
    written = make()
    duck = Duck()
    make_gold(duck, duck.load(written.records))
    assert incidents_in(duck.gold("incident")) == list(written.incidents)
    tables = DuckTables(open_warehouse(duck.write_warehouse(tmp_path)))
    report = collect_report(tables, ReportQuery(("incidents",)))
    assert reported(report.sections[0].rows) == list(written.report)


def test_an_incident_that_begins_later_does_not_have_the_topics_of_one_that_was_there():
    """A broker that goes while its topic can't be written to anyway took nothing."""
    second = 1_000
    found = incidents_of(
        broker_state_daily=[
            *away("b0", 0, 9 * MINUTE),
            *({**row, "state": "unregistered"} for row in away("b1", MINUTE + 20 * second, 3 * MINUTE)),
        ],
        broker_group_history=groups("b0", "b1"),
        broker_session=[session("b0", 0), session("b1", MINUTE + 20 * second)],
        topic_route=[held("t", "b0"), {**held("t", "b1"), "perm": 4}],
        topic_outage_daily=unwritable("t", 0, 9 * MINUTE),
    )
    assert shown(found, "kind", "subject", "topics") == [
        ("broker_away", "b0", 1),
        ("broker_unregistered", "b1", 0),
    ]


def test_a_day_whose_incidents_are_known():
    """The mutants are held against the same day."""
    assert_incidents()


def test_a_wipe_is_one_incident_over_all_name_servers_until_it_is_undone():
    row = {
        "broker_name": "b0", "perm": 4, "valid_to": 900_000, "from_cause": "wipe_write_perm", "from_peer": "10.0.0.9:1",
    }  # fmt: skip
    found = incidents_of(
        topic_route=[
            held("t", "b0", 1_000, "wipe_write_perm"),
            {**row, "namesrv": "ns-1", "topic": "t", "valid_from": 1_000},
            {**row, "namesrv": "ns-1", "topic": "u", "valid_from": 1_000, "valid_to": 600_000},
            {**row, "namesrv": "ns-2", "topic": "t", "valid_from": 2_000},
            {**row, "namesrv": "ns-2", "topic": "t", "valid_from": 0, "from_cause": "register_broker"},
        ],
        broker_group_history=[{"namesrv": "ns-1", "broker_name": "b0", "cluster": "c", "valid_from": 0}],
        topic_outage_daily=unwritable("t", 1_000, 900_000),
    )
    assert shown(
        found, "kind", "cluster", "subject", "from_ts", "to_ts", "cause", "peer", "name_servers", "topics"
    ) == [
        ("permission_wiped", "c", "b0", 1_000, 900_000, "wipe_write_perm", "10.0.0.9:1", ["ns-1", "ns-2"], 1)
    ]


def test_name_servers_that_disagree_and_that_were_down():
    found = incidents_of(
        view_drift_broker=[
            {"cluster": "c", "broker_name": "b0", "broker_id": 0, "valid_from": 5_000, "valid_to": 45_000,
             "held_by": ["ns-1"], "missing_at": ["ns-2"], "from_namesrv": "ns-2", "is_open": False},
        ],
        view_drift_topic=[
            {"cluster": "c", "broker_name": "b0", "topic": "t", "valid_from": 6_000, "valid_to": NOW,
             "views": ["ns-1: absent", "ns-2: read 4, write 4, perm 6, flag 0"], "from_namesrv": "ns-2", "is_open": True},
        ],
        name_server_timeline=[
            {"namesrv": "ns-1", "state": "up", "valid_from": 0, "valid_to": 100_000},
            {"namesrv": "ns-1", "state": "stopped", "valid_from": 100_000, "valid_to": 103_000},
            {"namesrv": "ns-1", "state": "stopped", "valid_from": 110_000, "valid_to": 112_000},
            {"namesrv": "ns-1", "state": "unknown", "valid_from": 200_000, "valid_to": 203_000},
            {"namesrv": "ns-1", "state": "unknown", "valid_from": 300_000, "valid_to": 303_000},
        ],
        lost_records=[
            {"namesrv": "ns-1", "reason": "no_stop", "unknown_from": 200_000},
            {"namesrv": "ns-1", "reason": "missing_records", "unknown_from": 300_000},
        ],
    )  # fmt: skip
    assert shown(found, "kind", "subject", "from_ts", "to_ts", "cause", "topics", "name_servers") == [
        ("drift", "b0", 5_000, 45_000, "broker_missing", 0, ["ns-2"]),
        ("drift", "t", 6_000, None, "topic_missing", 1, ["ns-1"]),
        ("name_server_down", "ns-1", 100_000, 103_000, "stopped", 0, ["ns-1"]),
        ("name_server_down", "ns-1", 110_000, 112_000, "stopped", 0, ["ns-1"]),
        ("name_server_down", "ns-1", 200_000, 203_000, "no_stop", 0, ["ns-1"]),
    ]


def test_a_warehouse_of_an_earlier_version_gets_all_incidents_with_its_next_run():
    (each,) = histories(5, 1, actions=200)
    early, late = [], []
    for records in each.records.values():
        end = len(records) - len(records) // 10
        cut = max(number for number, record in enumerate(records[:end]) if record.get("end")) + 1
        early += records[:cut]
        late += records[cut:]
    duck, at_once = Duck(), Duck()
    make_gold(at_once, at_once.load(records_of([each])))
    make_gold(duck, duck.load(early))
    for name in ("incident", "topic_outage_daily"):
        duck._connection.execute(f"DELETE FROM stored_{name}")
    make_gold(duck, duck.load(late))
    for name in ("incident", "topic_outage_daily"):
        assert duck.gold(name) == at_once.gold(name) != []


def test_incidents_by_earlier_rules_are_gone_after_the_next_run():
    day = Day(2, "old")
    broker = Broker("c", "b", 0, "10.0.0.1:10911", False, None, {"t": (4, 4, READ | WRITE, 0)}, {})
    day.register(1_000, broker)
    day.lose(MINUTE, [broker], "channel_closed")
    records = day.records()
    cut = len(records) // 2
    duck, at_once = Duck(), Duck()
    make_gold(at_once, at_once.load(records))
    make_gold(duck, duck.load(records[:cut]))
    duck._connection.execute("INSERT INTO stored_incident (kind, subject, from_ts) VALUES ('drift', 'b', 1)")
    make_gold(duck, duck.load(records[cut:]))
    assert duck.gold("incident") == at_once.gold("incident") != []


BROKER_DRIFT = {
    "cluster": "c", "broker_name": "b0", "broker_id": 0, "broker_addr": "b0:1", "valid_from": 0, "is_open": False,
    "held_by": ["ns-1"], "missing_at": ["ns-2", "ns-3"],
}  # fmt: skip


GOOD, LESS, READ_ONLY = (
    f"read 4, write {write}, perm {perm}, flag 0" for write, perm in ((4, 6), (2, 6), (4, 4))
)
TOPIC_DRIFT = {"cluster": "c", "broker_name": "b0", "topic": "t", "valid_from": 0, "is_open": False}


def views(*seen: str) -> list[str]:
    return [f"ns-{number}: {view}" for number, view in enumerate(seen, 1)]


def test_a_disagreement_about_a_broker_names_those_that_lack_it():
    found = incidents_of(view_drift_broker=[{**BROKER_DRIFT, "valid_to": MINUTE}])
    assert shown(found, "kind", "cause", "subject", "brokers", "name_servers") == [
        ("drift", "broker_missing", "b0", 1, ["ns-2", "ns-3"])
    ]


@pytest.mark.parametrize(
    ("seen", "cause", "lacking"),
    [
        ([GOOD, "absent"], "topic_missing", ["ns-2"]),
        ([READ_ONLY, "absent"], "topic_missing", ["ns-2"]),
        ([GOOD, READ_ONLY], "permission_differs", ["ns-2"]),
        ([LESS, GOOD], "queues_differ", ["ns-1", "ns-2"]),
        ([READ_ONLY, READ_ONLY.replace("write 4", "write 2")], "queues_differ", ["ns-1", "ns-2"]),
    ],
)
def test_a_disagreement_about_a_topic_names_those_that_lack_what_another_one_has(seen, cause, lacking):
    found = incidents_of(view_drift_topic=[{**TOPIC_DRIFT, "valid_to": MINUTE, "views": views(*seen)}])
    assert shown(found, "cause", "subject", "brokers", "topics", "name_servers") == [
        (cause, "t", 1, 1, lacking)
    ]


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ([29_999], []),
        ([30_000], [(0, 30_000, ["ns-2"])]),
        # Its views change, and the name servers agree for less than five seconds.
        ([20_000, (24_999, 31_000)], [(0, 31_000, ["ns-2"])]),
        ([20_000, (25_000, 31_000)], []),
        # Another disagreement that began soon after it.
        ([31_000, (36_000, 70_000)], [(0, 31_000, ["ns-2"]), (36_000, 70_000, ["ns-2"])]),
    ],
)
def test_a_disagreement_of_thirty_seconds_is_an_incident(ends, found):
    times = [(0, each) if isinstance(each, int) else each for each in ends]
    rows = [
        {**TOPIC_DRIFT, "valid_from": since, "valid_to": to, "views": views(GOOD, "absent")}
        for since, to in times
    ]
    assert shown(incidents_of(view_drift_topic=rows), "from_ts", "to_ts", "name_servers") == found


def test_the_window_of_an_end_does_not_count():
    row = {**BROKER_DRIFT, "valid_to": 35_000, "from_window_ms": 2_000}
    assert incidents_of(view_drift_broker=[{**row, "to_window_ms": 5_001}]) == []
    found = incidents_of(view_drift_broker=[{**row, "to_window_ms": 5_000}])
    assert shown(found, "from_ts", "to_ts", "from_window_ms") == [(0, 35_000, 2_000)]


@pytest.mark.parametrize(
    ("to", "is_open", "until"),
    [
        (NOW, True, None),
        (NOW - TOGETHER_END_MS + 1, True, None),
        # The records of one end, and those of the others go on.
        (NOW - TOGETHER_END_MS, True, NOW - TOGETHER_END_MS),
        # They may differ again.
        (NOW - SHORTEST_DRIFT_MS + 1, False, None),
        (NOW - SHORTEST_DRIFT_MS, False, NOW - SHORTEST_DRIFT_MS),
    ],
)
def test_a_disagreement_at_the_end_of_the_records_is_open(to, is_open, until):
    found = incidents_of(view_drift_broker=[{**BROKER_DRIFT, "valid_to": to, "is_open": is_open}])
    assert shown(found, "to_ts", "is_open") == [(until, until is None)]


def test_name_servers_that_lack_it_one_after_the_other_are_looked_at_one_by_one():
    """ns-2 was late, and that is no incident."""
    found = incidents_of(
        view_drift_broker=[
            {**BROKER_DRIFT, "valid_to": 6_000},
            {**BROKER_DRIFT, "valid_from": 6_000, "valid_to": MINUTE, "held_by": ["ns-1", "ns-2"], "missing_at": ["ns-3"]},
        ]
    )  # fmt: skip
    assert shown(found, "from_ts", "to_ts", "name_servers") == [(0, MINUTE, ["ns-3"])]


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ({}, ["permission_wiped"]),
        ({"from_cause": "register_broker"}, ["drift"]),
        ({"namesrv": "ns-1"}, ["drift", "permission_wiped"]),
        ({"valid_to": 29_999}, ["drift", "permission_wiped"]),
        ({"topic": "u"}, ["drift", "permission_wiped"]),
    ],
)
def test_a_permission_that_was_wiped_at_one_of_them_is_no_second_incident(more, kinds):
    row = {
        "namesrv": "ns-2", "broker_name": "b0", "topic": "t", "perm": 4, "valid_from": 0, "valid_to": MINUTE,
        "from_cause": "wipe_write_perm",
    }  # fmt: skip
    found = incidents_of(
        view_drift_topic=[{**TOPIC_DRIFT, "valid_to": MINUTE, "views": views(GOOD, READ_ONLY)}],
        topic_route=[{**row, **more}],
        broker_group_history=groups("b0"),
    )
    assert [row["kind"] for row in found] == kinds


def test_what_clients_asked_a_name_server_in_vain_is_the_cost_of_what_it_missed():
    asked = {"namesrv": "ns-1", "topic": "t", "minute": MINUTE, "language": "JAVA"}
    broker = {**BROKER_DRIFT, "valid_to": 3 * MINUTE, "from_namesrv": "ns-1"}
    topic = {**TOPIC_DRIFT, "valid_from": 20 * MINUTE, "valid_to": 23 * MINUTE, "from_namesrv": "ns-1"}
    found = incidents_of(
        broker_group_history=groups("b0"),
        topic_route=[held("t", "b0")],
        view_drift_broker=[broker],
        view_drift_topic=[{**topic, "views": [f"ns-1: {GOOD}", "ns-2: absent"]}],
        unknown_topic_minute=[
            {**asked, "namesrv": "ns-1", "count": 1},
            {**asked, "namesrv": "ns-2", "count": 20},
            {**asked, "namesrv": "ns-3", "count": 300},
            {**asked, "namesrv": "ns-2", "count": 4_000, "minute": 21 * MINUTE},
        ],
    )
    assert shown(found, "kind", "lookups", "topics") == [("drift", 320, 0), ("drift", 4_000, 1)]
