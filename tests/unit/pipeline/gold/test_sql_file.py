"""The header of a query agrees with the query."""

import json
import re

import duckdb
import pytest

from namekeeper.pipeline.gold.chains import STARTS_A_RUN
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.sql_file import SqlFileError, View, names_read, parse_view

GOOD = """\
-- Brokers that are there. Second
-- line.
-- columns: broker_name,
--   `seen`
-- reads: broker, cluster
-- kept: two views read it,
--   and it is small
SELECT broker_name, seen FROM broker JOIN cluster
"""


def test_a_header_is_read():
    assert parse_view("found", "state", GOOD) == View(
        "found",
        "state",
        "SELECT broker_name, seen FROM broker JOIN cluster\n",
        "Brokers that are there. Second line.",
        ("broker_name", "seen"),
        frozenset({"broker", "cluster"}),
        kept="two views read it, and it is small",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("broker, cluster", "broker", "only in the header: nothing; only after FROM or JOIN: cluster"),
        ("broker, cluster", "broker, cluster, zone", "only in the header: zone; only after FROM or JOIN: nothing"),
        ("-- reads: broker, cluster\n", "", "no line '-- reads: ...'"),
        ("-- columns: broker_name,\n--   `seen`\n", "", "no line '-- columns: ...'"),
        ("-- Brokers that are there. Second\n-- line.\n", "", "does not say what a row is"),
        ("-- kept:", "-- reads: broker\n-- kept:", "has 'reads' twice"),
        ("-- kept:", "-- not kept: large\n-- kept:", "says 'kept' and 'not kept'"),
        ("-- kept:", "-- Kept,\n-- kept:", "a sentence stands after the fields of the header: 'Kept,'"),
    ],
)  # fmt: skip
def test_a_header_that_is_wrong_is_an_error_that_names_the_file(old: str, new: str, message: str):
    assert GOOD.count(old) == 1
    with pytest.raises(SqlFileError, match=re.escape(message)) as error:
        parse_view("found", "state", GOOD.replace(old, new))
    assert str(error.value).startswith("found.sql: ")


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1", set()),
        ("SELECT * FROM a x JOIN b ON x.c = b.c LEFT JOIN d ON true", {"a", "b", "d"}),
        ("WITH a AS (SELECT * FROM b), c AS (SELECT * FROM a) SELECT * FROM c CROSS JOIN d", {"b", "d"}),
        ("SELECT * FROM (SELECT * FROM a) AS b", {"a"}),
        ("SELECT a IS NOT DISTINCT FROM b FROM c", {"c"}),
        ("SELECT 'FROM a' FROM b -- FROM c", {"b"}),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM a) UNION SELECT 2 FROM\n  b", {"a", "b"}),
    ],
)
def test_names_behind_from_and_join(sql: str, names: set[str]):
    assert names_read(sql) == names


def names_parsed(sql: str) -> set[str]:
    """Tables that a query reads, as the parser of DuckDB finds them."""
    sql = re.sub(r"--.*", "", sql).replace("`", '"').replace(STARTS_A_RUN, "true")
    sql = re.sub(r":[a-z_]+", "0", sql)
    found = duckdb.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    tree = json.loads(found[0])
    assert not tree["error"], tree
    tables: set[str] = set()
    ctes: set[str] = set()

    def walk(node: object) -> None:
        if isinstance(node, list):
            for each in node:
                walk(each)
        elif isinstance(node, dict):
            if node.get("type") == "BASE_TABLE":
                tables.add(node["table_name"])
            ctes.update(entry["key"] for entry in (node.get("cte_map") or {}).get("map", []))
            walk(list(node.values()))

    walk(tree)
    return tables - ctes


@pytest.mark.parametrize("is_first", [True, False])
def test_a_real_parser_finds_the_same_names(is_first: bool):
    views = list(gold_graph(is_first=is_first))
    assert {view.name: set(view.reads) for view in views} == {
        view.name: names_parsed(view.sql) for view in views
    }
