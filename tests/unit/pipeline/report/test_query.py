"""A whole report out of a warehouse of Parquet files."""

import random
from pathlib import Path
from typing import Any

import pytest

from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from namekeeper.pipeline.report.text import render_json, render_text
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.file_warehouse import FileWarehouse, tables_at


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> FileWarehouse:
    return FileWarehouse(tmp_path_factory.mktemp("warehouse"))


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
    }  # fmt: skip
    b1 = {"cluster": None, "broker_name": "b1", "topics": 1, "read_queues": 4, "write_queues": 8, "until": 70}
    for last_day, wanted in ((None, [b0, b1]), ("2026-03-01", [b0])):
        found = collect_report(tables_at(uri), ReportQuery(["capacity"], None, last_day))
        assert found.sections[0].rows == wanted
