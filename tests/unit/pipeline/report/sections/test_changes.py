"""What the section on changes says and draws."""

from tests.support.pipeline.report_rows import drawn_plot, made_section, report_rows

ROWS = report_rows()


def test_the_total_is_that_of_the_records_and_what_is_cut_is_said():
    assert made_section("changes", ROWS).summary == ["52 rows were changed by 2 records."]
    cut = made_section("changes", ROWS, changes=5_142)
    assert (len(cut.rows), cut.total) == (2, 5_142)
    assert cut.summary == ["52 rows were changed by 5142 records.", "The newest 2 records are listed."]


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
