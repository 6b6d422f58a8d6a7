"""Rows and the time for which they held."""

import pytest

from namekeeper.answers.evidence import Evidence, KnownPeriod, ValidRow


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
