"""Steps in several threads."""

import time
from threading import Barrier

import pytest

from namekeeper.pipeline.gold.together import AT_ONCE, do_together


def test_all_steps_are_done():
    done = []
    do_together([lambda number=number: done.append(number) for number in range(20)])
    assert sorted(done) == list(range(20))


def test_steps_go_on_at_once():
    everybody = Barrier(AT_ONCE)
    do_together([lambda: everybody.wait(30) for _ in range(AT_ONCE)])


def test_when_one_fails_those_that_have_not_begun_are_left_out():
    begun = []

    def fail() -> None:
        raise LookupError("no such table")

    def take_a_while() -> None:
        begun.append(1)
        time.sleep(0.01)  # so that not all can be done before the failure is seen

    with pytest.raises(LookupError, match="no such table"):
        do_together([fail, *[take_a_while] * 1_000])
    assert len(begun) < 1_000
