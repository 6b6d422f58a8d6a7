"""What the section on changes says and draws."""

import pytest

from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.plots import Kind
from namekeeper.pipeline.report.sections.changes import CHANGES
from namekeeper.pipeline.report.specification import ReportTables
from namekeeper.pipeline.report.table import columns_with_text
from tests.support.pipeline.report_rows import HOUR, NASTY, START, drawn_plot, made_section, report_rows

ROWS = report_rows()
GROUP = ROWS["change_groups"][0]


class Asked:
    """Tables that keep what they are asked."""

    report_time_zone = "Asia/Kolkata"

    def ask(self, name, args, *, limit=None):
        self.args = args
        return Answer([{}], 1)


def test_what_is_counted_is_every_record_and_not_what_is_listed():
    assert made_section("changes", ROWS).summary == [
        "34 rows were changed by 10 records.",
        "Changes of one cause, broker name and host within the same part of the time are one row: 2 rows below.",
    ]


def test_a_part_of_the_time_says_why_rows_changed_and_how_many():
    (fold,) = made_section("changes", ROWS).folds
    assert (fold.title, fold.summary) == (
        "2026-03-01 01:00", "write permission wiped: 50, name server started: 2",
    )  # fmt: skip
    assert fold.more == 0


def test_every_part_of_the_time_is_there_and_what_is_cut_is_said():
    groups = [{**GROUP, "slice": START + hour * HOUR, "slice_groups": 300} for hour in (25, 3, 1)]
    found = made_section("changes", {**ROWS, "change_groups": groups})
    assert [fold.title for fold in found.folds] == [
        "2026-03-02 01:00",
        "2026-03-01 03:00",
        "2026-03-01 01:00",
    ]
    assert [fold.more for fold in found.folds] == [299] * 3
    assert (len(found.rows), found.total) == (3, 900)
    assert found.summary[-1].endswith("the command namekeeper history lists every change.")


def test_a_row_has_words_for_people():
    row, started = made_section("changes", ROWS).rows
    assert (row["why"], row["topics"], row["last_ts"]) == (
        "write permission wiped", [NASTY, "48 rows of several topics"], START + HOUR + 7,
    )  # fmt: skip
    assert (started["why"], started["last_ts"]) == ("name server started", None)


@pytest.mark.parametrize(
    ("duration", "name", "slice_ms", "per_slice"),
    [
        (24 * HOUR, "change_groups", HOUR, 83),
        (60_000, "change_groups", HOUR, 2_000),
        (90 * 24 * HOUR, "change_groups", 48 * HOUR, 44),
        (24 * HOUR, "changes_by_time", HOUR // 2, None),
        (60_000, "changes_by_time", 1_000, None),
    ],
)
def test_parts_of_the_time_are_as_long_as_the_report_needs(
    duration: int, name: str, slice_ms: int, per_slice: int | None
):
    tables = Asked()
    about = ReportTables(tables, (None, None), Period(START, START + duration))
    CHANGES.questions[name].ask(about, {}, 100)
    assert (tables.args["slice_ms"], tables.args.get("per_slice")) == (slice_ms, per_slice)
    assert tables.args["offset_ms"] == 5.5 * HOUR


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("changes", ROWS)
    assert plot.alternative == (
        "When rows changed, and why: most of them by people and tools; at most 34 within 1 h, from"
        " 2026-03-01 00:00:00 on."
    )


def test_causes_are_drawn_by_what_they_mean():
    plot = drawn_plot("changes", ROWS)
    assert [kind for kind, _ in plot.legend] == [Kind.CAME, Kind.WENT, Kind.BY_HAND]
    (column,) = plot.columns
    assert [kind for kind, _, _ in column.parts] == [Kind.CAME, Kind.WENT, Kind.BY_HAND]
    assert column.title.endswith("10 by registrations, 9 because brokers went, 15 by people and tools")


def test_changes_show_their_longest_window():
    group, started = ROWS["change_groups"]
    exact = made_section("changes", ROWS)
    titles = [column.title for column in columns_with_text(exact.columns, exact.rows, "UTC")]
    assert "or earlier by" not in titles
    found = made_section("changes", {**ROWS, "change_groups": [{**group, "window_ms": 6_000}, started]})
    columns = {column.title: column for column in columns_with_text(found.columns, found.rows, "UTC")}
    assert [columns["or earlier by"].show(row["window_ms"], "UTC") for row in found.rows] == ["6 s", ""]
