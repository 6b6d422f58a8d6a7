"""What the section on flaps says and draws."""

import pytest

from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.values import KEPT
from tests.support.pipeline.report_rows import HOUR, START, drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize(
    "words", ["1 broker went, in 1 clock hour. 2 outages, 5 ended sessions over all name servers."]
)
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("flaps", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("flaps", ROWS)
    assert "at most 5 in one hour" in plot.alternative
    assert (plot.top, plot.unit, len(plot.columns)) == (5, "sessions", 1)


def test_within_few_hours_the_table_says_more_than_a_plot():
    short = TimeScale(Period(START, START + 2 * HOUR), "UTC")
    assert drawn_plot("flaps", ROWS, short) is None


def test_a_row_of_flaps_is_a_broker_in_an_hour_and_hours_are_counted_once():
    (flap,) = ROWS["flaps"]
    later, other = {**flap, "hour": flap["hour"] + HOUR}, {**flap, "broker_id": 7}
    assert made_section("flaps", {**ROWS, "flaps": [flap, later, other]}).summary == [
        "2 brokers went, in 2 clock hours.", "6 outages, 15 ended sessions over all name servers.",
    ]  # fmt: skip


def test_long_sections_are_cut_and_say_so():
    flap = ROWS["flaps"][0]
    found = made_section(
        "flaps", {**ROWS, "flaps": [{**flap, "hour": number} for number in range(1_300)]}, flaps=30_000
    )
    assert len(found.rows) == KEPT
    assert found.total == 30_000
    assert found.summary[0].startswith("At least 1 broker went")


def test_without_flaps_there_is_no_plot():
    assert drawn_plot("flaps", {**ROWS, "flaps": []}) is None
