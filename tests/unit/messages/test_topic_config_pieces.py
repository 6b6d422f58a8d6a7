"""A table of topic configurations in pieces; test_registration_body.py has what whole bodies come to."""

import pytest
from msgspec import json

from namekeeper.messages import registration_body as module
from namekeeper.messages.registration_body import MARK, topic_config_pieces


def pieces(text, monkeypatch, size=0):
    """Topics of each piece, and of what is left in the table after them."""
    monkeypatch.setattr(module, "PIECE_BYTES", size)
    steps = topic_config_pieces(b'{"topicConfigTable":%b}' % text.encode())
    found = []
    while True:
        try:
            found.append(list(next(steps)))
        except StopIteration as end:
            left = json.decode(end.value)["topicConfigTable"] or {}
            return found, [name for name in left if name != MARK]


def member(name, more=""):
    return f'"{name}":{{"topicName":"{name}"{more}}}'


def table(*members):
    return f"{{{','.join(members)}}}"


def test_each_configuration_may_be_a_piece(monkeypatch):
    text = table(member("A"), member("B"), member("C"))
    assert pieces(text, monkeypatch) == ([["A"], ["B"]], ["C"])
    assert pieces(text, monkeypatch, size=len(member("A"))) == ([["A", "B"]], ["C"])
    assert pieces(text, monkeypatch, size=1_000) == ([], ["A", "B", "C"])


@pytest.mark.parametrize("text", ["null", "{}", "{ }"])
def test_an_empty_table_has_no_piece(monkeypatch, text):
    assert pieces(text, monkeypatch) == ([], [])


def test_what_only_looks_like_an_end_ends_no_piece(monkeypatch):
    inside = member("B", ',"attributes":{"a":{"x":1},"b":{"y":2}},"c":{"z":3}')
    assert pieces(table(member("A"), inside, member("C")), monkeypatch) == ([["A"]], ["B", "C"])


def test_a_table_far_behind_is_not_looked_for(monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES_BEFORE", 10)
    text = table(member("A"), member("B"))
    assert pieces(text, monkeypatch) == ([], ["A", "B"])


@pytest.mark.parametrize("text", ['{"A":1}', '{"A":{"topicName":7},"B":{"topicName":"B"}}'])
def test_what_is_no_configuration_is_left(monkeypatch, text):
    found, left = pieces(text, monkeypatch)
    assert not found
    assert left == list(json.decode(text))
