"""Windows of observed name servers in gold: what is uncertain has columns of its own, and no exact value changes."""

from dataclasses import replace
from functools import cache
from typing import Any

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import HOUR, READ, WRITE, Broker, History, copied
from tests.support.history.observed import (
    BEGIN,
    FIRST,
    MINUTE,
    ORDINARY,
    SECOND,
    observed,
)
from tests.support.pipeline.duck import Duck


def gold_of(history: History) -> Duck:
    duck = Duck()
    make_gold(duck, duck.load(record for records in history.records.values() for record in records))
    return duck


@cache
def outage(*, come_back_window: int = 2_000, go_window: int = 6_000) -> Duck:
    """The broker is up from minute 0 to 10 and from 15 to 20."""
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.go(10 * MINUTE, go_window)
    server.come(15 * MINUTE, come_back_window)
    server.end(20 * MINUTE)
    return gold_of(history)


def only(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_a_history_has_the_windows_of_its_records():
    duck = outage()
    for table in ("broker_session", "topic_route", "broker_group_history"):
        windows = only(duck.gold(table), "valid_from", "from_window_ms", "valid_to", "to_window_ms")
        assert windows == [
            (BEGIN, None, BEGIN + 10 * MINUTE, 6_000),
            (BEGIN + 15 * MINUTE, 2_000, None, None),
        ], table


def test_uncertain_time_of_a_broker_is_what_may_be_up_or_down():
    duck = outage()
    states = only(duck.gold("broker_state_daily"), "state", "valid_to", "uncertain_ms")
    assert states == [
        ("up", BEGIN + 10 * MINUTE, 6_000),
        ("down", BEGIN + 15 * MINUTE, 2_000),
        ("up", BEGIN + 20 * MINUTE, None),
    ]
    days = only(duck.gold("broker_availability_daily"), "up_ms", "down_ms", "uncertain_ms")
    assert days == [(15 * MINUTE, 5 * MINUTE, 8_000)]


def test_uncertain_time_of_a_topic_is_what_may_be_writable_or_not():
    days = only(outage().gold("topic_availability_daily"), "writable_ms", "no_route_ms", "uncertain_ms")
    assert days == [(15 * MINUTE, 5 * MINUTE, 8_000)]


def test_an_exact_journal_has_no_uncertain_time():
    duck = outage(come_back_window=0, go_window=0)
    assert only(duck.gold("broker_availability_daily"), "uncertain_ms") == [(None,)]
    assert only(duck.gold("topic_availability_daily"), "uncertain_ms") == [(None,)]
    assert {row["from_window_ms"] for row in duck.gold("broker_session")} == {None}


def test_a_change_that_leaves_the_topic_writable_makes_nothing_uncertain():
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.change_topics(5 * MINUTE, 9_000, orders=(8, 8, READ | WRITE, 0))
    server.end(20 * MINUTE)
    duck = gold_of(history)
    assert only(duck.gold("topic_availability_daily"), "writable_ms", "uncertain_ms") == [(20 * MINUTE, None)]
    assert only(duck.gold("topic_route"), "read_queue_nums", "from_window_ms") == [(4, None), (8, 9_000)]


def test_a_permission_that_is_gone_is_uncertain_within_its_window():
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.change_topics(5 * MINUTE, 9_000, orders=(4, 4, READ, 0))
    server.end(20 * MINUTE)
    days = only(
        gold_of(history).gold("topic_availability_daily"), "writable_ms", "unwritable_ms", "uncertain_ms"
    )
    assert days == [(5 * MINUTE, 15 * MINUTE, 9_000)]


def test_a_window_reaches_no_further_back_than_its_state():
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.go(10 * MINUTE, 6_000)
    server.come(10 * MINUTE + 1_000, 5_000)
    server.end(20 * MINUTE)
    duck = gold_of(history)
    states = only(duck.gold("broker_state_daily"), "state", "uncertain_ms")
    assert states == [("up", 6_000), ("down", 1_000), ("up", None)]
    assert only(duck.gold("topic_availability_daily"), "uncertain_ms") == [(7_000,)]


def test_unknown_time_is_not_uncertain():
    """A period of observation begins 2 s before the change whose window is longer."""
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.end(5 * MINUTE)
    server.is_up = False
    held = copied(server.state)
    server.start(BEGIN + 10 * MINUTE)
    server.state = held
    server.begin_checkpoint(BEGIN + 10 * MINUTE, "start")
    server.write_checkpoint(BEGIN + 10 * MINUTE)
    server.go(10 * MINUTE + 2_000, 6_000)
    server.end(20 * MINUTE)
    for record in history.records[FIRST]:
        if record["kind"] == "server_started":
            record["observed_addr"] = "10.0.0.9:9876"
    duck = gold_of(history)
    days = only(duck.gold("broker_availability_daily"), "up_ms", "unknown_ms", "uncertain_ms")
    assert days == [(5 * MINUTE + 2_000, 5 * MINUTE, 2_000)]
    ends = [(row["ended_by"], row["unknown_ms"]) for row in duck.gold("name_server_session")]
    assert ends == [("not observed", 5 * MINUTE), ("running", 0)]
    kinds = {row["kind"] for row in duck.gold("incident")}
    assert kinds == {"broker_away"}, "the end of a period of observation is no end of the name server"


def test_uncertain_time_is_cut_at_midnight():
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    midnight = 23 * HOUR
    server.go(midnight + 2_000, 6_000)
    server.end(24 * HOUR)
    duck = gold_of(history)
    for table in ("broker_availability_daily", "topic_availability_daily"):
        assert only(duck.gold(table), "day", "uncertain_ms") == [
            ("2026-03-01", 4_000),
            ("2026-03-02", 2_000),
        ], table


def test_uncertain_time_does_not_depend_on_when_records_came():
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.go(10 * MINUTE, 6_000)
    server.come(15 * MINUTE, 2_000)
    server.end(20 * MINUTE)
    records = history.records[FIRST]
    at_once = gold_of(history)
    in_turn = Duck()
    for is_late in (False, True):
        part = [record for record in records if (record["ts"] > BEGIN + 12 * MINUTE) == is_late]
        make_gold(in_turn, in_turn.load(part))
    for table in ("broker_availability_daily", "topic_availability_daily", "broker_session", "topic_route"):
        assert in_turn.gold(table) == at_once.gold(table), table


CASES = {0: True, 20_000: True, 26_000: False, 40_000: False}
"""Window of the second name server, which notes a change 30 s after the first -> whether they disagreed for 5 s."""


def test_name_servers_disagree_only_outside_of_both_windows():
    """Each window has a topic and a broker of its own."""
    history, (first, second) = observed(FIRST, SECOND)
    brokers = {
        window: Broker(
            "c", f"b{window}", 0, f"10.0.1.{number}:10911", False, None, {f"t{window}": ORDINARY}, {}
        )
        for number, window in enumerate(CASES)
    }
    for server in (first, second):
        for broker in brokers.values():
            server.come(0, 0, broker)
    wider = {
        window: replace(broker, topics={f"t{window}": (8, 8, READ | WRITE, 0)})
        for window, broker in brokers.items()
    }
    for window, broker in wider.items():
        first.come(5 * MINUTE, 3_000, broker)
        second.come(5 * MINUTE + 30_000, window, broker)
    for window, broker in wider.items():
        first.go(10 * MINUTE, 3_000, broker)
        second.go(10 * MINUTE + 30_000, window, broker)
    for server in (first, second):
        server.end(20 * MINUTE)
    duck = gold_of(history)
    windows = [(3_000, window or None) for window, is_longer in CASES.items() if is_longer]
    topics = duck.gold("view_drift_topic")
    assert only(topics, "valid_from", "valid_to", "from_window_ms", "to_window_ms") == [
        (BEGIN + 5 * MINUTE, BEGIN + 5 * MINUTE + 30_000, *each) for each in windows
    ]
    assert only(duck.gold("view_drift_broker"), "from_window_ms", "to_window_ms") == windows


def test_a_change_has_its_window():
    changes = only(outage().gold("change_log"), "kind", "at_ts", "window_ms")
    assert ("broker_live", BEGIN + 10 * MINUTE, 6_000) in changes
    assert ("broker_live", BEGIN, None) in changes
    assert ("topic_queues", BEGIN + 15 * MINUTE, 2_000) in changes


def test_an_incident_has_the_window_of_its_begin():
    incidents = only(outage().gold("incident"), "kind", "from_ts", "from_window_ms")
    assert incidents == [("broker_away", BEGIN + 10 * MINUTE, 6_000)]
