"""Subscriptions equal to those that Java's FilterAPI builds."""

import msgspec
import pytest

from namekeeper.client.subscription import SubscriptionData, java_hash, subscription_data
from namekeeper.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0), ("a", 97), ("TagA", 2598919), ("TagB", 2598920), ("hello world", 1794106052),
        ("polygenelubricants", -2147483648), ("\u4e2d\u6587", 646394), ("\U0001f600", 1772899),
    ],
)  # fmt: skip
def test_tags_are_hashed_as_java_hashes_strings(text, code):
    assert java_hash(text) == code


@pytest.mark.parametrize("expression", [None, "", "*"])
def test_everything_has_neither_tags_nor_codes(expression):
    assert subscription_data("T", expression, sub_version=7) == SubscriptionData("T", "*", sub_version=7)


@pytest.mark.parametrize(
    "expression", ["TagA || TagB", "TagA||TagB", "TagB|| TagA ||", "TagA || TagB || TagA"]
)
def test_tags_are_a_set(expression):
    found = subscription_data("T", expression)
    assert (found.sub_string, found.tags_set, found.code_set) == (
        expression, {"TagA", "TagB"}, {2598919, 2598920},
    )  # fmt: skip


def test_sql_stays_as_it_is():
    found = subscription_data("T", "a > 5 || b", expression_type="SQL92", sub_version=3)
    assert found == SubscriptionData("T", "a > 5 || b", sub_version=3, expression_type="SQL92")


@pytest.mark.parametrize(
    ("expression", "kind", "said"),
    [
        ("||", "TAG", "names no tag"),
        (" || ", "TAG", "names no tag"),
        ("", "SQL92", "is empty"),
        (None, "SQL92", "is empty"),
        ("a", "TAGS", "write TAG or SQL92"),
    ],
)
def test_what_can_not_be_used_is_named(expression, kind, said):
    with pytest.raises(ConfigError, match=said):
        subscription_data("T", expression, expression_type=kind)


def test_it_encodes_with_java_s_names():
    encoded = msgspec.json.decode(msgspec.json.encode(subscription_data("T", "TagA", sub_version=9)))
    assert encoded == {
        "topic": "T", "subString": "TagA", "tagsSet": ["TagA"], "codeSet": [2598919], "subVersion": 9,
        "expressionType": "TAG", "classFilterMode": False,
    }  # fmt: skip
