"""The table of a section as cells."""

from namekeeper.pipeline.report.table import Cell, columns_with_text, table_rows
from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import ReportColumn
from tests.support.pipeline.report_rows import HOUR, START

WHEN = ReportColumn("when", "when", shown_time)
WHO = ReportColumn("who", "who", is_subject=True)
HOW = ReportColumn("how", "how")


def texts(columns, rows):
    return [[cell.texts for cell in row.cells] for row in table_rows(columns, rows, "UTC")]


def test_rows_that_differ_in_their_subject_alone_are_one():
    rows = [{"who": who, "how": how} for who, how in (("a", 1), ("b", 2), ("c", 1))]
    assert texts((WHO, HOW), rows) == [[("a", "c"), ("1",)], [("b",), ("2",)]]
    assert [row.stands_for for row in table_rows((WHO, HOW), rows, "UTC")] == [2, 1]


def test_rows_are_one_only_if_all_their_other_columns_read_the_same():
    rows = [{"who": who, "how": 1, "when": START + ms} for who, ms in (("a", 0), ("b", HOUR))]
    assert texts((HOW, WHO, WHEN), rows) == [
        [("1",), ("a",), ("2026-03-01 00:00:00",)],
        [("1",), ("b",), ("2026-03-01 01:00:00",)],
    ]


def test_rows_without_a_subject_stay_apart():
    assert texts((HOW,), [{"how": 1}, {"how": 1}]) == [[("1",)], [("1",)]]


def test_a_list_is_several_texts_and_nothing_is_none():
    assert texts((HOW,), [{"how": ["x", "", "y\n"]}, {"how": None}]) == [[("x", "y\\n")], [()]]


def test_times_have_milliseconds_where_their_order_needs_them():
    (row,) = table_rows((WHEN,), [{"when": START}], "Europe/Berlin")
    assert row.cells == [Cell(("2026-03-01 01:00:00",), "2026-03-01T01:00:00.000+01:00")]
    rows = [{"when": ms} for ms in (START, START + 5, START + HOUR, None)]
    assert texts((WHEN,), rows) == [
        [("2026-03-01 00:00:00.000",)], [("2026-03-01 00:00:00.005",)], [("2026-03-01 01:00:00.000",)], [()],
    ]  # fmt: skip


def test_columns_that_say_nothing_are_left_out():
    rows = [{"who": "a", "how": None, "when": None}, {"who": "b", "how": 0, "when": START}]
    assert columns_with_text((WHO, HOW, WHEN), rows, "UTC") == [WHO, WHEN]
