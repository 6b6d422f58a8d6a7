"""Plots as values."""

from namekeeper.pipeline.report.plots import LABEL, Kind, bar_of, columns_of, label_of
from tests.support.pipeline.report_rows import HOUR, SCALE, START


def test_labels_are_harmless_and_short():
    assert label_of("a\x1b[2Jb") == "a\\x1b[2Jb"
    assert label_of("a" * LABEL) == "a" * LABEL
    assert label_of("a" * (LABEL + 1)) == "a" * (LABEL - 1) + "…"


def test_a_bar_is_as_long_as_its_time_and_says_what_it_is():
    bar = bar_of(SCALE, (START + 3 * HOUR, START + 6 * HOUR), Kind.DOWN, "b0 down")
    assert (bar.at, bar.width) == (10, 10)
    assert bar.title == "b0 down, 2026-03-01 03:00:00Z to 2026-03-01 06:00:00Z"


def test_parts_of_a_column_stand_on_each_other_and_the_highest_fills_the_axis():
    counts = {START: {Kind.CAME: 1, Kind.WENT: 3}, START + HOUR: {Kind.WENT: 1}}
    top, columns = columns_of(SCALE, counts, HOUR, {Kind.CAME: "came", Kind.WENT: "went"})
    assert top == 4
    assert [column.parts for column in columns] == [
        [(Kind.CAME, 75, 25), (Kind.WENT, 0, 75)],
        [(Kind.WENT, 75, 25)],
    ]
    assert columns[0].title == "2026-03-01 00:00:00Z to 2026-03-01 01:00:00Z: 1 came, 3 went"


def test_without_counts_there_are_no_columns():
    assert columns_of(SCALE, {}, HOUR, {Kind.CAME: "came"}) == (0, [])
