"""What the section on availability says and draws."""

import pytest

from tests.support.pipeline.report_rows import HOUR, START, drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize(
    "words", ["The least available was <script>alert('x')</script>", "3 brokers, 1 outage."]
)
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("availability", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("availability", ROWS)
    assert plot is not None
    assert (
        "Timeline of the 2 least available of 3 brokers: up, down or unknown; in all 1 h down."
        in plot.alternative
    )
    assert plot.svg.startswith('<svg role="img" aria-label="')


def test_the_least_available_are_drawn_if_there_are_many():
    state = ROWS["states"][0]
    states = [
        {
            **state,
            "broker_name": f"broker-{number}",
            "state": "down",
            "valid_to": START + number * HOUR // 10 + 1,
        }
        for number in range(60)
    ]
    drawn = drawn_plot("availability", {**ROWS, "states": states}, availability=122)
    assert "Timeline of the 40 least available of 122 brokers: up, down or unknown" in drawn.alternative
    assert "broker-59" in drawn.svg
    assert "broker-5 (1)" not in drawn.svg


def test_ticks_of_seconds_say_the_minute():
    states = [{**ROWS["states"][0], "valid_to": START + 40_000}]
    assert ">00:00:10<" in drawn_plot("availability", {**ROWS, "states": states}, availability=122).svg
