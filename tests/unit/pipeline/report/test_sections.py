"""What a report says of rows."""

import pytest

from namekeeper.pipeline.report.sections import SECTIONS, make_report
from namekeeper.pipeline.report.values import AT_MOST, SHOWN
from tests.support.pipeline.report_rows import HOUR, START, report_rows

ROWS = report_rows()


def section(name, rows=ROWS):
    (found,) = make_report("UTC", [name], rows).sections
    assert found.name == name
    return found


def test_it_says_up_to_when_each_name_server_is_known():
    report = make_report("Europe/Berlin", SECTIONS, ROWS)
    assert report.days == ("2026-03-01", "2026-03-02")
    assert [(each["namesrv"], each["knows_up_to"], each["losses"]) for each in report.name_servers] == [
        ("ns-1", START + 30 * HOUR, 1), ("ns-2", START + 29 * HOUR, 0),
    ]  # fmt: skip
    assert [each.name for each in report.sections] == list(SECTIONS)


def test_the_days_that_were_asked_for_are_named():
    assert make_report("UTC", [], ROWS, ("2026-02-01", None)).days == ("2026-02-01", "2026-03-02")


def test_of_an_empty_warehouse_nothing_is_known():
    empty = {name: [] for name in ROWS}
    report = make_report("UTC", SECTIONS, empty)
    assert report.days is None
    assert all(not each.rows for each in report.sections)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("availability", "The least available was <script>alert('x')</script>"),
        ("topics", "1 topic could not be written to for some time."),
        ("availability", "3 brokers, 1 outage."),
        ("flaps", "1 broker went, in 1 clock hour. 2 outages, 5 ended sessions over all name servers."),
        ("drift", "The longest, about <script>"),
        (
            "capacity",
            "2 broker names on 2026-03-02, at its end or when it was last known: 6 topic rows, 24 queues",
        ),
        ("changes", "52 rows were changed; the newest 2 records are listed."),
        ("drift", "2 differences of 5 seconds or more"),
        ("unknown-topics", "Clients asked 15 times for topics that had no route."),
    ],
)
def test_each_section_says_what_matters(name, words):
    assert words in " ".join(section(name).summary)


def test_a_row_of_flaps_is_a_broker_in_an_hour_and_hours_are_counted_once():
    (flap,) = ROWS["flaps"]
    later, other = {**flap, "hour": flap["hour"] + HOUR}, {**flap, "broker_id": 7}
    assert section("flaps", {**ROWS, "flaps": [flap, later, other]}).summary == [
        "2 brokers went, in 2 clock hours.", "6 outages, 15 ended sessions over all name servers.",
    ]  # fmt: skip


def test_of_one_day_there_is_no_growth_to_draw_but_numbers():
    found = section("capacity", {**ROWS, "capacity_by_day": ROWS["capacity_by_day"][1:]})
    assert found.plot == ()
    assert found.rows == ROWS["capacity"]
    assert found.summary[-1] == "How it grows is drawn when a second day is known."


def test_where_nobody_was_left_it_says_so_and_what_there_was():
    gone = {
        "cluster": "c",
        "broker_name": "b0",
        "topics": 3,
        "read_queues": 8,
        "write_queues": 8,
        "until": START,
    }
    found = section("capacity", {**ROWS, "capacity": [], "capacity_by_day": [], "last_held": [gone]})
    assert found.rows == [gone]
    assert [column.show(gone[column.name], "UTC") for column in found.columns][-1] == "2026-03-01 00:00:00Z"
    assert "Nobody was registered then. What each broker name had" in " ".join(found.summary)
    empty = section("capacity", {**ROWS, "capacity": [], "capacity_by_day": []})
    assert empty.rows == []
    assert empty.summary == found.summary[:1]


def test_every_column_of_a_table_is_in_its_rows():
    for each in make_report("UTC", SECTIONS, ROWS).sections:
        for row in each.rows:
            assert {column.name for column in each.columns} <= set(row), each.name
            for column in each.columns:
                assert isinstance(column.show(row[column.name], "UTC"), str)


def test_long_sections_are_cut_and_say_so():
    flap = ROWS["flaps"][0]
    found = section("flaps", {**ROWS, "flaps": [{**flap, "hour": number} for number in range(AT_MOST)]})
    assert len(found.rows) == SHOWN
    assert found.total == AT_MOST
    assert found.summary[0].startswith("At least 1 broker went")
