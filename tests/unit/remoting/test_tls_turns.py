"""TLS handshakes of one host take turns; other hosts are not held up."""

import pytest

from namekeeper.remoting import handshake
from namekeeper.remoting.handshake import TlsTurns


@pytest.fixture
def turns(monkeypatch):
    monkeypatch.setattr(handshake, "MAX_HANDSHAKES", 2)
    return TlsTurns()


def test_so_many_of_a_host_begin_at_once_and_others_wait_in_order(turns):
    assert [turns.begin("a", name) for name in "wxyz"] == [True, True, False, False]
    assert turns.is_crowded("a")
    assert turns.end("a") == "y"
    assert turns.end("a") == "z"
    assert not turns.is_crowded("a")
    assert not turns.begin("a", "last")


def test_another_host_does_not_wait(turns):
    assert [turns.begin("a", name) for name in "xyz"] == [True, True, False]
    assert turns.begin("b", "x")
    assert not turns.is_crowded("b")


def test_who_has_ended_makes_room(turns):
    assert [turns.begin("a", name) for name in "xy"] == [True, True]
    assert [turns.end("a"), turns.end("a")] == [None, None]
    assert [turns.begin("a", name) for name in "xyz"] == [True, True, False]


def test_nobody_begins_any_more_when_the_server_closes(turns):
    assert [turns.begin("a", name) for name in "xyz"] == [True, True, False]
    turns.forget_waiting()
    assert turns.end("a") is None
