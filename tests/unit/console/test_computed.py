"""A value that takes long is computed by one thread at a time, while all others go on."""

import threading

import pytest

from namekeeper.console.computed import Computed, LastOf, cached_until
from tests.support.system.processes import eventually
from tests.unit.console.test_histories import Clock


class Slow:
    """Counts, and waits each time until it may end."""

    def __init__(self) -> None:
        self.count = 0
        self.may_end = threading.Event()

    def __call__(self) -> int:
        self.count += 1
        assert self.may_end.wait(20)
        return self.count


def test_it_is_computed_again_after_a_while():
    clock, slow = Clock(0), Slow()
    slow.may_end.set()
    computed = Computed(slow, clock)
    assert [computed.value(), computed.value()] == [1, 1]
    clock.mono_ms += 1_000
    assert computed.value() == 2


def test_while_it_is_computed_others_get_the_last_one():
    clock, slow = Clock(0), Slow()
    slow.may_end.set()
    computed = Computed(slow, clock)
    computed.value()
    slow.may_end.clear()
    clock.mono_ms += 1_000
    thread = threading.Thread(target=computed.value)
    thread.start()
    eventually(lambda: slow.count == 2, within=20, what="the computation")
    assert [computed.value(), computed.value()] == [1, 1]
    slow.may_end.set()
    thread.join()
    assert (computed.value(), slow.count) == (2, 2)


def test_two_that_ask_first_compute_it_once():
    slow, found = Slow(), []
    computed = Computed(slow, Clock(0))
    threads = [threading.Thread(target=lambda: found.append(computed.value())) for _ in range(2)]
    for thread in threads:
        thread.start()
    eventually(lambda: slow.count == 1, within=20, what="the computation")
    slow.may_end.set()
    for thread in threads:
        thread.join()
    assert (found, slow.count) == ([1, 1], 1)


def test_an_error_goes_to_the_caller_and_the_next_one_computes_it():
    answers = iter([ZeroDivisionError, 7])

    def compute() -> int:
        found = next(answers)
        if found is ZeroDivisionError:
            raise ZeroDivisionError
        return found

    computed = Computed(compute, Clock(0))
    with pytest.raises(ZeroDivisionError):
        computed.value()
    assert computed.value() == 7


@pytest.mark.parametrize(("took", "until"), [(0, 1_000), (100, 1_100), (700, 7_700)])
def test_an_answer_is_computed_for_a_tenth_of_the_time(took, until):
    assert cached_until(50, 50 + took) == 50 + until


def test_a_value_of_the_last_key_is_computed_once_and_never_given_for_another():
    last, made = LastOf[int, str](), []

    def make(key: int) -> str:
        made.append(key)
        if key == 1:
            assert last.value(2, lambda: make(2)) == "2"  # another thread asks meanwhile
        return str(key)

    assert last.value(1, lambda: make(1)) == "1"
    assert (last.has(1), last.has(2)) == (True, False)
    assert (last.value(1, lambda: make(1)), made) == ("1", [1, 2])
