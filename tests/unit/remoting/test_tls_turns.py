"""TLS handshakes take turns: those of one host in order, and hosts round-robin."""

import pytest

from namekeeper.remoting import tls_turns
from namekeeper.remoting.tls_turns import TlsTurns


@pytest.fixture
def turns(monkeypatch):
    monkeypatch.setattr(tls_turns, "MAX_OF_HOST", 2)
    monkeypatch.setattr(tls_turns, "MAX_HANDSHAKES", 4)
    return TlsTurns()


def test_so_many_of_a_host_begin_at_once_and_others_wait_in_order(turns):
    assert [turns.begin("a", name) for name in "wxyz"] == [True, True, False, False]
    assert turns.is_crowded("a")
    assert turns.next() is None
    turns.end("a")
    assert [turns.next(), turns.next()] == ["y", None]
    turns.end("a")
    assert [turns.next(), turns.next()] == ["z", None]
    assert not turns.is_crowded("a")
    assert not turns.begin("a", "last")


def test_another_host_does_not_wait_while_there_is_room(turns):
    assert [turns.begin("a", name) for name in "xyz"] == [True, True, False]
    assert turns.begin("b", "x")
    assert not turns.is_crowded("b")


def test_all_hosts_together_have_a_limit_and_are_served_round_robin(turns):
    assert [turns.begin(host, host) for host in "aabb"] == [True] * 4
    assert not turns.is_crowded("a")
    for host, name in (("c", "c1"), ("c", "c2"), ("d", "d1"), ("c", "c3"), ("a", "a1")):
        assert not turns.begin(host, name)
    assert turns.is_crowded("b")  # which itself waits for nothing
    for ended, follows in (("a", "c1"), ("a", "d1"), ("b", "a1"), ("b", "c2")):
        turns.end(ended)
        assert [turns.next(), turns.next()] == [follows, None]
    assert turns.has_waiting
    turns.end("d")
    assert turns.next() is None  # a host has its own limit, too
    assert not turns.is_crowded("a")
    turns.end("c")
    assert [turns.next(), turns.has_waiting] == ["c3", False]


def test_who_has_ended_makes_room(turns):
    assert [turns.begin("a", name) for name in "xy"] == [True, True]
    for _ in range(2):
        turns.end("a")
        assert turns.next() is None
    assert [turns.begin("a", name) for name in "xyz"] == [True, True, False]


def test_nobody_begins_any_more_when_the_server_closes(turns):
    assert [turns.begin("a", name) for name in "xyz"] == [True, True, False]
    turns.forget_waiting()
    turns.end("a")
    assert turns.next() is None
