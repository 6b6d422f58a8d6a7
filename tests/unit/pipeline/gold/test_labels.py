"""Clusters of name servers with labels in one warehouse: equal names of everything do not hide what happens in one."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.gold.plan import DAY_MS
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.text import render_text
from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, NameServer, Record
from tests.support.history.labels import labelled
from tests.support.pipeline.days import MINUTE, Day
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.file_warehouse import tables_at

TEN = 10 * MINUTE


def broker_a(addr: str = "10.0.0.1:10911") -> Broker:
    """The same broker in each cluster, also by its address."""
    return Broker("DefaultCluster", "broker-a", 0, addr, False, None, {"orders": (4, 4, READ | WRITE, 0)}, {})


def written_day(name: str, *outages: tuple[int, str]) -> list[Record]:
    """One name server with broker-a, which is away for ten minutes, each time with a cause; clients ask meanwhile."""
    day, broker = Day(1, name), broker_a()
    day.register(1_000, broker)
    for begin, cause in outages:
        day.lose(begin, [broker], cause)
        day.ask_in_vain(begin + MINUTE, "orders", 7)
        day.register(begin + TEN, broker)
    return day.records()


def gold(*loads: Iterable[Record]) -> Duck:
    duck = Duck()
    for records in loads:
        make_gold(duck, duck.load(records))
    return duck


def shown(duck: Duck, table: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in duck.gold(table)]


@pytest.fixture(scope="module")
def east_is_down() -> Duck:
    """At the same time clients of the other cluster ask in vain for a topic of this name."""
    west = Day(1, "west")
    west.register(1_000, broker_a())
    west.ask_in_vain(10 * HOUR + MINUTE, "orders", 90)
    east = written_day("east", (10 * HOUR, "channel_closed"))
    return gold([*labelled(west.records(), "west"), *labelled(east, "east")])


def test_an_outage_in_one_cluster_is_not_hidden_by_the_equal_names_of_another(east_is_down):
    broker = "cluster_label", "cluster", "broker_name", "down_ms", "outages"
    assert shown(east_is_down, "broker_availability_daily", *broker) == [
        ("east", "DefaultCluster", "broker-a", TEN, 1),
        ("west", "DefaultCluster", "broker-a", 0, 0),
    ]
    topic = "cluster_label", "topic", "no_route_ms", "worst_namesrv"
    assert shown(east_is_down, "topic_availability_daily", *topic) == [
        ("east", "orders", TEN, "east-1_9876"),
        ("west", "orders", 0, None),
    ]
    outage = "cluster_label", "topic", "state"
    assert shown(east_is_down, "topic_outage_daily", *outage) == [("east", "orders", "no_route")]
    flap = "cluster_label", "broker_name", "outages", "sessions_ended"
    assert shown(east_is_down, "broker_flap", *flap) == [("east", "broker-a", 1, 1)]


def test_an_incident_has_the_cost_of_its_own_cluster(east_is_down):
    names = "kind", "cluster_label", "subject", "cause", "topics", "lookups", "topic_ms"
    assert shown(east_is_down, "incident", *names) == [
        ("broker_away", "east", "broker-a", "channel_closed", 1, 7, TEN)
    ]


def test_a_report_is_about_all_clusters_or_about_one(east_is_down, tmp_path):
    tables = tables_at(east_is_down.write_warehouse(tmp_path))
    whole = render_text(collect_report(tables, ReportQuery(tuple(SECTIONS))))
    assert "The least available was broker-a (0) of DefaultCluster (east): 99.305 %, 10 min down." in whole
    of_west = collect_report(tables, ReportQuery(tuple(SECTIONS), label="west"))
    assert [each["namesrv"] for each in of_west.name_servers] == ["west-1_9876"]
    assert {name: section.total for name, section in zip(SECTIONS, of_west.sections, strict=True)} == {
        "incidents": 0, "availability": 1, "topics": 0, "flaps": 0, "drift": 0, "capacity": 1, "changes": 2,
        "unknown-topics": 1,
    }  # fmt: skip
    assert "east" not in render_text(of_west)
    with pytest.raises(WarehouseError, match="there is no cluster 'north': the labels are east, west"):
        collect_report(tables, ReportQuery(["drift"], label="north"))


def test_each_incident_has_the_cause_of_its_own_cluster():
    """Both brokers go in the same millisecond, and neither is a mass disconnect of the other."""
    west = written_day("west", (10 * HOUR, "unregister_broker"))
    east = written_day("east", (10 * HOUR, "channel_closed"))
    found = gold([*labelled(west, "west"), *labelled(east, "east")])
    names = "cluster_label", "kind", "cause", "brokers", "lookups"
    assert sorted(shown(found, "incident", *names)) == [
        ("east", "broker_away", "channel_closed", 1, 7),
        ("west", "broker_unregistered", "unregister_broker", 1, 7),
    ]


def test_name_servers_without_labels_have_no_rows_of_labels():
    found = gold(written_day("ns", (10 * HOUR, "expired")))
    assert found.gold("name_server_label_daily") == []
    assert shown(found, "incident", "cluster_label", "kind") == [(None, "broker_away")]


def test_a_name_server_without_a_label_belongs_to_the_label_of_those_that_share_its_brokers():
    """The broker is away from both; where only one has a label, it is still one broker."""
    day, broker = Day(2, "ns"), broker_a()
    day.register(1_000, broker)
    day.lose(10 * HOUR, [broker], "channel_closed")
    day.register(10 * HOUR + TEN, broker)
    day.records()
    first, second = day.history.records.values()
    other = Day(1, "other")
    other.register(1_000, broker_a("10.1.0.1:10911"))
    found = gold([*labelled(first, "east"), *second, *labelled(other.records(), "west")])
    assert shown(found, "broker_availability_daily", "cluster_label", "outages", "witnesses") == [
        ("east", 1, 2), ("west", 0, 1),
    ]  # fmt: skip
    assert {row["cluster_label"] for row in found.gold("incident")} == {"east"}
    assert shown(found, "name_server_label_daily", "namesrv", "cluster_label") == [
        ("ns-1_9876", "east"), ("ns-2_9876", "east"), ("other-1_9876", "west"),
    ]  # fmt: skip


def two_days() -> list[Record]:
    """A name server that is started with a label on the second day; broker-a is away at midnight, and later again."""
    day, broker = Day(1, "ns"), broker_a()
    (server,) = day.servers
    restart = DAY_MS + 6 * HOUR

    def start(now: int) -> None:
        server.stop(now)
        server.start(now + 500)
        server.register(now + 1_000, broker)

    day.register(1_000, broker)
    day.lose(DAY_MS - TEN, [broker], "expired")
    day.register(DAY_MS + TEN, broker)
    day.at(restart, start)
    day.lose(DAY_MS + 20 * HOUR, [broker], "channel_closed")
    day.register(DAY_MS + 20 * HOUR + TEN, broker)
    for minute in range(24 * 60, 2 * 24 * 60):
        day.at(minute * MINUTE, partial(_alive, server))
    records = day.records()
    boots = sorted({record["boot"] for record in records})
    return [
        *(record for record in records if record["boot"] == boots[0]),
        *labelled((record for record in records if record["boot"] == boots[1]), "east"),
    ]


def _alive(server: NameServer, now: int) -> None:
    server.write(now, [{"kind": "server_alive", "connections": 3}])


def test_a_label_counts_from_its_day_on_and_takes_along_what_the_day_remembers():
    """The states of the second day have the label, also those that began before the name server had it."""
    found = gold(two_days())
    assert shown(found, "broker_availability_daily", "day", "cluster_label", "down_ms", "unknown_ms") == [
        ("2026-03-01", None, TEN, 0),
        ("2026-03-02", "east", 2 * TEN, 1_000),
    ]
    causes = "cluster_label", "kind", "from_ts", "cause"
    assert sorted(shown(found, "incident", *causes), key=str) == sorted([
        (None, "broker_away", MARCH + DAY_MS - TEN, "expired"),
        ("east", "broker_away", MARCH + DAY_MS - TEN, "expired"),
        ("east", "broker_away", MARCH + DAY_MS + 20 * HOUR, "channel_closed"),
        ("east", "name_server_down", MARCH + DAY_MS + 6 * HOUR, "stopped"),
    ], key=str)  # fmt: skip


def test_tables_do_not_depend_on_the_runs_in_which_a_label_came():
    """The first run makes a warehouse without labels, as earlier versions made it; the next one goes on with it."""
    records = two_days()
    at_once = gold(records)
    middle = MARCH + DAY_MS + 3 * HOUR
    late = gold(
        [each for each in records if each["ts"] < middle], [each for each in records if each["ts"] >= middle]
    )
    for table in ("broker_state_daily", "topic_availability_daily", "name_server_label_daily", "incident"):
        assert late.gold(table) == at_once.gold(table), table
