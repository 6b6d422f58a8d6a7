"""What thousands of connections hold together has a limit; beyond it those of who holds most are disconnected."""

from namekeeper.remoting.unserved import MIN_COUNTED_BYTES, UnservedRequests

K = 4_096


class Holding:
    def __init__(self, *, has_broker: bool = False) -> None:
        self.has_broker = has_broker
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


def test_what_is_held_adds_up_and_is_given_back() -> None:
    unserved = UnservedRequests(10 * K)
    one, other = Holding(), Holding()
    unserved.keep(one, "a", 3 * K)
    unserved.keep(other, "b", 4 * K)
    unserved.keep(one, "a", 5 * K)
    assert unserved.bytes == 9 * K
    unserved.keep(other, "b", 1 * K)
    assert unserved.bytes == 6 * K
    unserved.let_go(one, "a")
    unserved.let_go(one, "a")
    unserved.let_go(other, "b")
    assert unserved.bytes == 0


def test_little_is_not_counted() -> None:
    unserved = UnservedRequests(10 * K)
    one = Holding()
    assert unserved.keep(one, "a", MIN_COUNTED_BYTES - 1) == 0
    assert unserved.keep(one, "a", MIN_COUNTED_BYTES) == MIN_COUNTED_BYTES
    assert unserved.bytes == MIN_COUNTED_BYTES
    assert unserved.keep(one, "a", 0) == 0
    assert unserved.bytes == 0


def test_beyond_half_of_the_limit_it_is_tight() -> None:
    unserved = UnservedRequests(10 * K)
    unserved.keep(Holding(), "a", 5 * K)
    assert not unserved.is_tight
    unserved.keep(Holding(), "b", 1 * K)
    assert unserved.is_tight


def test_beyond_the_limit_the_host_that_holds_most_loses_who_has_held_for_longest() -> None:
    unserved = UnservedRequests(10 * K)
    alone, first, second, third = (Holding() for _ in range(4))
    unserved.keep(alone, "a", 4 * K)
    for each in (first, second):
        unserved.keep(each, "b", 3 * K)
    unserved.keep(first, "b", 2 * K)
    assert unserved.bytes == 9 * K
    unserved.keep(third, "a", 2 * K)
    assert [each.is_aborted for each in (alone, first, second, third)] == [True, False, False, False]
    unserved.keep(third, "c", 4 * K)
    assert [each.is_aborted for each in (first, second, third)] == [True, False, False]
    assert unserved.bytes == (3 + 2 + 4) * K


def test_who_has_a_broker_is_disconnected_last() -> None:
    unserved = UnservedRequests(10 * K)
    broker, stranger = Holding(has_broker=True), Holding()
    unserved.keep(broker, "a", 6 * K)
    unserved.keep(stranger, "a", 6 * K)
    assert (broker.is_aborted, stranger.is_aborted) == (False, True)
    unserved.keep(broker, "a", 11 * K)
    assert broker.is_aborted
    assert unserved.bytes == 0
