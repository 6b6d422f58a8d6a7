"""What a report is."""

from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import ReportColumn


def test_a_column_shows_what_it_has_as_text_and_nothing_for_none():
    column = ReportColumn("items", "rows", is_number=True)
    assert [column.show(value, "UTC") for value in (3, "x", None)] == ["3", "x", ""]


def test_thousands_are_separated():
    assert ReportColumn("items", "rows").show(5_142, "UTC") == "5,142"


def test_a_column_of_instants_knows_that_it_is_one():
    assert ReportColumn("at_ts", "when", shown_time).is_time
    assert not ReportColumn("topic", "topic").is_time
