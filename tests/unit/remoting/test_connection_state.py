"""Every transition of a connection, the legal and the illegal ones, as values."""

import itertools

import pytest

from namekeeper.remoting.connection_state import (
    ARRIVING,
    CLOSED,
    CLOSING,
    FLOWING,
    FLUSHING,
    HANDED_OFF,
    HELD_UP,
    UNREAD,
    ConnectionState,
    next_state,
)

LEGAL = {
    (FLOWING, ARRIVING), (FLOWING, HELD_UP), (FLOWING, UNREAD), (FLOWING, HANDED_OFF),
    (ARRIVING, FLOWING), (ARRIVING, HELD_UP), (ARRIVING, UNREAD),
    (HELD_UP, FLOWING), (HELD_UP, ARRIVING), (HELD_UP, UNREAD),
    (UNREAD, HELD_UP),
    (HANDED_OFF, FLOWING),
    *itertools.product((FLOWING, ARRIVING, HELD_UP, UNREAD, HANDED_OFF), (CLOSING, CLOSED)),
    (CLOSING, FLUSHING), (CLOSING, CLOSED),
    (FLUSHING, CLOSED),
}  # fmt: skip
EVERY = list(itertools.product(ConnectionState, repeat=2))


@pytest.mark.parametrize(("now", "then"), [pair for pair in EVERY if pair in LEGAL])
def test_a_legal_transition_gives_its_target(now: ConnectionState, then: ConnectionState):
    assert next_state(now, then) is then


@pytest.mark.parametrize(("now", "then"), [pair for pair in EVERY if pair not in LEGAL])
def test_every_other_transition_is_refused(now: ConnectionState, then: ConnectionState):
    with pytest.raises(RuntimeError, match=f"can't go from {now.value} to {then.value}"):
        next_state(now, then)


@pytest.mark.parametrize(
    ("state", "is_open", "is_read", "is_paused"),
    [
        (FLOWING, True, True, False),
        (ARRIVING, True, True, False),
        (HELD_UP, True, False, True),
        (UNREAD, True, False, True),
        (HANDED_OFF, True, False, False),
        (CLOSING, False, False, False),
        (FLUSHING, False, False, False),
        (CLOSED, False, False, False),
    ],
)
def test_a_state_decides_what_a_connection_does(
    state: ConnectionState, is_open: bool, is_read: bool, is_paused: bool
):
    assert (state.is_open, state.is_read, state.is_paused) == (is_open, is_read, is_paused)
