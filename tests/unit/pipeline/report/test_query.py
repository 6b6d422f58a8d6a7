"""A whole report out of a warehouse of Parquet files."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.text import render_json, render_text
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.file_warehouse import FileWarehouse, file_warehouse, tables_at


@pytest.fixture
def warehouse() -> FileWarehouse:
    return file_warehouse()


def test_every_section_has_something_to_say(warehouse: FileWarehouse):
    report = collect_report(warehouse.tables, ReportQuery(tuple(SECTIONS)))
    assert [section.name for section in report.sections] == list(SECTIONS)
    assert all(section.rows for section in report.sections)
    assert {each["namesrv"] for each in report.name_servers} == {
        name for _, name, _ in warehouse.law.servers()
    }
    assert render_text(report).count("\n") > 100
    assert '"sections"' in render_json(report)


def test_days_can_be_chosen(warehouse: FileWarehouse):
    day = sorted({row["day"] for row in warehouse.rows("broker_availability_daily")})[1]
    found = collect_report(warehouse.tables, ReportQuery(["availability"], day, day))
    assert found.days == (day, day)
    (section,) = found.sections
    assert {row["day"] for row in section.plot} == {day}


def test_the_timeline_has_the_states_of_the_least_available_brokers_alone(warehouse: FileWarehouse):
    (section,) = collect_report(warehouse.tables, ReportQuery(["availability"])).sections
    assert section.total == len(section.rows) > 40
    brokers = {(row["cluster"], row["broker_name"], row["broker_id"]) for row in section.plot}
    assert brokers == {(row["cluster"], row["broker_name"], row["broker_id"]) for row in section.rows[:40]}
    states = [row["state"] for row in section.plot]
    assert states == sorted(states, key=["down", "unknown", "unregistered", "up"].index)


def few_tables(folder: Path, **rows: list[dict[str, Any]]) -> str:
    """A warehouse with the rows that matter to one test."""
    duck = Duck()
    for name, some in rows.items():
        columns = [column.name for column in GOLD[name].columns]
        for row in random.sample(some, len(some)):
            marks = ", ".join("?" for _ in columns)
            duck._connection.execute(
                f"INSERT INTO stored_{name} VALUES ({marks})", [row.get(column) for column in columns]
            )
    return duck.write_warehouse(folder)


def test_where_nobody_is_left_capacity_is_what_each_broker_name_had_when_it_went(tmp_path: Path):
    row = {
        "topic": "t", "read_queue_nums": 4, "write_queue_nums": 8, "valid_from": 1, "valid_to_day": "2026-03-01",
    }  # fmt: skip
    uri = few_tables(
        tmp_path,
        topic_route=[
            {**row, "namesrv": "ns-1", "broker_name": "b0", "valid_to": 50, "topic": "gone before"},
            {**row, "namesrv": "ns-1", "broker_name": "b0", "valid_to": 100},
            {**row, "namesrv": "ns-1", "broker_name": "b0", "valid_to": 100, "topic": "u"},
            {**row, "namesrv": "ns-2", "broker_name": "b0", "valid_to": 90},
            {**row, "namesrv": "ns-1", "broker_name": "b1", "valid_to": 70, "valid_to_day": "2026-03-02"},
        ],
        broker_group_history=[
            {"namesrv": "ns-1", "broker_name": "b0", "cluster": "before", "valid_from": 1},
            {"namesrv": "ns-1", "broker_name": "b0", "cluster": "c", "valid_from": 2},
        ],
    )
    b0 = {
        "cluster": "c", "broker_name": "b0", "topics": 2, "read_queues": 8, "write_queues": 16, "until": 100,
        "cluster_label": None,
    }  # fmt: skip
    b1 = {
        **b0,
        "cluster": None,
        "broker_name": "b1",
        "topics": 1,
        "read_queues": 4,
        "write_queues": 8,
        "until": 70,
    }
    for last_day, wanted in ((None, [b0, b1]), ("2026-03-01", [b0])):
        found = collect_report(tables_at(uri), ReportQuery(["capacity"], None, last_day))
        assert found.sections[0].rows == wanted


def changes_of(law_rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """(hour, cause) -> records and rows, by a plain loop."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in law_rows:
        key = (row["at_ts"] - row["at_ts"] % 3_600_000, row["cause"] or row["action"])
        records, items = found.get(key, (0, 0))
        found[key] = (records + 1, items + row["items"])
    return found


def groups(warehouse: FileWarehouse, **args: int) -> list[Mapping[str, Any]]:
    usual = {"slice_ms": 3_600_000, "offset_ms": 0, "per_slice": 10**6, "named_records": 10**6}
    days = {"first_day": None, "last_day": None, "label": None}
    return list(warehouse.tables.ask("change_groups", {**days, **usual, **args}).rows)


def test_groups_of_changes_have_every_record_once(warehouse: FileWarehouse):
    wanted = changes_of(warehouse.rows("change_log"))
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in groups(warehouse):
        records, items = found.get((row["slice"], row["cause"]), (0, 0))
        found[row["slice"], row["cause"]] = (records + row["records"], items + row["items"])
        assert row["cause_items"] == wanted[row["slice"], row["cause"]][1]
    assert found == wanted
    by_time = warehouse.tables.ask(
        "changes_by_time",
        {"first_day": None, "last_day": None, "label": None, "slice_ms": 3_600_000, "offset_ms": 0},
    )
    assert {(row["slice"], row["cause"]): (row["records"], row["items"]) for row in by_time.rows} == wanted


def test_of_each_hour_every_cause_is_listed_before_a_second_row_of_one(warehouse: FileWarehouse):
    wanted = changes_of(warehouse.rows("change_log"))
    all_groups = groups(warehouse)
    most = max(len([key for key in wanted if key[0] == hour]) for hour, _ in wanted)
    few = groups(warehouse, per_slice=most)
    assert {(row["slice"], row["cause"]) for row in few} == set(wanted)
    assert len(few) < len(all_groups)
    counts = {hour: len([row for row in all_groups if row["slice"] == hour]) for hour, _ in wanted}
    assert all(row["slice_groups"] == counts[row["slice"]] for row in few)
    hours = [row["slice"] for row in few]
    assert hours == sorted(hours, reverse=True)


def test_a_group_names_its_topics_or_says_how_many_rows_it_does_not_name(warehouse: FileWarehouse):
    records = warehouse.rows("change_log")
    for row in groups(warehouse):
        of_group = [
            one
            for one in records
            if one["at_ts"] - one["at_ts"] % 3_600_000 == row["slice"]
            and (one["cause"] or one["action"], one["broker_name"]) == (row["cause"], row["broker_name"])
            and (None if one["peer"] is None else one["peer"].rpartition(":")[0]) == row["host"]
        ]
        assert (row["topics"] or []) == sorted({one["topic"] for one in of_group if one["topic"] is not None})
        unnamed = [one["items"] for one in of_group if one["kind"] == "topic_queues" and one["topic"] is None]
        assert row["unnamed"] == sum(unnamed)
        assert row["name_servers"] == sorted({one["namesrv"] for one in of_group})
        assert (row["first_ts"], row["last_ts"]) == (
            min(one["at_ts"] for one in of_group), max(one["at_ts"] for one in of_group),
        )  # fmt: skip
    assert all(row["topics"] is None for row in groups(warehouse, named_records=0))


def test_slices_begin_at_hours_of_the_zone(warehouse: FileWarehouse):
    half = 1_800_000
    assert {row["slice"] % 3_600_000 for row in groups(warehouse, offset_ms=half)} == {half}
