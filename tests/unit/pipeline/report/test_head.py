"""What the head of a report says."""

from namekeeper.pipeline.report.contents import SECTIONS, make_report
from namekeeper.pipeline.report.head import NAME_SERVER_COLUMNS, headlines, shown_period
from namekeeper.pipeline.report.values import Severity
from tests.support.pipeline.report_rows import answers_of, report_rows

ROWS = report_rows()
REPORT = make_report("Europe/Berlin", SECTIONS, answers_of(ROWS))


def test_it_says_from_when_to_when_the_report_is():
    assert shown_period(REPORT) == (
        "2026-03-01 01:00:00 to 2026-03-02 07:00:00 (1 d 6 h), times in Europe/Berlin"
    )
    assert shown_period(make_report("UTC", (), {})) == "Nothing is known of this time."


def test_headlines_are_in_the_order_of_the_sections_and_that_on_the_records_is_last():
    found = [(link.section, link.headline.severity, link.headline.text) for link in headlines(REPORT)]
    assert found == [
        ("incidents", Severity.BAD, "2 incidents, 1 not over"),
        ("availability", Severity.BAD, "1 of 3 brokers away for some time"),
        ("topics", Severity.BAD, "1 topic could not be written to for some time"),
        ("drift", Severity.NOTICE, "2 differences between name servers"),
        ("unknown-topics", Severity.NOTICE, "Clients asked 15 times for topics that had no route"),
        ("name-servers", Severity.NOTICE, "2 name servers, 1 hole in the records, 1 h unknown in all"),
    ]


def test_where_nothing_happened_every_headline_is_good():
    boots = [{**boot, "losses": 0, "unknown_ms": 0} for boot in ROWS["boots"]]
    brokers = [row for row in ROWS["availability"] if not row["down_ms"]]
    quiet = {name: [] for name in ROWS} | {"boots": boots, "availability": brokers}
    found = headlines(make_report("UTC", SECTIONS, answers_of(quiet)))
    assert {link.headline.severity for link in found} == {Severity.GOOD}
    assert [link.headline.text for link in found] == [
        "No incidents", "2 brokers, never away as far as is known", "Every topic could be written to",
        "No differences between name servers", "2 name servers, nothing is missing in the records",
    ]  # fmt: skip


def test_of_nothing_there_is_no_headline():
    empty = {name: [] for name in ROWS}
    assert headlines(make_report("UTC", SECTIONS, answers_of(empty))) == []


def test_the_table_of_name_servers_says_how_each_ended():
    column = NAME_SERVER_COLUMNS[2]
    assert [column.show(value, "UTC") for value in ("running", "stopped", "crashed", "not observed")] == [
        "still running", "stopped", "ended without a stop", "not observed any more",
    ]  # fmt: skip
