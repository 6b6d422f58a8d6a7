"""What the section on capacity says and draws."""

import pytest

from tests.support.pipeline.report_rows import START, drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize(
    "words", ["2 broker names on 2026-03-02, at its end or when it was last known: 6 topic rows, 24 queues"]
)
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("capacity", ROWS).summary)


def test_the_plot_says_in_words_what_it_shows():
    plot = drawn_plot("capacity", ROWS)
    assert "8 on 2026-03-01, 24 on 2026-03-02; the largest registration filled 25.000 %" in plot.alternative
    assert [(column.at, column.width) for column in plot.columns] == [(0, 80), (80, 20)]
    assert plot.top == 24


def test_of_one_day_there_is_no_growth_to_draw_but_numbers():
    found = made_section("capacity", {**ROWS, "capacity_by_day": ROWS["capacity_by_day"][1:]})
    assert found.plot == ()
    assert found.rows == ROWS["capacity"]
    assert found.summary[-1] == "How it grows is drawn when a second day is known."


def test_where_nobody_was_left_it_says_so_and_what_there_was():
    gone = {
        "cluster_label": None,
        "cluster": "c",
        "broker_name": "b0",
        "topics": 3,
        "read_queues": 8,
        "write_queues": 8,
        "until": START,
    }
    found = made_section("capacity", {**ROWS, "capacity": [], "capacity_by_day": [], "last_held": [gone]})
    assert found.rows == [gone]
    assert [column.show(gone[column.name], "UTC") for column in found.columns][-1] == "2026-03-01 00:00:00Z"
    assert "Nobody was registered then. What each broker name had" in " ".join(found.summary)
    empty = made_section("capacity", {**ROWS, "capacity": [], "capacity_by_day": []})
    assert empty.rows == []
    assert empty.summary == found.summary[:1]
