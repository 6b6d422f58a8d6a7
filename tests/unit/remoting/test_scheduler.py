"""An iteration has so much time: requests first and fair by host, then background work, which never starves."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import namekeeper
from namekeeper.remoting.scheduler import ITERATION_SECONDS, MISS_SECONDS, MISS_TURN_SECONDS, Scheduler

HALF = ITERATION_SECONDS / 2


class Loop:
    """A scheduler whose clock and iterations are in the hands of the test."""

    def __init__(self) -> None:
        self.time = 1.0
        self.ordered: list[Callable[[], None]] = []
        self.did: list[str] = []
        self.scheduler = Scheduler(lambda: self.time, self.ordered.append)

    def iterate(self) -> str:
        """Run the next iteration; return what it did."""
        before = len(self.did)
        self.ordered.pop(0)()
        return "".join(self.did[before:])

    def iterations(self) -> list[str]:
        """Run iterations until none is ordered."""
        found = []
        while self.ordered:
            found.append(self.iterate())
        return found

    def work(self, name: str, *, seconds: float = HALF) -> None:
        self.did.append(name)
        self.time += seconds

    def wait(self, name: str, host: str = "", *, seconds: float = HALF, **more: bool) -> None:
        self.scheduler.wait(lambda: self.work(name, seconds=seconds), peer=(host, name == "broker"), **more)

    def steps(self, name: str, count: int, *, seconds: float = HALF) -> Callable[[], bool]:
        left = count

        def step() -> bool:
            nonlocal left
            left -= 1
            self.work(name, seconds=seconds)
            return left > 0

        return step

    def add(self, name: str, count: int, *, seconds: float = HALF) -> None:
        self.scheduler.add(self.steps(name, count, seconds=seconds))


@pytest.fixture
def loop() -> Loop:
    return Loop()


# Requests.


def test_an_iteration_has_time_until_it_is_used_up_and_the_next_has_again(loop: Loop) -> None:
    assert loop.scheduler.has_time()
    assert loop.scheduler.has_time()
    loop.time += HALF
    assert not loop.scheduler.has_time()
    assert loop.iterations() == [""]
    assert loop.scheduler.has_time()


def test_who_waits_is_served_in_order_as_far_as_each_iteration_has_time(loop: Loop) -> None:
    for name in "abc":
        loop.wait(name)
    assert loop.did == []
    assert loop.iterate() == "a"
    assert not loop.scheduler.has_time()
    assert loop.iterations() == ["b", "c", ""]


def test_who_waits_again_is_served_in_the_next_iteration(loop: Loop) -> None:
    def again() -> None:
        loop.did.append("a")
        loop.scheduler.wait(again)

    again()
    assert [loop.iterate() for _ in range(3)] == ["a", "a", "a"]


def test_what_takes_no_time_is_served_in_one_iteration(loop: Loop) -> None:
    for name in "abcdefgh":
        loop.wait(name, seconds=0)
    assert loop.iterations() == ["abcdefgh", ""]


def test_what_takes_long_waits_apart_one_for_each_iteration(loop: Loop) -> None:
    for name in "abc":
        loop.wait(name, is_long=True)
    for name in "xy":
        loop.wait(name)
    assert loop.iterations() == ["xa", "yb", "c", ""]
    assert loop.scheduler.has_time(), "nothing waits: the next call starts to count the time"


def test_hosts_are_served_round_robin_however_many_connections_one_has(loop: Loop) -> None:
    for name in ("a1", "a2", "a3", "broker"):
        loop.wait(name, "a")
    loop.wait("b1", "b")
    loop.iterations()
    assert loop.did == ["a1", "broker", "b1", "a2", "a3"]


# Lookups that the cache does not answer.


def test_misses_have_a_time_of_their_own_and_the_next_iteration_has_it_again(loop: Loop) -> None:
    assert loop.scheduler.has_time_for_miss()
    loop.time += MISS_SECONDS * 0.9
    assert loop.scheduler.has_time_for_miss()
    assert not loop.scheduler.is_late
    loop.time += MISS_SECONDS * 0.2
    assert not loop.scheduler.has_time_for_miss()
    assert loop.scheduler.is_late
    assert loop.iterations() == [""]
    assert not loop.scheduler.is_late
    assert loop.scheduler.has_time_for_miss()


def test_misses_that_wait_come_first_and_as_many_as_an_iteration_has_time_for(loop: Loop) -> None:
    loop.wait("r")
    loop.add("x", 1)
    for name in "abc":
        loop.wait(name, is_miss=True, seconds=MISS_SECONDS * 0.6)
    assert loop.iterations() == ["abrx", "c", ""]


def test_misses_that_arrive_have_the_rest_of_their_time(loop: Loop) -> None:
    loop.wait("a", is_miss=True, seconds=MISS_SECONDS * 0.6)
    loop.wait("r", seconds=HALF)
    loop.add("x", 1, seconds=HALF)
    assert loop.iterate() == "arx"
    assert loop.scheduler.has_time_for_miss()
    loop.time += MISS_SECONDS * 0.3
    assert loop.scheduler.has_time_for_miss()
    loop.time += MISS_SECONDS * 0.2
    assert not loop.scheduler.has_time_for_miss()


def test_misses_take_no_time_from_requests(loop: Loop) -> None:
    loop.wait("a", is_miss=True, seconds=MISS_SECONDS)
    loop.wait("r", seconds=HALF / 2)
    loop.wait("s", seconds=HALF / 2)
    assert loop.iterate() == "ars"


def test_misses_of_one_connection_have_a_part_of_the_time(loop: Loop) -> None:
    """A client waits behind thousands of connections of its host only as long as each of them has a few."""
    served = 0

    def serve() -> None:
        nonlocal served
        for _ in range(1_000):
            served += 1
            loop.time += MISS_TURN_SECONDS * 0.6
            if not loop.scheduler.has_time_for_miss():
                break

    loop.scheduler.wait(serve, is_miss=True)
    loop.wait("a", is_miss=True, seconds=0)
    assert loop.iterate() == "a"
    assert served == 2


def test_hosts_of_misses_are_served_round_robin(loop: Loop) -> None:
    for name in ("a1", "a2", "a3", "broker"):
        loop.wait(name, "a", is_miss=True)
    loop.wait("b1", "b", is_miss=True)
    loop.iterations()
    assert loop.did == ["a1", "broker", "b1", "a2", "a3"]


def test_short_misses_wait_for_no_long_ones_and_long_ones_have_the_other_half(loop: Loop) -> None:
    for _ in range(5):
        loop.wait("L", is_miss=True, is_long=True, seconds=MISS_SECONDS * 0.31)
    for name in "abcde":
        loop.wait(name, is_miss=True, seconds=MISS_SECONDS * 0.2)
    assert loop.iterations()[:3] == ["abcLL", "deLL", "L"]


def test_an_error_of_a_short_miss_loses_no_long_one(loop: Loop) -> None:
    loop.scheduler.wait(lambda: loop.work("!") or 1 // 0, is_miss=True)  # type: ignore[func-returns-value]
    loop.wait("L", is_miss=True, is_long=True, seconds=0)
    with pytest.raises(ZeroDivisionError):
        loop.iterate()
    assert loop.did == ["!", "L"]


# Background work.


def test_requests_come_before_background_work(loop: Loop) -> None:
    loop.add("x", 1)
    loop.wait("a")
    assert loop.iterations() == ["ax", ""]


@pytest.mark.parametrize("share", [1, 2, 4])
def test_background_work_has_a_half_shared_round_robin(loop: Loop, share: int) -> None:
    for name in "xyz":
        loop.add(name, 20, seconds=1.001 * HALF / share)
    found = [loop.iterate() for _ in range(12)]
    assert [len(did) for did in found] == [share] * 12
    assert "".join(found) == "xyz" * 4 * share


def test_background_work_goes_on_however_many_requests_wait(loop: Loop) -> None:
    def again() -> None:
        loop.work("a")
        loop.scheduler.wait(again)

    for _ in range(3):
        loop.scheduler.wait(again)
    loop.add("x", 3)
    loop.add("y", 3)
    assert [loop.iterate() for _ in range(4)] == ["ax", "ay", "ax", "ay"]


def test_requests_that_arrive_after_background_work_have_the_rest_of_their_half(loop: Loop) -> None:
    loop.wait("a", seconds=HALF / 2)
    loop.add("x", 1, seconds=HALF * 5)
    assert loop.iterate() == "ax"
    assert loop.scheduler.has_time()
    loop.time += HALF * 0.4
    assert loop.scheduler.has_time()
    loop.time += HALF * 0.2
    assert not loop.scheduler.has_time()


def test_work_that_is_added_by_work_waits_for_the_next_iteration(loop: Loop) -> None:
    def step() -> bool:
        loop.add("y", 1, seconds=0)
        loop.work("x", seconds=0)
        return False

    loop.scheduler.add(step)
    assert loop.iterations() == ["x", "y", ""]


def test_what_is_started_goes_on_at_once_and_as_background_work_when_time_is_over(loop: Loop) -> None:
    loop.scheduler.start(loop.steps("x", 5, seconds=1.001 * HALF / 2))
    assert loop.did == ["x", "x"]
    assert loop.iterations() == ["xx", "x", ""]


def test_what_is_started_without_time_has_one_step_at_once(loop: Loop) -> None:
    assert loop.scheduler.has_time()
    loop.time += HALF
    loop.scheduler.start(loop.steps("x", 1))
    loop.scheduler.start(loop.steps("y", 2))
    assert loop.did == ["x", "y"]
    assert loop.iterations() == ["y", ""]


# Errors.


def test_an_error_of_a_request_loses_no_other_call(loop: Loop) -> None:
    loop.scheduler.wait(lambda: loop.work("!") or 1 // 0)  # type: ignore[func-returns-value]
    loop.wait("a")
    loop.wait("b", is_long=True)
    loop.add("x", 1)
    with pytest.raises(ZeroDivisionError):
        loop.iterate()
    assert loop.did == ["!", "x"]
    assert loop.iterations() == ["ab", ""]


def test_an_error_of_a_miss_loses_no_other_call(loop: Loop) -> None:
    loop.scheduler.wait(lambda: loop.work("!") or 1 // 0, is_miss=True)  # type: ignore[func-returns-value]
    loop.wait("a", is_miss=True, seconds=0)
    loop.wait("r", seconds=0)
    loop.add("x", 1, seconds=0)
    with pytest.raises(ZeroDivisionError):
        loop.iterate()
    assert loop.did == ["!", "r", "x"]
    assert loop.iterations() == ["a", ""]


@pytest.mark.parametrize("is_started", [True, False])
def test_an_error_of_a_step_loses_neither_it_nor_another(loop: Loop, is_started: bool) -> None:
    left = 3

    def failing() -> bool:
        nonlocal left
        left -= 1
        loop.work("!", seconds=0)
        if left:
            raise ZeroDivisionError
        return False

    if is_started:
        with pytest.raises(ZeroDivisionError):
            loop.scheduler.start(failing)
    else:
        loop.scheduler.add(failing)
    loop.add("x", 2, seconds=0)
    found = []
    while loop.ordered:
        try:
            loop.iterate()
        except ZeroDivisionError:
            found.append("error")
    assert sorted(loop.did) == ["!", "!", "!", "x", "x"]
    assert loop.did.index("x") < 3, "it does not wait for the end of the errors"
    assert len(found) == 2 - is_started


# One budget.


def test_no_other_module_divides_the_time_of_an_iteration() -> None:
    budget = re.compile(
        r"^\s*(?:(?:TURN|ITERATION|SLICE|BUDGET)_(?:SECONDS|S|MS)\b.*=|def \w*has_time\b|.*\basyncio\.sleep\(0\))"
    )
    source = Path(namekeeper.__file__).parent
    found = {
        (path.relative_to(source).as_posix(), line.split(" = ")[0].split("(")[0].strip())
        for package in ("access", "app", "http", "journal", "lookup_cache", "processor", "remoting", "route")
        for path in (source / package).rglob("*.py")
        for line in path.read_text().splitlines()
        if budget.match(line)
    }
    assert found == {
        ("remoting/scheduler.py", "ITERATION_SECONDS"),
        ("remoting/scheduler.py", "def has_time"),
        ("remoting/asking_pages.py", "await asyncio.sleep"),  # of a client, while its sockets close
    }


# Slices with a result, on a real loop.


async def test_slices_are_finished_in_the_background_and_give_their_result() -> None:
    loop = Loop()
    loop.scheduler = Scheduler(lambda: loop.time)

    def slices(name: str):
        for _ in range(3):
            loop.work(name)
            yield
        return name

    both = await asyncio.gather(loop.scheduler.finish(slices("x")), loop.scheduler.finish(slices("y")))
    assert (both, loop.did) == (["x", "y"], ["x", "y"] * 3)


async def test_an_error_of_a_slice_is_that_of_who_waits_and_a_cancelled_task_ends_the_slices() -> None:
    loop = Loop()
    loop.scheduler = Scheduler(lambda: loop.time)

    def slices(count: int):
        for _ in range(count):
            loop.work("x")
            yield
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await loop.scheduler.finish(slices(1))
    endless = asyncio.create_task(loop.scheduler.finish(slices(10**9)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    endless.cancel()
    with pytest.raises(asyncio.CancelledError):
        await endless
    await asyncio.sleep(0)
    before = len(loop.did)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(loop.did) == before > 1
