"""A report as text and as JSON."""

import json

from namekeeper.pipeline.report.contents import SECTIONS, make_report
from namekeeper.pipeline.report.text import render_json, render_text
from tests.support.pipeline.report_rows import NASTY, answers_of, report_rows

REPORT = make_report("UTC", SECTIONS, answers_of(report_rows()))


def test_names_may_not_move_the_cursor():
    text = render_text(REPORT)
    assert all(char == "\n" or char.isprintable() for char in text)


def test_columns_are_aligned_also_under_wide_characters():
    text = render_text(REPORT)
    (head, rule, *rows) = text[text.index("cluster  broker name  ") :].split("\n\n")[0].splitlines()
    assert rule.replace("-", "").strip() == ""
    assert head.index("id") == rule.index("  --", 40) + 2
    assert len(rows) == 3


def test_it_says_what_is_known_and_what_is_not():
    text = render_text(REPORT)
    assert "ns-1: known up to 2026-03-02 06:00:00Z, 1 h unknown, 1 hole in its records" in text
    assert (
        render_text(make_report("UTC", SECTIONS, answers_of({name: [] for name in report_rows()})))
        == "Nothing is known yet.\n"
    )


def test_json_has_the_rows_as_they_are():
    value = json.loads(render_json(REPORT))
    assert value["time_zone"] == "UTC"
    assert value["days"] == ["2026-03-01", "2026-03-02"]
    assert set(value["sections"]) == set(SECTIONS)
    assert value["sections"]["topics"]["rows"][0]["topic"] == NASTY
    assert value["name_servers"][0]["namesrv"] == "ns-1"
