"""Steps in several threads."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier, Event, Timer

import pytest

from namekeeper.pipeline.gold import concurrency
from namekeeper.pipeline.gold.concurrency import AT_ONCE, run_concurrently, run_in_background
from tests.support.system.waiting import PATIENCE


def test_all_steps_are_done():
    done = []
    run_concurrently([lambda number=number: done.append(number) for number in range(20)])
    assert sorted(done) == list(range(20))


def test_steps_go_on_at_once():
    everybody, passed = Barrier(AT_ONCE), []
    run_concurrently([lambda: passed.append(everybody.wait(30 * PATIENCE)) for _ in range(AT_ONCE)])
    assert sorted(passed) == list(range(AT_ONCE))


def test_when_one_fails_those_that_have_not_begun_are_left_out(monkeypatch):
    begun, is_seen = [], Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, *, cancel_futures: bool = False, **_: object) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            is_seen.set()
            super().shutdown()

    def fail() -> None:
        raise LookupError("no such table")

    def go_on_until_the_failure_is_seen() -> None:
        begun.append(is_seen.wait(30 * PATIENCE))

    monkeypatch.setattr(concurrency, "ThreadPoolExecutor", Pool)
    with pytest.raises(LookupError, match="no such table"):
        run_concurrently([fail, *[go_on_until_the_failure_is_seen] * 1_000])
    assert begun == [True] * AT_ONCE


def test_a_step_goes_on_beside_others_and_can_be_waited_for():
    both = Barrier(2)
    with run_in_background(lambda: both.wait(30 * PATIENCE) >= 0) as done:
        both.wait(30 * PATIENCE)
        assert done() is True


def test_a_step_has_ended_when_what_is_beside_it_has():
    may_end, ended = Event(), []
    with run_in_background(lambda: ended.append(may_end.wait(30 * PATIENCE))):
        Timer(0.01, may_end.set).start()
    assert ended == [True]


def test_a_step_that_fails_raises_whether_somebody_waits_or_not():
    def fail() -> None:
        raise LookupError("no such table")

    with pytest.raises(LookupError, match="no such table"), run_in_background(fail) as done:
        done()
    with pytest.raises(LookupError, match="no such table"), run_in_background(fail):
        pass


def test_a_failure_beside_a_step_is_the_one_that_is_raised():
    ended = []
    with pytest.raises(LookupError, match="beside"), run_in_background(lambda: ended.append(1)):
        raise LookupError("beside")
    assert ended == [1]


@pytest.mark.parametrize(
    "around", [run_in_background, lambda step: nullcontext(run_concurrently([interrupt, step]))]
)
def test_after_an_interrupt_nobody_waits_for_a_step_that_may_take_minutes(around):
    may_end = Event()
    try:
        with pytest.raises(KeyboardInterrupt), around(lambda: may_end.wait(30 * PATIENCE)):
            interrupt()
        assert not may_end.is_set()
    finally:
        may_end.set()


def interrupt() -> None:
    raise KeyboardInterrupt
