"""Plots as parts of a page."""

import re

from tests.support.pipeline.report_rows import drawn_plot, report_rows

ROWS = report_rows()


def test_the_same_report_is_the_same_picture():
    assert drawn_plot("changes", ROWS).svg == drawn_plot("changes", ROWS).svg


def test_a_name_is_text_and_nothing_else():
    text = re.sub(r"<[^>]+>", " ", drawn_plot("availability", ROWS).svg)
    assert "&lt;script&gt;" in text
    assert "\\n$" in text


def test_the_only_hour_of_a_day_is_drawn_as_an_hour_of_a_day():
    for name in ("flaps", "changes"):
        ticks = re.findall(r">(\d\d:\d\d)<", drawn_plot(name, ROWS).svg)
        assert {"06:00", "12:00", "18:00"} <= set(ticks), name
        assert ">2026-Mar-01<" in drawn_plot(name, ROWS).svg, "the day that it is about"
