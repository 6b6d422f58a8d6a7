"""The law of incidents: those that journals show, and those of gold's table, are the same (docs/decisions/0013).

Over histories with losses, crashes, restarts and clocks that jump.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from msgspec import structs

from namekeeper.answers.incidents.incident import FoundIncident, incidents, incidents_of_cluster
from namekeeper.drift.compared import compared
from namekeeper.drift.disagreement import disagreements
from namekeeper.drift.incidents import drift_of_cluster
from namekeeper.history.history import History
from namekeeper.pipeline.gold import steps
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import READ, Record, histories
from tests.support.history.histories import History as WrittenHistory
from tests.support.history.observed import FIRST, MINUTE, ORDINARY, observed
from tests.support.journal.history import history_of
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import read
from tests.support.pipeline.shadows import TOGETHER
from tests.support.pipeline.written_histories import WRITTEN_HISTORIES

KINDS = {
    "broker_away", "mass_disconnect", "broker_unregistered", "permission_wiped", "topic_unwritable", "topic_deleted",
    "name_server_down",
}  # fmt: skip


LIVE_ONLY = {"planned", "broker_ids", "planned_topics", "topic_names", "deviation", "deviations", "drift"}
"""What is in no warehouse: ids of brokers, and what an expected state, its windows and drift add."""
CAUSES = {"broker_missing", "topic_missing", "permission_differs", "queues_differ"}
GOLD_ONLY = {"lookups", "languages"}
"""What gold alone has of disagreements."""
OF_ENTRIES = {"order_differs", "kv_differs"}
"""Causes of disagreements about KV entries, of which gold has no tables."""


def live(records: Sequence[Record]) -> list[History]:
    """The histories of the name servers with these records."""
    of_each: dict[str, list[Record]] = {}
    for record in records:
        of_each.setdefault(record["namesrv"], []).append(record)
    return [history_of(namesrv, read(some)) for namesrv, some in of_each.items()]


def of_gold(records: Sequence[Record]) -> list[Mapping[str, Any]]:
    """The rows of gold's table, but disagreements."""
    duck = Duck()
    make_gold(duck, duck.load(records))
    rows = duck.gold("incident")
    return [
        {name: value for name, value in row.items() if name not in ("is_open", "cluster_label")}
        for row in rows
        if row["kind"] != "drift" and row["is_open"] == (row["to_ts"] is None)
    ]


def drift_of_gold(records: Sequence[Record]) -> list[Mapping[str, Any]]:
    """The disagreements in gold's table."""
    duck = Duck()
    make_gold(duck, duck.load(records))
    return [
        {name: value for name, value in row.items() if name not in {"is_open", "cluster_label", *GOLD_ONLY}}
        for row in duck.gold("incident")
        if row["kind"] == "drift" and row["is_open"] == (row["to_ts"] is None)
    ]


def drift_of(found: Iterable[FoundIncident]) -> list[Mapping[str, Any]]:
    """The same of journals: their `topics` are those that can't be written to, so the names are counted."""
    return [
        {name: value for name, value in structs.asdict(each).items() if name not in LIVE_ONLY | GOLD_ONLY}
        | {"topics": len(each.topic_names), "first_topic": min(each.topic_names, default=None)}
        for each in found
        if each.cause not in OF_ENTRIES
    ]


def rows_of(found: Sequence[FoundIncident]) -> list[Mapping[str, Any]]:
    return [
        {name: value for name, value in structs.asdict(each).items() if name not in LIVE_ONLY}
        for each in found
    ]


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(
        rows,
        key=lambda row: (
            row["from_ts"], row["kind"], row["cluster"] or "", row["subject"], row["cause"] or "",
        ),
    )  # fmt: skip


def records_of(seed: int, count: int, actions: int) -> list[Record]:
    return [record for each in histories(seed, count, actions=actions) for record in records_in(each)]


@pytest.mark.parametrize(
    ("seed", "count", "actions"),
    [(2, 24, 40), *(pytest.param(*row, marks=pytest.mark.long) for row in ((3, 40, 40), (4, 40, 40), (101, 2, 300)))],
)  # fmt: skip
def test_incidents_of_journals_are_those_of_gold(seed: int, count: int, actions: int):
    """Gold looks at all name servers of a warehouse is_joint."""
    records = records_of(seed, count, actions)
    wanted = in_order(of_gold(records))
    assert rows_of(incidents_of_cluster(live(records))) == wanted
    assert any(row["to_ts"] is None for row in wanted)
    assert len(KINDS & {row["kind"] for row in wanted}) >= 5
    assert {row["kind"] for row in wanted if row["to_window_ms"]} >= {"broker_away", "topic_unwritable"}


def test_every_kind_of_incident_is_that_of_gold():
    """Of days whose incidents are known."""
    records = [record for make in WRITTEN_HISTORIES for record in make().records]
    found = rows_of(incidents_of_cluster(live(records)))
    assert found == in_order(of_gold(records))
    assert {row["kind"] for row in found} == KINDS - {"mass_disconnect", "broker_unregistered"}


@pytest.mark.parametrize(
    ("seed", "count", "actions", "is_joint"),
    [(6, 8, 60, True), *(pytest.param(*row, marks=pytest.mark.long) for row in ((7, 40, 60, False), (8, 40, 40, False)))],
)  # fmt: skip
def test_disagreements_of_journals_are_those_of_gold(seed, count, actions, is_joint, monkeypatch):
    """Of two and three name servers, whose clocks are not corrected: journals can't.

    One gold of all worlds costs little more than one of a single world. In it a disagreement is only open if no other
    world has later records, which is true of the first seed: the others have one gold for each world.
    """
    monkeypatch.setattr(steps, "LEAST_SAMPLES", 1 << 40)
    worlds = [each for each in histories(seed, count, actions=actions) if len(each.records) > 1]
    wanted: list[Mapping[str, Any]] = []
    for some in [worlds] if is_joint else [[world] for world in worlds]:
        wanted += drift_of_gold([record for world in some for record in records_in(world)])
    for world in worlds:
        same_drift(records_in(world), [row for row in wanted if row["cluster"] == world.name], world.name)
    assert {row["cluster"] for row in wanted} <= {world.name for world in worlds}
    assert {len(each.records) for each in worlds} == {2, 3}
    assert {row["to_ts"] is None for row in wanted} == {True, False}
    assert {row["cause"] for row in wanted} == CAUSES
    assert any(len(row["name_servers"]) > 1 for row in wanted)
    assert any(row["to_window_ms"] for row in wanted)


def records_in(world: WrittenHistory) -> list[Record]:
    """The records of a history, in which half of the changes have a window as if an observer had recorded them."""
    return [
        {**record, "window_ms": record["ts"] % 4_000} if "cause" in record and record["ts"] % 2 else record
        for some in world.records.values()
        for record in some
    ]


def same_drift(records: Sequence[Record], of_gold: Sequence[Mapping[str, Any]], name: str) -> None:
    """The disagreements of gold have to be those of journals."""
    groups = compared(live(records), None)
    (cluster,) = groups.clusters
    found = drift_of_cluster(cluster, disagreements(cluster, groups.at), 0, limit=1_000)
    assert in_order(drift_of(found)) == in_order(of_gold), name


@pytest.fixture(scope="module")
def beside_a_shadow() -> list[tuple[list[Record], list[Record]]]:
    """The records of two and three name servers, the last of which is a shadow; and those of the others."""
    found = []
    for world in histories(6, 3, actions=60):
        *others, last = world.records
        if others:
            records = [
                {**record, "namesrv": "east.shadow"} if record["namesrv"] == last else record
                for record in records_in(world)
            ]
            found.append((records, [record for record in records if record["namesrv"] in others]))
    return found


def test_no_incident_of_gold_or_journals_is_about_a_shadow(beside_a_shadow, monkeypatch):
    """Gold looks at name servers of a cluster together, of which the shadow is none."""
    monkeypatch.setattr(steps, "LEAST_SAMPLES", 1 << 40)
    wanted: list[Mapping[str, Any]] = []
    for records, _ in beside_a_shadow:
        found = drift_of_gold(records)
        same_drift(records, found, "beside a shadow")
        of_world = in_order(of_gold(records))
        assert rows_of(incidents(live(records))) == of_world
        wanted += [*found, *of_world]
    assert "east.shadow" not in {name for row in wanted for name in row["name_servers"]}
    assert {row["to_ts"] is None for row in wanted} == {True, False}
    assert {row["kind"] for row in wanted} >= {"drift", "broker_away", "topic_unwritable", "name_server_down"}


@pytest.mark.long
def test_a_shadow_changes_nothing_that_name_servers_tell_together(beside_a_shadow):
    """Of other tables it has rows of its own."""
    for records, others in beside_a_shadow:
        with_shadow, without = Duck(), Duck()
        make_gold(with_shadow, with_shadow.load(records))
        make_gold(without, without.load(others))
        for table in TOGETHER:
            assert with_shadow.gold(table) == without.gold(table), table
        assert {row["namesrv"] for row in with_shadow.gold("capacity_daily") if row["topics"]} >= {
            "east.shadow"
        }


def of_observed() -> list[Record]:
    """A broker goes and comes back, and its topic is read-only for a while; of each the time is not exact."""
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.go(10 * MINUTE, 6_000)
    server.come(15 * MINUTE, 2_000)
    server.change_topics(20 * MINUTE, 4_000, orders=(4, 4, READ, 0))
    server.change_topics(22 * MINUTE, 3_000, orders=ORDINARY)
    server.end(30 * MINUTE)
    return [record for records in history.records.values() for record in records]


def test_an_incident_that_an_observer_saw_has_the_window_of_gold():
    records = of_observed()
    found = rows_of(incidents(live(records)))
    assert found == in_order(of_gold(records))
    assert [(row["kind"], row["from_window_ms"], row["to_window_ms"]) for row in found] == [
        ("broker_away", 6_000, 2_000), ("topic_unwritable", 4_000, 3_000),
    ]  # fmt: skip


def test_name_servers_without_a_common_broker_are_looked_at_one_by_one():
    """Also if one of them ends earlier: what is open there stays open."""
    some = [[record for records in each.records.values() for record in records] for each in histories(2, 2)]
    some[1] = json.loads(json.dumps(some[1]).replace('"10.0.', '"10.1.'))
    every = [live(records) for records in some]
    assert max(record["ts"] for record in some[0]) != max(record["ts"] for record in some[1])
    of_each = [each for one in every for each in incidents_of_cluster(one)]
    assert sorted(incidents([*every[0], *every[1]]), key=str) == sorted(of_each, key=str)
    assert len(of_each) > 10


def test_nothing_is_wrong_where_nothing_is_known():
    assert incidents([]) == incidents([History("ns-1")]) == []
