"""Incidents, from rows in to rows out; that they do not depend on the runs is test_steps.py's."""

from namekeeper.pipeline.gold.steps import TOGETHER_MS, make_gold
from tests.support.history.histories import histories
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.incident_rows import NOW, assert_incidents, away, incidents_of, unwritable
from tests.support.pipeline.law import records_of

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


def test_a_broker_that_unregistered_is_told_apart_and_has_its_topics():
    end = {
        "namesrv": "ns-1", "cluster": "c", "broker_addr": "a", "broker_name": "b0", "broker_id": 0, "valid_from": 0,
        "valid_to": 1_000, "ended_by": "gone", "reason": "unregister_broker", "to_peer": "10.0.0.1:5",
    }  # fmt: skip
    states = [{**row, "state": "unregistered"} for row in away("b0", 1_000, 9_000)]
    found = incidents_of(
        broker_state_daily=states, broker_session=[end], topic_outage_daily=unwritable("t", 1_000, 9_000)
    )
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


def test_topics_are_the_cost_of_the_incident_in_which_they_began():
    asked = {"count": 7, "language": "JAVA", "namesrv": "ns-1"}
    found = incidents_of(
        broker_state_daily=[*away("b0", 5 * MINUTE, 20 * MINUTE), *away("b1", 10 * MINUTE, 12 * MINUTE)],
        topic_outage_daily=[
            *unwritable("one", 5 * MINUTE, 20 * MINUTE),
            *unwritable("other", 5 * MINUTE - TOGETHER_MS, 6 * MINUTE),
            *unwritable("later", 11 * MINUTE, 12 * MINUTE),
            *unwritable("alone", 60 * MINUTE, 70 * MINUTE),
            *unwritable("beside it", 60 * MINUTE + TOGETHER_MS, 71 * MINUTE),
        ],
        unknown_topic_minute=[
            {**asked, "topic": "one", "minute": 4 * MINUTE},
            {**asked, "topic": "one", "minute": 5 * MINUTE},
            {**asked, "topic": "one", "minute": 19 * MINUTE, "language": "GO"},
            {**asked, "topic": "one", "minute": 20 * MINUTE},
            {**asked, "topic": "never registered", "minute": 6 * MINUTE},
            {**asked, "topic": "alone", "minute": 65 * MINUTE, "language": None},
        ],
    )
    assert shown(found, "kind", "subject", "topics", "first_topic", "lookups", "languages") == [
        ("broker_away", "b0", 2, "one", 14, ["GO", "JAVA"]),
        ("broker_away", "b1", 1, "later", 0, []),
        ("topic_unwritable", "alone", 2, "alone", 7, []),
    ]
    assert found[2]["to_ts"] == 71 * MINUTE


def test_an_incident_that_begins_later_does_not_have_the_topics_of_one_that_was_there():
    """The later one is near enough to explain them, if nothing else did."""
    second = 1_000
    found = incidents_of(
        broker_state_daily=[
            *away("b0", 0, 9 * MINUTE),
            *({**row, "state": "unregistered"} for row in away("b1", MINUTE + 20 * second, 3 * MINUTE)),
            *({**row, "state": "unregistered"} for row in away("b2", 12 * MINUTE, 15 * MINUTE)),
            *away("b3", 12 * MINUTE + second, 14 * MINUTE),
        ],
        topic_outage_daily=[
            *unwritable("t", MINUTE, 2 * MINUTE),
            *unwritable("u", 12 * MINUTE - second, 13 * MINUTE),
        ],
    )
    assert shown(found, "kind", "subject", "topics") == [
        ("broker_away", "b0", 1),
        ("broker_unregistered", "b1", 0),
        ("broker_unregistered", "b2", 1),
        ("broker_away", "b3", 0),
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
            {"cluster": "c", "broker_name": "b0", "broker_id": 0, "valid_from": 5_000, "valid_to": 8_000,
             "from_namesrv": "ns-2", "is_open": False},
        ],
        view_drift_topic=[
            {"cluster": "c", "broker_name": "b0", "topic": "t", "valid_from": 6_000, "valid_to": 9_000,
             "from_namesrv": "ns-1", "is_open": True},
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
        ("drift", "b0", 5_000, None, None, 1, ["ns-1", "ns-2"]),
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
