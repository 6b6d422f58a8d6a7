"""What the section on availability says and draws."""

import pytest

from namekeeper.pipeline.report.columns import UNCERTAIN
from namekeeper.pipeline.report.plots import Kind
from namekeeper.pipeline.report.table import columns_with_text
from namekeeper.pipeline.report.values import Severity
from tests.support.pipeline.report_rows import HOUR, START, drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize(
    "words", ["The least available was <script>alert('x')</script>", "3 brokers, 1 outage."]
)
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("availability", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("availability", ROWS)
    assert plot.alternative == (
        "When the 2 least available of 3 brokers were up, down or unknown; in all 1 h down."
    )
    assert [words for _, words in plot.legend] == ["up", "down", "unknown"]


def test_a_state_is_a_bar_that_says_from_when_to_when_it_was():
    bars = drawn_plot("availability", ROWS).lanes[0].bars
    assert [(bar.kind, bar.at, bar.width) for bar in bars] == [(Kind.UP, 0, 30), (Kind.DOWN, 30, 3.333)]
    assert bars[1].title.endswith("(1) down, 2026-03-01 09:00:00Z to 2026-03-01 10:00:00Z")


def test_a_state_over_several_days_is_one_bar():
    state = ROWS["states"][1]
    later = {**state, "valid_from": state["valid_to"], "valid_to": state["valid_to"] + HOUR}
    bars = drawn_plot("availability", {**ROWS, "states": [later, state]}).lanes[0].bars
    assert [(bar.at, bar.width) for bar in bars] == [(30, 6.667)]


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
    assert "When the 40 least available of 122 brokers were up, down or unknown" in drawn.alternative
    assert [lane.label for lane in drawn.lanes] == [f"broker-{number} (1)" for number in range(59, 19, -1)]


def test_the_headline_counts_who_was_away():
    assert made_section("availability", ROWS).headline == (Severity.BAD, "1 of 3 brokers away for some time")
    assert made_section("availability", {**ROWS, "availability": []}).headline is None


def test_uncertain_time_is_shown_and_explained_only_where_there_is_some():
    exact = made_section("availability", ROWS)
    assert "uncertain" not in [column.title for column in columns_with_text(exact.columns, exact.rows, "UTC")]
    rows = [{**ROWS["availability"][0], "uncertain_ms": 6_000}, *ROWS["availability"][1:]]
    found = made_section("availability", {**ROWS, "availability": rows})
    columns = {column.title: column for column in columns_with_text(found.columns, found.rows, "UTC")}
    assert [columns["uncertain"].show(row["uncertain_ms"], "UTC") for row in found.rows] == ["6 s", "", ""]
    assert found.summary == [*exact.summary, UNCERTAIN]
