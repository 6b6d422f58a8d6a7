"""Columns and words that sections share."""

from namekeeper.pipeline.report.columns import CAUSES, broker_of, duration_column, some_of
from namekeeper.route.events import Cause


def test_durations_are_numbers_in_words():
    column = duration_column("down_ms", "down")
    assert column.is_number
    assert [column.show(ms, "UTC") for ms in (None, 0, 90_000)] == ["", "0", "1 min 30 s"]


def test_every_cause_of_a_change_has_words():
    assert set(Cause) <= set(CAUSES)
    assert not any("_" in words for words in CAUSES.values())


def test_a_broker_is_its_name_and_its_id():
    assert broker_of({"broker_name": "b0", "broker_id": 2}) == "b0 (2)"


def test_a_sentence_has_three_names_or_the_first_two_and_how_many_more():
    assert [some_of(list("abcde")[:count]) for count in (0, 1, 3, 4)] == [
        "",
        "a",
        "a, b, c",
        "a, b and 2 more",
    ]
