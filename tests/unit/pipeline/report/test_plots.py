"""The plots of a report."""

import re

import pytest

pytest.importorskip("matplotlib")

from namekeeper.pipeline.report.plots import plot_of
from namekeeper.pipeline.report.sections import make_report
from tests.support.pipeline.report_rows import HOUR, START, report_rows

ROWS = report_rows()


def plot(name, rows=ROWS):
    (section,) = make_report("UTC", [name], rows).sections
    return plot_of(section, "UTC")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("availability", "Timeline of 2 brokers: up, down or unknown; in all 1 h down."),
        ("flaps", "at most 5 in one hour"),
        ("drift", "2 intervals about 2 subjects."),
        (
            "capacity",
            "8 on 2026-03-01, 24 on 2026-03-02; below it the largest registration, 25.00 % of a frame",
        ),
        ("changes", "most of them cause 0; the most, 52, at 2026-03-01 00:00"),
    ],
)
def test_each_says_in_words_what_it_shows(name, words):
    drawn = plot(name)
    assert words in drawn.alternative
    assert drawn.svg.startswith('<svg role="img" aria-label="')


def test_the_same_report_is_the_same_picture():
    assert plot("changes").svg == plot("changes").svg


def test_a_name_is_text_and_nothing_else():
    text = re.sub(r"<[^>]+>", " ", plot("availability").svg)
    assert "&lt;script&gt;" in text
    assert "\\n$" in text


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
    drawn = plot("availability", {**ROWS, "states": states})
    assert "The 40 least available of them are drawn." in drawn.alternative
    assert "broker-59" in drawn.svg
    assert "broker-5 (1)" not in drawn.svg


def test_sections_without_a_plot_have_none():
    assert plot("topics") is None
    assert plot("flaps", {**ROWS, "flaps": []}) is None


def test_the_only_hour_of_a_day_is_drawn_as_an_hour_of_a_day():
    for name in ("flaps", "changes"):
        ticks = re.findall(r">(\d\d:\d\d)<", plot(name).svg)
        assert {"06:00", "12:00", "18:00"} <= set(ticks), name
        assert ">2026-Mar-01<" in plot(name).svg, "the day that it is about"


def test_ticks_of_seconds_say_the_minute():
    states = [{**ROWS["states"][0], "valid_to": START + 40_000}]
    assert ">00:00:10<" in plot("availability", {**ROWS, "states": states}).svg
