"""SQL for Spark, as DuckDB has it."""

import duckdb

from namekeeper.pipeline.duck_sql import MACROS, duck_ddl, duck_query


def test_quotes_parameters_and_comments():
    sql = "-- columns: a\nSELECT `key` FROM t WHERE `key` = :topic -- it's :not_a_parameter\n"
    query, used = duck_query(sql, {"topic": "x", "at": 5})
    assert query.split() == ["SELECT", '"key"', "FROM", "t", "WHERE", '"key"', "=", "$topic"]
    assert used == {"topic": "x"}


def test_types_of_columns():
    connection = duckdb.connect()
    ddl = "`a` bigint, `b` array<string>, `c` map<string,bigint>, `m` array<struct<broker_id:bigint,broker_addr:string>>"
    connection.execute(f"CREATE TABLE t ({duck_ddl(ddl)})")
    found = connection.execute("SELECT column_type FROM (DESCRIBE t)").fetchall()
    assert [row[0] for row in found] == [
        "BIGINT", "VARCHAR[]", "MAP(VARCHAR, BIGINT)", "STRUCT(broker_id BIGINT, broker_addr VARCHAR)[]",
    ]  # fmt: skip


def test_functions_of_spark():
    connection = duckdb.connect()
    for macro in MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    found = connection.execute(
        "SELECT sort_array(collect_set(x)), day_of(1772323200000 + 82800000, 'Europe/Berlin')"
        " FROM (VALUES ('b'), (NULL), ('a'), ('b')) AS t(x)"
    ).fetchone()
    assert found == (["a", "b"], "2026-03-02")
    assert connection.execute("SELECT collect_set(x) FROM (SELECT NULL AS x)").fetchone() == ([],)
    found = connection.execute(
        "SELECT concat('a', 1), concat('a', NULL), concat('a', 'b', NULL, 'c', 'd', 'e', 'f')"
    )
    assert found.fetchone() == ("a1", None, None)
