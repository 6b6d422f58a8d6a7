"""Rows of evidence in words."""

import pytest

from namekeeper.answers.evidence import BrokerSession, Evidence, TopicRoute
from namekeeper.answers.phrases import (
    CLOSED_BY,
    end_of_row,
    end_of_session,
    ended,
    session_ended_with,
    was_dropped_by_broker,
    with_cause,
)
from namekeeper.route.channel import ClosedBy


def route(**more) -> TopicRoute:
    values = {
        "broker_name": "b",
        "read_queue_nums": 8,
        "write_queue_nums": 4,
        "perm": 6,
        "valid_from": 1,
        "valid_to": 9,
    }
    return TopicRoute(**{**values, **more})


def evidence(*sessions: BrokerSession) -> Evidence:
    return Evidence(
        namesrv="n", topic="T", known_from=1, knows_up_to=9, periods=[], routes=[], sessions=list(sessions), lookups=[]
    )  # fmt: skip


def session(**more) -> BrokerSession:
    values = {
        "cluster": "c", "broker_addr": "a:1", "broker_name": "b", "broker_id": 0, "boot": 1, "gen": 1,
        "valid_from": 1, "valid_to": 9, "reason": "expired", "idle_ms": 120_004,
    }  # fmt: skip
    return BrokerSession(**{**values, **more})


@pytest.mark.parametrize(
    ("cause", "peer", "text"),
    [
        ("register_broker", "p:1", "b: 8 read and 4 write queues, RW-, registered by p:1"),
        (None, None, "b: 8 read and 4 write queues, RW-, as seen in a checkpoint"),
        ("expired", None, "b: 8 read and 4 write queues, RW-, not writable since its master expired"),
        (
            "channel_closed", "p:1",
            "b: 8 read and 4 write queues, RW-, not writable since its master lost its connection from p:1",
        ),
        ("a_later_one", None, "b: 8 read and 4 write queues, RW-, a_later_one"),
    ],
)  # fmt: skip
def test_who_made_a_row(cause, peer, text):
    assert with_cause(evidence(), route(from_cause=cause, from_peer=peer)) == text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"ended_by": "unknown"}, "b had it until records were lost"),
        ({"to_cause": "delete_topic", "to_peer": "p:1"}, "deleted on b by p:1"),
        ({"to_cause": "register_broker"}, "b registered without it"),
        ({"to_cause": "expired", "reason": "broker_name_removed"}, "b (a:1) expired, 2 min after it was last heard"),
        ({"to_cause": "expired", "valid_to": 8}, "b expired"),
        ({"to_cause": "a_later_one", "valid_to": 8}, "b is gone"),
        (
            {"to_cause": "observed", "reason": None},
            "b did not have it any more: it was deleted, or registered without it",
        ),
    ],
)  # fmt: skip
def test_how_a_row_ended(more, text):
    assert end_of_row(evidence(session()), route(**more)) == text


def test_an_observer_does_not_know_when_a_broker_was_last_heard():
    gone = route(to_cause="observed", reason="broker_name_removed")
    assert end_of_row(evidence(session(reason="observed", idle_ms=0)), gone) == "b (a:1) is gone"
    assert end_of_session(session(idle_ms=0, to_window_ms=1_000)) == "b (a:1) expired"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"ended_by": "stopped"}, "b (a:1) was registered until the name server stopped"),
        ({"ended_by": "unknown"}, "b (a:1) was registered until records were lost"),
        (
            {"reason": "channel_closed", "to_peer": "p:1", "closed_by": "idle", "to_window_ms": 1},
            "b (a:1) was silent, so the name server closed its connection from p:1",
        ),
    ],
)
def test_how_a_registration_ended(more, text):
    assert end_of_session(session(**more)) == text


def test_the_session_behind_a_row_ended_with_it():
    ours = session()
    others = [session(broker_name="x"), session(valid_to=8), session(reason=None)]
    assert session_ended_with(evidence(*others, ours), route()) is ours
    assert session_ended_with(evidence(*others), route()) is None


def test_a_broker_that_took_another_name_did_not_drop_the_topic():
    assert was_dropped_by_broker(route(to_cause="register_broker"))
    assert not was_dropped_by_broker(route(to_cause="register_broker", reason="broker_name_removed"))


@pytest.mark.parametrize(
    ("closed_by", "text"),
    [
        (None, "lost its connection"),
        ("peer", "lost its connection (the peer closed it)"),
        ("reset", "lost its connection (it was reset)"),
        ("idle", "was silent, so the name server closed its connection"),
        ("limit", "lost its connection (the name server closed it, because of a limit)"),
        ("tls", "lost its connection (TLS failed)"),
        ("a_later_one", "lost its connection (a_later_one)"),
    ],
)
def test_who_closed_a_connection_is_a_part_of_how_its_broker_went(closed_by, text):
    """A broker that hangs was said to have lost its connection, as one that was killed."""
    assert ended("channel_closed", closed_by) == text
    assert ended("expired", None) == "expired"


def test_every_one_who_closes_a_connection_has_a_phrase():
    assert set(CLOSED_BY) == set(ClosedBy)
