"""Answers on Spark are those on DuckDB, which tests/unit/pipeline/answers holds against the oracle."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from namekeeper.pipeline.answers import warehouse
from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.answers.queries import query_names
from namekeeper.pipeline.answers.spark_tables import SparkTables
from namekeeper.pipeline.answers.topics import held_rows
from namekeeper.pipeline.entry.ddl import ddl_of_views
from namekeeper.pipeline.entry.views import ENTRY_VIEWS, VIEWS, sql_of_view
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.gold.sql_file import names_read
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from tests.spark.lawful import WORLDS, Lawful
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]

IS_THOROUGH = WORLDS >= 24
"""As many worlds as without a setting, or more."""
READ = ("topic_route", "incident", "broker_minute")
"""Tables whose readable views are compared."""
NASTY = "it's; DROP TABLE --"


def instant(lawful: Lawful) -> int:
    """An instant at which some name servers had the nasty topic."""
    rows = [
        row for row in lawful.rows("topic_route") if row["topic"] == NASTY and row["valid_to"] is not None
    ]
    longest = max(rows, key=lambda row: row["valid_to"] - row["valid_from"])
    return (longest["valid_from"] + longest["valid_to"]) // 2


@pytest.mark.parametrize("bounded", [False, True])
def test_every_query_has_the_same_rows_in_the_same_order_on_both_engines(lawful: Lawful, bounded: bool):
    """In CI each query is asked with bounds or without; in the nightly run, which has more worlds, in both ways."""
    names = list(query_names()) if IS_THOROUGH else list(query_names())[int(bounded) :: 2]
    at = instant(lawful)
    days = sorted({row["day"] for row in lawful.rows("broker_availability_daily")})
    args = {
        "namesrv": lawful.rows("topic_route")[0]["namesrv"] if bounded else None,
        "topic": NASTY, "at": at, "since": at - 86_400_000, "until": at, "least_ms": 1, "brokers": 40, "zone": "UTC",
        "name": NASTY, "slice_ms": 3_600_000, "offset_ms": 0, "per_slice": 10, "named_records": 100,
        "first_day": days[1] if bounded else None, "last_day": days[2] if bounded else None,
    }  # fmt: skip
    spark, duck = SparkTables(lawful.spark, lawful.tables), DuckTables(lawful.tables)
    found = {name: spark.ask(name, args) for name in names}
    assert found == {name: duck.ask(name, args) for name in names}
    if not bounded:
        # The nasty topic may have neither an order nor a mapping; the name servers have neither access rules nor labels.
        empty = {name for name in names if not found[name].rows}
        assert empty <= {
            "kv_at", "recorded_topic_mapping", "refused_request", "judged_request", "denied_request", "topic_mapping_at",
            "labelled_name_server",
        }  # fmt: skip


def test_a_mapping_is_the_same_on_both_engines(lawful: Lawful):
    row = lawful.rows("topic_mapping_history")[0]
    args = {"topic": row["topic"], "at": row["valid_from"], "namesrv": None}
    found = SparkTables(lawful.spark, lawful.tables).ask("topic_mapping_at", args)
    assert found == DuckTables(lawful.tables).ask("topic_mapping_at", args)
    assert row["mapping"] in {each["mapping"] for each in found.rows}


def test_all_that_a_name_server_held_is_the_same_on_both_engines(lawful: Lawful):
    at, row = instant(lawful), lawful.rows("topic_route")[0]
    found = held_rows(SparkTables(lawful.spark, lawful.tables), at, row["namesrv"])
    assert found == held_rows(DuckTables(lawful.tables), at, row["namesrv"])
    assert len(found) == 1


def test_incidents_are_those_that_duckdb_computes(lawful: Lawful):
    duck = Duck()
    make_gold(duck, duck.load(records_of(lawful.law.histories)))
    for name in ("incident", "topic_outage_daily"):
        found = sorted(lawful.rows(name), key=lambda row: [str(row[key]) for key in GOLD[name].key])
        assert (
            found == sorted(duck.gold(name), key=lambda row: [str(row[key]) for key in GOLD[name].key]) != []
        )


def test_a_limit_cuts_the_rows_and_not_the_total(lawful: Lawful):
    args = {"first_day": None, "last_day": None}
    spark, duck = SparkTables(lawful.spark, lawful.tables), DuckTables(lawful.tables)
    found = spark.ask("flaps", args, limit=3)
    assert found == duck.ask("flaps", args, limit=3)
    assert len(found.rows) == 3 < found.total


def row_of_view(row: Iterable[object]) -> str:
    """A row with its times as seconds: Spark gives them without a zone."""
    return repr([each.timestamp() if isinstance(each, datetime) else each for each in row])


@pytest.fixture
def no_views(lawful: Lawful) -> Iterator[None]:
    """Removes the views behind a test: others share the session."""
    yield
    for name in VIEWS:
        lawful.spark.catalog.dropTempView(name)


@pytest.mark.usefixtures("no_views")
def test_views_have_the_same_rows_on_both_engines_and_comments_on_spark(lawful: Lawful):
    spark, duck = SparkTables(lawful.spark, lawful.tables), DuckTables(lawful.tables)
    spark.create_entry_views()
    spark.create_readable_views(*([] if IS_THOROUGH else READ))
    for name in (*ENTRY_VIEWS, *(f"readable_{table}" for table in READ)):
        found = sorted(map(row_of_view, lawful.spark.table(name).collect()))
        assert found == sorted(map(row_of_view, duck.select(f"FROM {name}", {}))) != []
        described = [tuple(row) for row in lawful.spark.sql(f"DESCRIBE {name}").collect()]
        assert described == [tuple(column) for column in VIEWS[name].columns]
    with pytest.raises(WarehouseError, match="there is no table 'quarantine' with times or days"):
        spark.create_readable_views("quarantine")


@pytest.mark.usefixtures("no_views")
def test_printed_statements_make_the_same_views_in_a_catalog_whatever_the_zone_of_a_session(
    lawful: Lawful, tmp_path: Path
):
    """The trials of a catalog make all views."""
    spark, names = lawful.spark, ("incidents", "dim_day", "day_status", "readable_topic_route")
    SparkTables(spark, lawful.tables).create_entry_views()
    SparkTables(spark, lawful.tables).create_readable_views("topic_route")
    expected = {name: sorted(map(row_of_view, spark.table(name).collect())) for name in names}
    read = {table for name in names for table in names_read(sql_of_view(name))} & GOLD.keys()
    spark.sql(f"CREATE DATABASE statements LOCATION '{tmp_path}'")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for table in read:
            warehouse.table(spark, lawful.tables, table).write.saveAsTable(f"statements.{table}")
        for namespace in ("statements", None):
            for statement in ddl_of_views(
                names, "spark_catalog.statements", lawful.tables.report_time_zone, namespace
            ):
                spark.sql(statement)
            for name in names:
                view = f"statements.{name}" if namespace else name
                assert sorted(map(row_of_view, spark.table(view).collect())) == expected[name] != []
                described = [tuple(row) for row in spark.sql(f"DESCRIBE {view}").collect()]
                assert described == [tuple(column) for column in VIEWS[name].columns]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.sql("DROP DATABASE statements CASCADE")


def test_a_dataframe_to_go_on_from(lawful: Lawful):
    frame = SparkTables(lawful.spark, lawful.uri).frame(
        "changes", {"first_day": None, "last_day": None, "topic": NASTY}
    )
    assert {row["topic"] for row in frame.select("topic").distinct().collect()} == {NASTY}


def test_a_table_that_does_not_exist_and_a_place_without_a_warehouse(lawful: Lawful, tmp_path):
    with pytest.raises(WarehouseError, match="there is no table 'x'"):
        warehouse.table(lawful.spark, lawful.tables, "x")
    with pytest.raises(WarehouseError, match="is no warehouse"):
        SparkTables(lawful.spark, str(tmp_path))
