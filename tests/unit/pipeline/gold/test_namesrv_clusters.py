"""Two clusters in one warehouse, with equal names of everything: only name servers of one are compared."""

import json
import random
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from namekeeper.common.namesrv_clusters import SHARED_MS, namesrv_clusters
from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.clusters import find_clusters
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.plan import BEGINNING, DAY_MS, FOREVER, Window, day_at
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from tests.support.history.histories import MARCH, History, Record, histories
from tests.support.history.labels import labelled
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of

DRIFTS = ("view_drift_broker", "view_drift_topic")
LABELLED = [name for name, table in GOLD.items() if "cluster_label" in table.key]
"""Tables whose rows are of one cluster of name servers."""
WEST, EAST = "w5", "w6"
"""Histories with disagreements about brokers and topics."""


def renamed(each: History, prefix: str) -> list[Record]:
    """The records of a history with name servers and addresses of their own, and with names that all have."""
    text = json.dumps(records_of([each]))
    for namesrv in each.records:
        text = text.replace(json.dumps(namesrv), json.dumps(f"{prefix}{namesrv.partition('.')[2]}"))
    found: list[Record] = json.loads(text.replace('"10.0.', f'"10.{ord(prefix[0])}.').replace(each.name, "c"))
    return found


def gold_of(records: Iterable[Record], tables: Iterable[str] = DRIFTS) -> dict[str, list[dict[str, Any]]]:
    duck = Duck()
    make_gold(duck, duck.load(records))
    return {name: [_plain(name, row) for row in duck.gold(name)] for name in tables}


def _plain(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row; a change that moved to the bound of a day in one run and not in another is the same one."""
    left_out = ("from_ts", "from_namesrv", "to_ts", "to_namesrv") if table in DRIFTS else ()
    return {name: row[name] for name in row if name not in left_out}


def starts(names: Iterable[str]) -> list[dict[str, Any]]:
    """Rows of `name_server`: name servers without a label."""
    return [{"namesrv": namesrv, "from_ts": 0, "cluster_label": None} for namesrv in names]


def _order(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


@pytest.fixture(scope="module")
def clusters() -> tuple[list[Record], list[Record]]:
    named = {each.name: each for each in histories(11, 7)}
    return renamed(named[WEST], "west"), renamed(named[EAST], "east")


def test_a_disagreement_is_one_of_a_cluster(clusters):
    west, east = map(gold_of, clusters)
    both = gold_of([*clusters[0], *clusters[1]])
    for name in DRIFTS:
        assert west[name]
        assert east[name]
        assert sorted(both[name], key=_order) == sorted([*west[name], *east[name]], key=_order)


def test_labels_part_clusters_with_equal_addresses(clusters):
    """Without them, the brokers of one cluster are missing at the name servers of the other, and an outage in one is
    hidden by the other."""
    west = [*clusters[0]]
    east = json.loads(json.dumps(clusters[1]).replace('"10.101.', '"10.119.'))
    histories = {"west": west, "east": east}
    alone = [
        {
            name: [{**row, "cluster_label": label} for row in rows]
            for name, rows in gold_of(records, LABELLED).items()
        }
        for label, records in histories.items()
    ]
    both = gold_of(
        [row for label, records in histories.items() for row in labelled(records, label)], LABELLED
    )
    for name in LABELLED:
        assert all(each[name] for each in alone), name
        assert sorted(both[name], key=_order) == sorted([*alone[0][name], *alone[1][name]], key=_order), name


@pytest.mark.parametrize("seed", range(5))
def test_the_clusters_of_a_day_are_those_of_the_function(seed: int):
    rng = random.Random(seed)
    first = day_at(MARCH, "UTC").from_ts
    rows = []
    for _ in range(12):
        begin = first + rng.randrange(-9 * DAY_MS, 4 * DAY_MS)
        rows.append(
            (rng.choice("abcdef"), f"10.0.0.{rng.randrange(9)}:1", begin, begin + rng.randrange(2 * DAY_MS))
        )
    duck = Duck()
    duck.put(
        "registered_broker", "namesrv string, broker_addr string, valid_from bigint, valid_to bigint", rows
    )
    find_clusters(duck, gold_graph(), Window(first, first + 4 * DAY_MS), {}, starts("abcdef"))
    periods = duck.rows("namesrv_cluster")
    for day in range(first, first + 4 * DAY_MS, DAY_MS):
        addrs: dict[str, set[str]] = {}
        for namesrv, addr, begin, end in rows:
            if begin < day + DAY_MS and end > day - SHARED_MS:
                addrs.setdefault(namesrv, set()).add(addr)
        wanted = {namesrv: min(members) for namesrv, members in namesrv_clusters(addrs).items()}
        found = {
            row["namesrv"]: row["namesrv_cluster"]
            for row in periods
            if row["from_ts"] <= day < row["to_ts"] and row["namesrv"] in addrs
        }
        assert found == wanted


def test_a_broker_that_moves_to_another_cluster_joins_them_while_both_remember_it():
    day = day_at(MARCH, "UTC").from_ts
    duck = Duck()
    rows = [("a", "x:1", 0, day), ("b", "x:1", day + 6 * DAY_MS, FOREVER), ("b", "y:1", 0, FOREVER)]
    duck.put(
        "registered_broker", "namesrv string, broker_addr string, valid_from bigint, valid_to bigint", rows
    )
    find_clusters(duck, gold_graph(), Window(day, day + 9 * DAY_MS), {}, starts("ab"))
    assert sorted(map(tuple, (row.values() for row in duck.rows("namesrv_cluster")))) == [
        ("a", "a", "", BEGINNING, FOREVER),
        ("b", "a", "", day + 6 * DAY_MS, day + 7 * DAY_MS),
        ("b", "b", "", BEGINNING, day + 6 * DAY_MS),
        ("b", "b", "", day + 7 * DAY_MS, FOREVER),
    ]


def test_a_label_counts_from_its_day_on():
    day = day_at(MARCH, "UTC").from_ts
    duck = Duck()
    rows = [("a", "x:1", 0, FOREVER), ("b", "x:1", 0, FOREVER)]
    duck.put(
        "registered_broker", "namesrv string, broker_addr string, valid_from bigint, valid_to bigint", rows
    )
    labels = [
        {"namesrv": "b", "from_ts": day + DAY_MS, "cluster_label": "east"},
        {"namesrv": "a", "from_ts": day + 2 * DAY_MS, "cluster_label": "west"},
        {"namesrv": "a", "from_ts": 0, "cluster_label": None},
        {"namesrv": "a", "from_ts": day + 4 * DAY_MS + 1, "cluster_label": None},
    ]
    find_clusters(duck, gold_graph(), Window(day, day + 6 * DAY_MS), {}, labels)
    assert sorted(map(tuple, (row.values() for row in duck.rows("namesrv_cluster")))) == [
        ("a", "a", "east", BEGINNING, day + 2 * DAY_MS),
        ("a", "a", "east", day + 4 * DAY_MS, FOREVER),
        ("a", "a", "west", day + 2 * DAY_MS, day + 4 * DAY_MS),
        ("b", "a", "east", BEGINNING, day + 2 * DAY_MS),
        ("b", "a", "east", day + 4 * DAY_MS, FOREVER),
        ("b", "b", "east", day + 2 * DAY_MS, day + 4 * DAY_MS),
    ]


def test_the_labels_of_name_servers_are_those_of_their_starts():
    duck = Duck()
    rows = [
        ("a", 1, 10, "u", None), ("a", 2, 20, "u", "east"), ("a", 3, 30, "u", "east"), ("a", 4, 40, None, None),
        ("a", 5, 50, "u", "west"), ("b", 1, 10, None, None),
    ]  # fmt: skip
    duck.put(
        "computed_name_server_session",
        "namesrv string, boot bigint, first_ts bigint, uuid string, cluster_label string", rows,
    )  # fmt: skip
    make_chain(duck, [gold_graph()["name_server"]], {})
    found = sorted(tuple(row.values()) for row in duck.rows("name_server"))
    assert found == [("a", 10, None), ("a", 20, "east"), ("a", 50, "west"), ("b", 10, None)]
