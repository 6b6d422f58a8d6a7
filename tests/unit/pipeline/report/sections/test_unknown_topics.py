"""What the section on unknown topics says."""

import pytest

from tests.support.pipeline.report_rows import made_section, report_rows

ROWS = report_rows()


@pytest.mark.parametrize("words", ["Clients asked 15 times for topics that had no route."])
def test_it_says_what_matters(words):
    assert words in " ".join(made_section("unknown-topics", ROWS).summary)


def test_a_bucket_is_in_brackets():
    row = {**ROWS["unknown_topics"][0], "topic": None, "bucket": "others"}
    assert made_section("unknown-topics", {**ROWS, "unknown_topics": [row]}).rows[0]["name"] == "(others)"


def test_if_nobody_asked_in_vain_it_says_so():
    found = made_section("unknown-topics", {**ROWS, "unknown_topics": []})
    assert (found.headline, found.summary) == (None, ["No client asked for a topic that had no route."])
