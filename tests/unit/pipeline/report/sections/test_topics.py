"""What the section on topics says."""

import pytest

from namekeeper.pipeline.report.columns import UNCERTAIN
from namekeeper.pipeline.report.table import columns_with_text
from tests.support.pipeline.report_rows import drawn_plot, made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize("words", ["1 topic could not be written to for some time."])
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("topics", ROWS).summary)


def test_a_name_server_that_had_no_queue_for_longer_than_the_best_is_named():
    (row,) = ROWS["topics"]
    lost = {**row, "unwritable_ms": 13_000, "no_route_ms": 0, "worst_namesrv": "ns-2", "worst_ms": 71_000}
    alike = {**lost, "topic": "t", "worst_ms": 13_000}
    found = made_section("topics", {**ROWS, "topics": [lost, alike]})
    assert found.summary[1:] == [
        "These are the times in which no name server had a queue to write to.",
        f"At ns-2 {row['topic']} had none for 1 min 11 s.",
    ]
    assert made_section("topics", {**ROWS, "topics": [alike]}).summary[1:] == []


def test_there_is_no_plot():
    assert drawn_plot("topics", ROWS) is None


def test_what_is_cut_counts_in_the_total():
    found = made_section("topics", ROWS, topics=5_142)
    assert found.total == 5_142
    assert found.summary == ["5,142 topics could not be written to for some time."]


def test_topics_with_the_same_times_are_one_row_and_few_enough_are_good_news():
    assert made_section("topics", {**ROWS, "topics": []}).headline.text == "Every topic could be written to"
    assert [column.name for column in made_section("topics", ROWS).columns if column.is_subject] == ["topic"]


def test_uncertain_time_is_shown_and_explained_only_where_there_is_some():
    exact = made_section("topics", ROWS)
    assert "uncertain" not in [column.title for column in columns_with_text(exact.columns, exact.rows, "UTC")]
    found = made_section("topics", {**ROWS, "topics": [{**ROWS["topics"][0], "uncertain_ms": 9_000}]})
    columns = {column.title: column for column in columns_with_text(found.columns, found.rows, "UTC")}
    assert columns["uncertain"].show(found.rows[0]["uncertain_ms"], "UTC") == "9 s"
    assert found.summary == [*exact.summary, UNCERTAIN]
