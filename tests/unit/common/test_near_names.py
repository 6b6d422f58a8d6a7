"""A misspelt name finds the ones that may have been meant."""

import pytest

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


@pytest.mark.parametrize("name", ["whi", "hwy", "wy", "whyy", "WHY?"])
def test_one_wrong_letter_in_a_short_name_is_no_obstacle(name):
    assert near_names(name, ["why", "past", "audit", "demo"]) == ["why"]
    assert near_names("xyz", ["why", "past", "audit", "demo"]) == []
