"""Counts in messages: one is not written as many."""

import pytest

from namekeeper.common.counts import shown_count, shown_number


def test_a_noun_has_its_plural_unless_there_is_one():
    assert [shown_count(count, "hour") for count in (0, 1, 2)] == ["0 hours", "1 hour", "2 hours"]


@pytest.mark.parametrize(
    ("verb", "one", "many"),
    [
        ("are", "1 line is", "2 lines are"), ("were", "1 line was", "0 lines were"),
        ("do", "1 line does", "2 lines do"), ("have", "1 line has", "2 lines have"),
    ],
)  # fmt: skip
def test_a_verb_goes_with_its_noun(verb, one, many):
    assert (shown_count(1, "line", verb), shown_count(int(many[0]), "line", verb)) == (one, many)


def test_thousands_are_separated():
    assert shown_number(1_234_567) == "1,234,567"
    assert shown_count(2_000, "row") == "2,000 rows"
