"""Large answers are made while there is room; who keeps it without reading is disconnected.

What small answers add up to has a limit, too.
"""

from collections.abc import Callable

from namekeeper.remoting.unread import CALLS_SHARE, QUEUED_BYTES, STALL_SECONDS, UnreadAnswers


class Slow:
    def __init__(self, size: int) -> None:
        self.size = size
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


class Held:
    """Two connections that hold all there is."""

    def __init__(self) -> None:
        self.time = 0.0
        self.next_iteration: list[Callable[[], None]] = []
        self.unread = UnreadAnswers(10, lambda: self.time, self.next_iteration.append)
        self.one, self.other = Slow(5), Slow(6)
        for holder in (self.one, self.other):
            self.unread.keep(holder, lambda holder=holder: holder.size)


def test_there_is_room_below_the_limit() -> None:
    held = Held()
    assert held.unread.bytes == 11
    assert not held.unread.has_room()
    held.unread.let_go(held.one)
    held.unread.let_go(held.one)
    assert held.unread.has_room()


def test_an_answer_counts_whole_until_its_last_byte_is_written() -> None:
    """The transport keeps it whole: many peers that read all but some bytes held 600 MiB of 64."""
    held = Held()
    held.other.size = 1
    assert not held.unread.has_room()
    assert held.unread.bytes == 11
    held.unread.let_go(held.other)
    assert held.unread.bytes == 5


def test_what_is_written_to_a_slow_reader_counts() -> None:
    """Only its first answer did: 30 connections with ten answers of 3 MB each held 500 MiB of 64."""
    held = Held()
    held.unread.let_go(held.one)
    assert held.unread.has_room()
    held.other.size = 12
    held.unread.add(held.other, 6)
    held.unread.add(Slow(5), 5)
    assert held.unread.bytes == 12
    assert not held.unread.has_room()


def test_an_answer_counts_beside_one_that_is_nearly_read() -> None:
    held = Held()
    held.other.size = 1 + 4
    held.unread.add(held.other, 4)
    assert held.unread.bytes == 5 + 6 + 4


def test_who_always_leaves_a_little_counts_with_what_is_left() -> None:
    """It counted with the most that it ever had, until it had read everything."""
    held = Held()
    for size in (1 + 5, 2 + 7, 3 + 4):
        held.other.size = size
        held.unread.add(held.other, size - 1)
    held.other.size = 2
    assert not held.unread.has_room()
    assert held.unread.bytes == 5 + 6
    held.time = STALL_SECONDS - 1
    held.other.size = 1
    held.unread.has_room()
    held.unread.let_go(held.one)
    assert held.unread.bytes == 6
    held.other.size = 0
    held.unread.add(held.other, 0)
    assert held.unread.bytes == 0


def test_what_is_written_to_slow_readers_keeps_to_the_limit_of_all() -> None:
    held = Held()
    held.time = 1.0
    held.other.size = 16
    held.unread.add(held.other, 10)
    assert [each.is_aborted for each in (held.one, held.other)] == [True, False]


def test_who_reads_nothing_while_others_wait_is_disconnected() -> None:
    held = Held()
    held.time = STALL_SECONDS - 1
    held.one.size = 4
    assert not held.unread.has_room()
    held.time = STALL_SECONDS
    assert held.unread.has_room()
    assert (held.one.is_aborted, held.other.is_aborted) == (False, True)


def test_beyond_the_limit_of_all_who_has_read_nothing_for_longest_is_disconnected() -> None:
    held = Held()
    held.one.size = 4
    held.time = 1.0
    last = Slow(9)
    held.unread.keep(last, lambda: last.size)
    assert [each.is_aborted for each in (held.one, held.other, last)] == [False, False, False]
    held.time = 2.0
    held.one.size = 3
    larger = Slow(5)
    held.unread.keep(larger, lambda: larger.size)
    assert [each.is_aborted for each in (held.one, held.other, last, larger)] == [False, True, False, False]
    assert held.unread.bytes == 19


def test_many_are_disconnected_if_it_takes_many() -> None:
    held = Held()
    large = Slow(21)
    held.unread.keep(large, lambda: large.size)
    assert [each.is_aborted for each in (held.one, held.other, large)] == [True, True, True]


def test_requests_that_wait_count_too() -> None:
    unread = UnreadAnswers(100 * QUEUED_BYTES)
    waiting = [b"request", b"request"]
    unread.keep(Slow(0), lambda: 1, waiting, [b"more", b"bytes"])
    assert unread.bytes == 1 + 2 * QUEUED_BYTES + 9


def test_answers_of_a_disconnected_peer_count_until_its_transport_has_ended() -> None:
    """Thousands were disconnected in one event-loop iteration, and their answers took 800 MiB of 128."""
    held = Held()
    large = Slow(20)
    held.unread.keep(large, lambda: large.size)
    assert [each.is_aborted for each in (held.one, held.other, large)] == [True, True, False]
    assert (held.unread.bytes, held.unread.is_full) == (20, True)
    held.unread.let_go(held.one)
    assert held.unread.is_full is False


def test_after_fast_growth_reads_with_many_requests_wait_for_the_next_iteration() -> None:
    held = Held()
    assert held.unread.grows_fast
    (begin_iteration,) = held.next_iteration
    begin_iteration()
    assert not held.unread.grows_fast
    held.other.size += 1
    held.unread.add(held.other, 1)
    assert not held.unread.grows_fast
    held.other.size += 1
    held.unread.add(held.other, 1)
    assert held.unread.grows_fast


def test_many_connections_beyond_the_limit_are_not_all_measured_for_each_answer() -> None:
    """3,000 connections that read nothing took seconds of a processor."""
    measured = 0
    unread = UnreadAnswers(1_000, lambda: 0.0, lambda _: None)

    def written() -> int:
        nonlocal measured
        measured += 1
        return 4

    for _ in range(3_000):
        unread.keep(Slow(4), written)
    assert unread.bytes == 2_000
    assert measured < 2 * CALLS_SHARE * 3_000
