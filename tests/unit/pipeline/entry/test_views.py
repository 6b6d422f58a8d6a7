"""The entry views on DuckDB, against the tables that they read."""

import hashlib
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from namekeeper.pipeline.entry.readable import READABLE_VIEWS
from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.plan import Window, days_between
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import DataFile, Manifest, commit_manifest
from namekeeper.pipeline.table import names_in
from namekeeper.pipeline.units import unit_of
from tests.support.pipeline.file_warehouse import FileWarehouse, file_warehouse, tables_at

DUCK_TYPES = {
    "array<bigint>": "BIGINT[]",
    "array<string>": "VARCHAR[]",
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "double": "DOUBLE",
    "int": "INTEGER",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}
HOUR = 3_600_000
DAYS = {"day", "valid_to_day"}
TIMES = {
    "at_ts", "began_at", "first_at", "first_minute", "first_ts", "from_ts", "hour", "knows_up_to", "last_at",
    "last_minute", "last_seen", "last_ts", "minute", "previous_alive_ts", "to_ts", "ts", "unknown_from",
    "unknown_to", "valid_from", "valid_to",
}  # fmt: skip


@pytest.fixture
def warehouse() -> FileWarehouse:
    """A warehouse of made-up name servers."""
    return file_warehouse()


def rows_of(warehouse: FileWarehouse, sql: str, **args: str) -> list[dict[str, Any]]:
    found = warehouse.tables.select(sql, args)
    return [dict(zip(found.columns, row, strict=True)) for row in found]


def ms(time: datetime) -> int:
    return round(time.timestamp() * 1_000)


def test_views_are_described_and_have_names_of_their_own():
    every = [*GOLD.values(), *FACTS.values(), *ENTRY_VIEWS.values()]
    names = {*GOLD, *FACTS} | {name for table in every for name in names_in(table)}
    assert names.isdisjoint(ENTRY_VIEWS)
    for view in ENTRY_VIEWS.values():
        assert view.meaning.endswith(".")
        assert set(view.key) <= set(names_in(view))
        for column in view.columns:
            assert column.meaning.endswith("."), (view.name, column.name)
            assert bool(unit_of(column)) == (column.type in {"bigint", "int", "double"})


@pytest.mark.parametrize("name", ENTRY_VIEWS)
def test_a_view_has_the_columns_types_and_key_that_are_stated(warehouse: FileWarehouse, name: str):
    view = ENTRY_VIEWS[name]
    described = [(row["column_name"], row["column_type"]) for row in rows_of(warehouse, f"DESCRIBE {name}")]
    assert described == [(column.name, DUCK_TYPES[column.type]) for column in view.columns]
    (counted,) = rows_of(
        warehouse, f"SELECT count(*) AS n, count(DISTINCT ({', '.join(view.key)})) AS keys FROM {name}"
    )
    assert counted["n"] == counted["keys"] > 0


@pytest.mark.parametrize(
    ("zone", "first", "lengths"),
    [
        ("Europe/Berlin", "2026-03-28", [24, 23, 24]),
        ("Europe/Berlin", "2026-10-24", [24, 25, 24]),
        # Midnight is there twice, or not at all, and a day ends with half an hour.
        ("America/Havana", "2026-10-31", [24, 25, 24]),
        ("America/Havana", "2026-03-07", [24, 23, 24]),
        ("Australia/Lord_Howe", "2026-04-04", [24, 24.5, 24]),
        ("Asia/Kathmandu", "2026-03-28", [24, 24, 24]),
    ],
)
def test_days_are_those_of_the_zone_with_their_length(
    tmp_path: Path, zone: str, first: str, lengths: list[float]
):
    noon = ms(datetime.fromisoformat(first).replace(tzinfo=UTC)) + 12 * HOUR
    window = Window(noon, noon + 48 * HOUR)
    session = {"namesrv": "n", "boot": 1, "first_ts": window.from_ts, "knows_up_to": window.to_ts}
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.Table.from_pylist([session]), tmp_path / "tables" / "0.parquet")
    files = {"name_server_session": [DataFile("tables/0.parquet", 1)]}
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, zone, "", files))
    tables = tables_at(str(tmp_path))
    found = list(
        tables.select("SELECT day, from_ts, to_ts, starts_at, ends_at, length_ms FROM dim_day ORDER BY 1", {})
    )
    assert [row[:3] for row in found] == [
        (date.fromisoformat(day.day), day.from_ts, day.to_ts) for day in days_between(window, zone)
    ]
    assert [(ms(row[3]), ms(row[4])) for row in found] == [row[1:3] for row in found]
    assert [row[5] / HOUR for row in found] == lengths
    final = list(tables.select("SELECT is_final FROM day_status ORDER BY day", {}))
    assert final == [(True,), (True,), (False,)]


def test_a_day_is_final_where_the_journal_goes_beyond_it(warehouse: FileWarehouse):
    newest: dict[str, dict[str, Any]] = {}
    for each in warehouse.rows("name_server_session"):
        newest[each["namesrv"]] = max(each, newest.get(each["namesrv"], each), key=lambda row: row["boot"])
    found = rows_of(
        warehouse, "SELECT s.*, d.from_ts, d.to_ts FROM day_status s JOIN dim_day d ON d.day = s.day"
    )
    assert {each["namesrv"] for each in found} == {*newest}
    for each in found:
        knows_up_to = newest[each["namesrv"]]["knows_up_to"]
        assert ms(each["knows_up_to"]) == knows_up_to
        assert each["is_final"] == (knows_up_to >= each["to_ts"])
        assert 0 <= each["unknown_ms"] <= each["to_ts"] - each["from_ts"]
    unknown = sum(
        (newest[row["namesrv"]]["knows_up_to"] if row["valid_to"] is None else row["valid_to"])
        - row["valid_from"]
        for row in warehouse.rows("name_server_timeline")
        if row["state"] == "unknown"
    )
    assert sum(each["unknown_ms"] for each in found) == unknown > 0


def test_incidents_are_those_of_the_table_with_an_id_made_of_its_key(warehouse: FileWarehouse):
    key = ("kind", "from_ts", "cause", "cluster_label", "cluster", "subject")
    expected = {}
    for row in warehouse.rows("incident"):
        text = "\0".join("" if row[name] is None else str(row[name]) for name in key)
        expected[hashlib.md5(text.encode()).hexdigest()[:16]] = row
    found = {row["incident_id"]: row for row in rows_of(warehouse, "FROM incidents")}
    assert found.keys() == expected.keys()
    for id_, row in found.items():
        of_table = expected[id_]
        assert ms(row["began_at"]) == of_table["from_ts"]
        assert row["day"] == row["began_at"].date(), "the days of this warehouse are those of UTC"
        assert (row["ended_at"] and ms(row["ended_at"])) == of_table["to_ts"]
        same = set(row) & set(of_table) - {"cluster_label"}
        assert {name: row[name] for name in same} == {name: of_table[name] for name in same}


def test_routes_at_an_instant_are_those_of_route_at(warehouse: FileWarehouse):
    up_to = max(warehouse.rows("name_server_session"), key=lambda row: row["boot"])
    instants = {up_to["knows_up_to"], up_to["knows_up_to"] + 1}
    instants |= {row["valid_from"] for row in warehouse.rows("topic_route")[:2]}
    columns = [*names_in(GOLD["topic_route"])[:7], "from_cause", "from_peer"]
    for at in instants:
        knowing = {
            row["namesrv"]
            for row in warehouse.tables.ask("knowledge", {"at": at}).rows
            if row["knowledge"] != "not known yet"
        }
        answer = warehouse.tables.ask("topic_route_at", {"at": at, "topic": None}).rows
        found = rows_of(
            warehouse,
            f"SELECT {', '.join(columns)} FROM routes_at"
            " WHERE held_from <= timestamp_millis($at::BIGINT) AND timestamp_millis($at::BIGINT) < held_until"
            " ORDER BY namesrv, broker_name, topic",
            at=str(at),
        )
        assert found == [{name: row[name] for name in columns} for row in answer if row["namesrv"] in knowing]


def test_a_row_of_routes_at_ends_on_a_date_or_is_open(warehouse: FileWarehouse):
    ends = {(row["valid_to"] is None, row["valid_to_day"]) for row in warehouse.rows("topic_route")}
    found = rows_of(warehouse, "SELECT DISTINCT is_open, ended_on FROM routes_at")
    assert {(row["is_open"], str(row["ended_on"] or "open")) for row in found} == ends
    assert (True, "open") in ends


def test_dimensions_have_the_rows_that_the_views_join_with(warehouse: FileWarehouse):
    for dimension, keys in (
        ("dim_day", "day"),
        ("dim_cluster", "cluster_label, cluster"),
        ("dim_broker", "cluster_label, cluster, broker_name, broker_id"),
    ):
        (joined,) = rows_of(
            warehouse, f"SELECT count(*) AS n FROM availability JOIN {dimension} USING ({keys})"
        )
        assert joined["n"] == len(warehouse.rows("broker_availability_daily"))


def test_the_last_state_of_a_broker_is_that_of_its_last_row(warehouse: FileWarehouse):
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(warehouse.rows("broker_state_daily"), key=lambda row: row["valid_from"]):
        last[row["cluster"], row["broker_name"], row["broker_id"]] = row
    found = rows_of(warehouse, "FROM dim_broker")
    assert len(found) == len(last)
    for row in found:
        expected = last[row["cluster"], row["broker_name"], row["broker_id"]]
        assert (row["last_state"], ms(row["last_state_since"]), str(row["last_day"])) == (
            expected["state"],
            expected["began_at"],
            expected["day"],
        )


def test_readable_views_are_of_every_table_with_a_time_or_a_day():
    without = {"incomplete", "quarantine"}
    assert [*READABLE_VIEWS] == [f"readable_{name}" for name in (*GOLD, *FACTS) if name not in without]
    for view in READABLE_VIEWS.values():
        for column in view.columns:
            is_converted = column.type in {"date", "timestamp"}
            assert is_converted == (unit_of(column) == "" and column.name in TIMES | DAYS), (
                view.name,
                column,
            )
            assert not (is_converted and re.search(r"\bms\b|partition", column.meaning)), column


def test_a_readable_view_has_the_rows_of_its_table_with_milliseconds_and_dates(warehouse: FileWarehouse):
    for name, view in READABLE_VIEWS.items():
        converted = {column.name for column in view.columns if column.type in {"date", "timestamp"}}
        found = [
            {key: as_in_table(key, value) if key in converted else value for key, value in row.items()}
            for row in rows_of(warehouse, f"FROM {name}")
        ]
        assert sorted(map(repr, found)) == sorted(
            map(repr, rows_of(warehouse, f"FROM {name.removeprefix('readable_')}"))
        ), name


def as_in_table(name: str, value: date | datetime | None) -> int | str | None:
    """A value of a readable view as its table has it."""
    if isinstance(value, datetime):
        return ms(value)
    return "open" if value is None and name == "valid_to_day" else value and value.isoformat()


def test_the_day_of_an_open_row_is_null_and_no_word(warehouse: FileWarehouse):
    (found,) = rows_of(
        warehouse,
        "SELECT count(*) AS n, bool_and(valid_to IS NULL) AS is_open, typeof(any_value(valid_to_day)) AS type"
        " FROM READABLE_topic_route WHERE valid_to_day IS NULL",
    )
    assert found["n"] > 0
    assert (found["is_open"], found["type"]) == (True, "DATE")
