"""A misspelt name finds the ones that may have been meant."""

from difflib import SequenceMatcher, get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common import near_names as module
from namekeeper.common.near_names import did_you_mean, near_names

KNOWN = ["listenPort", "journalPath", "journalEnable", "broker-a", "broker-b", "OrderCreated"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("listenport", ["listenPort"]),
        ("listenPrt", ["listenPort"]),
        ("listen_port", ["listenPort"]),
        ("jurnalPath", ["journalPath"]),
        ("broker-c", ["broker-b", "broker-a"]),
        ("order_created", ["OrderCreated"]),
        ("somethingElse", []),
        ("", []),
    ],
)
def test_the_nearest_come_first(name, near):
    assert near_names(name, KNOWN) == near


def test_there_are_never_more_than_asked_for():
    assert len(near_names("topic-0", [f"topic-{each}" for each in range(100)], most=3)) == 3


def test_the_question_is_there_only_if_something_is_near():
    assert did_you_mean("broker-c", KNOWN) == ": did you mean broker-b, or broker-a?"
    assert did_you_mean("somethingElse", KNOWN) == ""


def test_a_common_prefix_makes_no_names_alike():
    known = ["NAMEKEEPER_LISTEN_PORT", "NAMEKEEPER_LOG_ROOT"]
    assert did_you_mean("NAMEKEEPER_OTHER", known, prefix="NAMEKEEPER_") == ""
    found = did_you_mean("NAMEKEEPER_LISTENPORT", known, prefix="NAMEKEEPER_")
    assert found == ": did you mean NAMEKEEPER_LISTEN_PORT?"


@pytest.mark.parametrize(("characters", "found"), [(1_000, True), (1_001, False)])
def test_a_name_without_end_is_not_compared(characters, found):
    known = "a" * characters
    assert near_names(known.upper(), [known]) == [known] * found


@pytest.mark.parametrize("name", ["whi", "hwy", "wy", "whyy", "WHY?"])
def test_one_wrong_letter_in_a_short_name_is_no_obstacle(name):
    assert near_names(name, ["why", "past", "audit", "demo"]) == ["why"]
    assert near_names("xyz", ["why", "past", "audit", "demo"]) == []


LETTERS = st.text("ab", max_size=12)


@given(LETTERS, st.lists(LETTERS, unique=True, max_size=12))
def test_they_are_those_of_difflib(name: str, known: list[str]) -> None:
    alike = 0.65 if len(name) <= 4 else 0.8
    expected = [name] if name in known else get_close_matches(name, known, n=3, cutoff=alike)
    assert near_names(name, known)[: len(expected)] == expected


def test_few_names_are_compared_closely_whatever_names_peers_choose(monkeypatch):
    compared: list[str] = []
    close = SequenceMatcher.ratio

    def counted(self: SequenceMatcher[str]) -> float:
        compared.append("")
        return close(self)

    monkeypatch.setattr(SequenceMatcher, "ratio", counted)
    monkeypatch.setattr(module, "_PAIRS_LIMIT", 100_000)
    name = "ab" * 90
    assert near_names(name, [f"{'ba' * number}{'ab' * (90 - number)}x" for number in range(1, 90)])
    assert len(compared) <= 100_000 // 180**2


def test_a_name_among_too_many_is_not_suggested(monkeypatch):
    monkeypatch.setattr(module, "_CHARACTERS_LIMIT", 20)
    assert near_names("orderx", ["something-else", "orders"]) == ["orders"]
    assert near_names("orderx", ["something-else-again", "orders"]) == []
