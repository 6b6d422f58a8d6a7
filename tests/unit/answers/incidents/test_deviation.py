"""Deviations as text."""

from typing import Any

import pytest

from namekeeper.answers.incidents.deviation import Deviation, DeviationKind, deviation_text, with_names


def deviation(kind: DeviationKind, **more: Any) -> Deviation:
    values = {
        "cluster": "c", "topic": None, "brokers": ("b1",), "expected": "0, 1", "actual": "0", "name_servers": ("n1",),
        "of_name_servers": 1, "since": 0, "to": None, **more,
    }  # fmt: skip
    return Deviation(kind=kind, **values)


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({}, ""),
        ({"of_name_servers": 3}, ", at n1 (1 of 3 name servers)"),
        ({"name_servers": ("n1", "n2", "n3", "n4", "n5"), "of_name_servers": 6}, ", at n1, n2, n3 and 2 more (5 of 6 name servers)"),
    ],
)  # fmt: skip
def test_name_servers_are_named_unless_all_deviate(more, end):
    one = deviation(DeviationKind.MEMBER_MISSING, **more)
    assert deviation_text(one) == f"broker b1 lacks a member: id 0 instead of 0, 1{end}"


def test_many_brokers_are_counted():
    one = deviation(
        DeviationKind.TOPIC_MISSING,
        topic="t",
        brokers=("b1", "b2", "b3", "b4", "b5"),
        expected="8/8 RW-",
        actual="",
    )
    assert deviation_text(one) == "topic t on b1, b2, b3 and 2 more is missing: expected 8/8 RW-"
    assert one.subject == "t"


@pytest.mark.parametrize("kind", DeviationKind)
def test_every_kind_has_a_text_whose_names_can_be_made_harmless(kind):
    one = deviation(
        kind, topic="<t>" if "topic" in kind or "order" in kind else None, cluster="<c>", brokers=("<b>",),
        expected="<e>", actual="<a>", name_servers=("<n>",), of_name_servers=2,
    )  # fmt: skip
    has_names = kind in {DeviationKind.ORDER_CHANGED, DeviationKind.WRONG_CLUSTER}
    plain = with_names(one, lambda name: name.strip("<>"))
    text = deviation_text(plain).replace("<e>", "").replace("<a>", "")
    assert "<" not in text
    assert (plain.expected, plain.actual) == (("e", "a") if has_names else ("<e>", "<a>"))
