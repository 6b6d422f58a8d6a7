"""Rows and the time for which they held."""

import pytest
from msgspec import structs

from namekeeper.answers.evidence import BrokerSession, Evidence, KnownPeriod, TopicRoute, ValidRow


@pytest.mark.parametrize(
    ("valid_to", "at", "holds", "has_ended"),
    [(20, 9, False, False), (20, 10, True, False), (20, 19, True, False), (20, 20, False, True), (None, 99, True, False)],
)  # fmt: skip
def test_a_row_holds_from_its_first_instant_until_before_its_end(valid_to, at, holds, has_ended):
    row = ValidRow(valid_from=10, valid_to=valid_to)
    assert (row.is_valid(at), row.has_ended(at)) == (holds, has_ended)


def evidence(*periods: KnownPeriod) -> Evidence:
    return Evidence(
        namesrv="n", topic="T", known_from=1, knows_up_to=9, periods=list(periods), routes=[], sessions=[], lookups=[]
    )  # fmt: skip


def test_what_is_known_of_an_instant():
    up, down = (
        KnownPeriod(valid_from=5, valid_to=7, state="up", boot=3),
        KnownPeriod(valid_from=7, state="stopped"),
    )
    found = evidence(up, down)
    assert [found.period_at(at) for at in (4, 5, 6, 7, 99)] == [None, up, up, down, down]


def test_a_boot_began_at_the_time_that_it_is_named_by_unless_the_clock_was_put_back():
    """Its first known time may be later: after a loss the state is known from the next checkpoint on."""
    periods = [
        KnownPeriod(valid_from=at, valid_to=at + 1, state="up", boot=boot)
        for at, boot in ((5, 3), (7, 3), (9, 99))
    ]
    found = evidence(*periods)
    assert (found.began(3), found.began(99)) == (3, 9)


def test_when_the_state_is_known_again():
    periods = [
        KnownPeriod(valid_from=1, valid_to=3, state="up", boot=3),
        KnownPeriod(valid_from=3, valid_to=8, state="unknown"),
        KnownPeriod(valid_from=8, valid_to=9, state="stopped"),
        KnownPeriod(valid_from=9, state="unknown"),
    ]
    found = evidence(*periods)
    assert [found.unknown_until(at) for at in (0, 2, 3, 7, 8, 9)] == [None, None, 8, 8, None, None]


def test_a_row_without_a_master_needs_the_session_of_the_one_it_had():
    """So that `why` can say how that ended, it reads further back."""
    route = TopicRoute(
        broker_name="b", read_queue_nums=4, write_queue_nums=4, perm=6, valid_from=5, from_cause="register_broker"
    )  # fmt: skip
    master = BrokerSession(
        cluster="c", broker_addr="a:1", broker_name="b", broker_id=0, boot=1, gen=1, valid_from=5, valid_to=7
    )  # fmt: skip
    slave = structs.replace(master, broker_id=1, broker_addr="a:2", valid_to=None)
    found = structs.replace(evidence(), routes=[route], sessions=[master, slave])
    assert [found.shows_cause(at) for at in (4, 5, 8)] == [False, True, True]
    assert not structs.replace(found, sessions=[slave]).shows_cause(8)
