"""What the section on changes says and draws."""

import pytest

from tests.support.pipeline.report_rows import drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize("words", ["52 rows were changed; the newest 2 records are listed."])
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("changes", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("changes", ROWS)
    assert plot is not None
    assert "most of them cause 0; the most, 52, at 2026-03-01 00:00" in plot.alternative
    assert plot.svg.startswith('<svg role="img" aria-label="')


def test_small_causes_are_drawn_as_one():
    hour = ROWS["changes_by_hour"][0]
    many = [{**hour, "cause": f"cause {number}", "items": number} for number in range(1, 9)]
    plot = drawn_plot("changes", {**ROWS, "changes_by_hour": many})
    assert plot is not None
    assert ">others<" in plot.svg
    assert ">cause 4<" in plot.svg
    assert ">cause 3<" not in plot.svg
