"""A table of topic configurations in pieces; test_registration_body.py has what whole bodies come to."""

import pytest
from msgspec import Raw

from namekeeper.messages import topic_config_pieces as module
from namekeeper.messages.topic_config_pieces import topic_config_pieces
from namekeeper.wire.fastjson import DialectError


def pieces(text, monkeypatch, size=0):
    monkeypatch.setattr(module, "PIECE_BYTES", size)
    return [list(piece) for piece in topic_config_pieces(Raw(text.encode()))]


def member(name, more=""):
    return f'"{name}":{{"topicName":"{name}"{more}}}'


def table(*members):
    return f"{{{','.join(members)}}}"


def test_each_configuration_may_be_a_piece(monkeypatch):
    text = table(member("A"), member("B"), member("C"))
    assert pieces(text, monkeypatch) == [["A"], ["B"], ["C"]]
    assert pieces(text, monkeypatch, size=len(member("A"))) == [["A", "B"], ["C"]]
    assert pieces(text, monkeypatch, size=1_000) == [["A", "B", "C"]]


@pytest.mark.parametrize("text", ["null", "{}", "{ }"])
def test_an_empty_table_is_one_empty_piece(monkeypatch, text):
    assert pieces(text, monkeypatch) == [[]]


def test_what_only_looks_like_an_end_ends_no_piece(monkeypatch):
    inside = member("B", ',"attributes":{"a":{"x":1},"b":{"y":2}},"c":{"z":3}')
    assert pieces(table(member("A"), inside, member("C")), monkeypatch) == [["A"], ["B", "C"]]


@pytest.mark.parametrize("bad", ["[]", '{"A":1}', '{"A":{"topicName":"A"},"B":1}', '"text"', "7"])
def test_what_is_no_table_is_refused(monkeypatch, bad):
    with pytest.raises(DialectError):
        pieces(bad, monkeypatch)
