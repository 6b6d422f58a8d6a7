"""What the section on differences says and draws."""

import pytest

from tests.support.pipeline.report_rows import drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize("words", ["The longest, about <script>", "2 differences of 5 seconds or more"])
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("drift", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("drift", ROWS)
    assert plot is not None
    assert "2 intervals about 2 subjects." in plot.alternative
    assert plot.svg.startswith('<svg role="img" aria-label="')


def test_the_longest_difference_is_on_top_of_the_plot():
    plot = drawn_plot("drift", ROWS)
    assert plot is not None
    assert ">about a broker<" in plot.svg
