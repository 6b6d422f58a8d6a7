"""What the section on differences says and draws."""

import pytest

from namekeeper.pipeline.report.plots import Kind
from namekeeper.pipeline.report.table import columns_with_text
from tests.support.pipeline.report_rows import HOUR, drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize("words", ["The longest, about <script>", "2 differences of 5 seconds or more"])
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("drift", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    assert "2 intervals about 2 subjects." in drawn_plot("drift", ROWS).alternative


def test_the_longest_difference_is_on_top_of_the_plot():
    plot = drawn_plot("drift", ROWS)
    assert [lane.bars[0].kind for lane in plot.lanes] == [Kind.NOTICE, Kind.DOWN]
    assert plot.lanes[1].label == "broker b0 (0)"


def test_topics_that_differed_at_the_same_time_share_a_lane():
    row = ROWS["drift"][1]
    many = [{**row, "topic": f"t{number}"} for number in range(122)]
    (lane,) = drawn_plot("drift", {**ROWS, "drift": many}).lanes
    assert lane.label == "t0 on b0, t1 on b0 and 120 more"


def test_without_differences_it_says_so():
    assert made_section("drift", {**ROWS, "drift": []}).headline.text == "No differences between name servers"


def test_the_window_of_its_end_is_uncertain_and_no_longer_than_the_difference():
    exact = made_section("drift", ROWS)
    assert "uncertain" not in [column.title for column in columns_with_text(exact.columns, exact.rows, "UTC")]
    rows = [
        {**row, "to_window_ms": window} for row, window in zip(ROWS["drift"], (6_000, 9 * HOUR), strict=True)
    ]
    found = made_section("drift", {**ROWS, "drift": rows})
    assert [row["uncertain_ms"] for row in found.rows] == [6_000, 2 * HOUR]
