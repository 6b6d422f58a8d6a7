"""What a report says of rows."""

from namekeeper.pipeline.report.contents import SECTIONS, make_report
from tests.support.pipeline.report_rows import HOUR, START, answers_of, report_rows

ROWS = report_rows()


def test_it_says_up_to_when_each_name_server_is_known():
    report = make_report("Europe/Berlin", SECTIONS, answers_of(ROWS))
    assert report.days == ("2026-03-01", "2026-03-02")
    assert report.period == (START, START + 30 * HOUR)
    assert [(each["namesrv"], each["knows_up_to"], each["losses"]) for each in report.name_servers] == [
        ("ns-1", START + 30 * HOUR, 1), ("ns-2", START + 29 * HOUR, 0),
    ]  # fmt: skip
    assert [each.name for each in report.sections] == list(SECTIONS)


def test_the_days_that_were_asked_for_are_named():
    assert make_report("UTC", [], answers_of(ROWS), ("2026-02-01", None)).days == ("2026-02-01", "2026-03-02")


def test_of_an_empty_warehouse_nothing_is_known():
    empty = {name: [] for name in ROWS}
    report = make_report("UTC", SECTIONS, answers_of(empty))
    assert (report.days, report.period) == (None, None)
    assert all(not each.rows for each in report.sections)


def test_every_column_of_a_table_is_in_its_rows():
    for each in make_report("UTC", SECTIONS, answers_of(ROWS)).sections:
        for row in each.rows:
            assert {column.name for column in each.columns} <= set(row), each.name
            for column in each.columns:
                assert isinstance(column.show(row[column.name], "UTC"), str)


def test_the_rows_of_folds_are_those_of_the_section():
    for each in make_report("UTC", SECTIONS, answers_of(ROWS)).sections:
        assert not each.folds or [row for fold in each.folds for row in fold.rows] == each.rows


def test_no_two_sections_ask_by_the_same_name():
    names = [name for spec in SECTIONS.values() for name in spec.questions]
    assert len(set(names)) == len(names)
    assert set(names) | {"boots"} == set(ROWS)
