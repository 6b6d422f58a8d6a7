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
    (head, rule, *rows) = text[text.index("cluster  broker  ") :].split("\n\n")[0].splitlines()
    assert rule.replace("-", "").strip() == ""
    assert head.index("available") == rule.index("  ", 10) + 2
    assert len(rows) == 3


def test_it_begins_with_what_is_worst():
    assert render_text(REPORT).splitlines()[:3] == [
        "2026-03-01 00:00:00 to 2026-03-02 06:00:00 (1 d 6 h), times in UTC",
        "x 2 incidents, 1 not over",
        "x 1 of 3 brokers away for some time",
    ]


def test_what_is_cut_is_counted():
    rows = {
        **report_rows(),
        "topics": [{**report_rows()["topics"][0], "topic": f"t{n}", "unknown_ms": n} for n in range(300)],
    }
    text = render_text(make_report("UTC", ["topics"], answers_of(rows, {"topics": 5_142})))
    assert text.endswith("... and 4,942 more\n")


def test_it_says_what_is_known_and_what_is_not():
    text = render_text(REPORT)
    assert "ns-1: known up to 2026-03-02 06:00:00Z, 1 h unknown, 1 hole in its records" in text
    assert (
        render_text(make_report("UTC", SECTIONS, answers_of({name: [] for name in report_rows()})))
        == "Nothing is known of this time.\n"
    )


def test_json_has_the_rows_as_they_are():
    value = json.loads(render_json(REPORT))
    assert value["time_zone"] == "UTC"
    assert value["headlines"][0] == {
        "section": "incidents",
        "severity": "bad",
        "text": "2 incidents, 1 not over",
    }
    assert value["days"] == ["2026-03-01", "2026-03-02"]
    assert set(value["sections"]) == set(SECTIONS)
    assert value["sections"]["topics"]["rows"][0]["topic"] == NASTY
    assert value["name_servers"][0]["namesrv"] == "ns-1"
