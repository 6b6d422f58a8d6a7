"""What a report says of rows."""

import pytest

from namekeeper.pipeline.report import AT_MOST, SECTIONS, SHOWN, make_report
from tests.support.report_rows import HOUR, START, report_rows

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
        ("topics", "1 topics could not be written to"),
        ("flaps", "1 brokers went in 1 hours"),
        ("drift", "The longest, about <script>"),
        ("capacity", "6 topic rows and 24 queues to write to on 2 broker names on 2026-03-02."),
        ("changes", "52 rows were changed; the newest 2 records are listed."),
        ("unknown-topics", "Clients asked 15 times for topics that had no route."),
    ],
)
def test_each_section_says_what_matters(name, words):
    assert words in " ".join(section(name).summary)


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
    assert f"at least {AT_MOST} hours" in found.summary[0]
