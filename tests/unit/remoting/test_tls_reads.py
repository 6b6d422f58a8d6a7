"""An iteration decrypts for a limited time; then connections wait, and hosts alternate."""

from collections.abc import Callable

import pytest

from namekeeper.remoting.scheduler import READ_SECONDS, READS_AT_ONCE, Scheduler
from namekeeper.remoting.tls_reads import TlsReads


class Loop:
    """A clock, and the calls of the next iteration."""

    def __init__(self) -> None:
        self.now = 1.0
        self.calls: list[Callable[[], None]] = []

    def call_soon(self, call: Callable[[], None]) -> None:
        self.calls.append(call)

    def iterate(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Connection:
    def __init__(self, reads: TlsReads, host: str) -> None:
        self.peer = host, False
        self.is_waiting = self.is_closed = False
        reads.add(self)

    def pause_decrypting(self) -> None:
        assert not self.is_waiting
        self.is_waiting = True

    def go_on(self) -> bool:
        self.is_waiting = False
        return not self.is_closed


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def reads(loop: Loop) -> TlsReads:
    return TlsReads(Scheduler(lambda: loop.now, loop.call_soon))


def decrypted(reads: TlsReads, loop: Loop, seconds: float) -> None:
    loop.now += seconds
    reads.note()


def test_nobody_waits_while_there_is_time(reads, loop):
    some = [Connection(reads, "a") for _ in range(100)]
    for _ in range(10):
        for _ in some:
            decrypted(reads, loop, READ_SECONDS / 200)
        loop.iterate()
    assert not any(each.is_waiting for each in some)
    assert not loop.calls


def test_after_the_time_all_wait_and_some_go_on_in_each_iteration(reads, loop):
    some = [Connection(reads, "a") for _ in range(3 * READS_AT_ONCE)]
    decrypted(reads, loop, 0)
    decrypted(reads, loop, READ_SECONDS * 2)
    for waiting in (3, 2, 1, 0):
        assert sum(each.is_waiting for each in some) == waiting * READS_AT_ONCE
        loop.iterate()
    loop.iterate()
    assert not loop.calls


def test_hosts_alternate(reads, loop):
    many = [Connection(reads, "many") for _ in range(10 * READS_AT_ONCE)]
    one = Connection(reads, "one")
    decrypted(reads, loop, 0)
    decrypted(reads, loop, READ_SECONDS * 2)
    assert one.is_waiting
    loop.iterate()
    assert not one.is_waiting
    assert sum(not each.is_waiting for each in many) == READS_AT_ONCE - 1


def test_those_that_went_on_wait_again_if_they_take_the_time(reads, loop):
    some = [Connection(reads, "a") for _ in range(2 * READS_AT_ONCE)]
    decrypted(reads, loop, 0)
    decrypted(reads, loop, READ_SECONDS * 2)
    loop.iterate()
    decrypted(reads, loop, READ_SECONDS * 2)
    assert all(each.is_waiting for each in some)
    loop.iterate()
    assert [each.is_waiting for each in some] == [True] * READS_AT_ONCE + [False] * READS_AT_ONCE


def test_a_connection_that_closes_is_forgotten(reads, loop):
    flowing, waiting = Connection(reads, "a"), Connection(reads, "a")
    reads.discard(flowing)
    decrypted(reads, loop, 0)
    decrypted(reads, loop, READ_SECONDS * 2)
    assert (flowing.is_waiting, waiting.is_waiting) == (False, True)
    waiting.is_closed = True
    reads.discard(waiting)
    loop.iterate()
    assert not reads._flowing
