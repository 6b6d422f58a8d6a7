"""Which build advances next: turns of hosts and connections, short builds beside long ones."""

import pytest

from namekeeper.route.build_order import SHORT_SLICES, BuildOrder, QueuedChange


class Change:
    def __init__(self, title, remote_addr):
        self.title, self.remote_addr = title, remote_addr
        self.ended = 0

    def slices(self):
        try:
            while True:
                yield
        finally:
            self.ended += 1


class Order:
    """An order whose turns are written down."""

    def __init__(self):
        self.order = BuildOrder()
        self.builds = {}

    def add(self, title, remote_addr=None):
        change = Change(title, remote_addr)
        build = self.builds[title] = QueuedChange(change, print, ())
        self.order.add(build)
        return build

    def turns(self, count=1):
        titles = ""
        for _ in range(count):
            build = self.order.next()
            assert build is not None
            if build.build is None:
                build.build = build.change.slices()
            next(build.build)
            titles += build.change.title
        return titles

    def end(self, title):
        self.order.leave(self.builds[title])


@pytest.fixture
def order():
    return Order()


def test_without_builds_nobody_has_the_turn(order):
    assert order.order.next() is None
    assert len(order.order) == 0


def test_builds_of_a_connection_run_one_after_the_other(order):
    order.add("a", "10.0.0.1:1")
    order.add("b", "10.0.0.1:1")
    assert (order.turns(3), len(order.order)) == ("aaa", 2)
    order.end("a")
    assert (order.turns(2), len(order.order)) == ("bb", 1)


def finished(order, count):
    """Who has the turn, when each build takes one."""
    titles = ""
    for _ in range(count):
        title = order.turns()
        order.end(title)
        titles += title
    return titles


def test_connections_of_a_host_take_turns(order):
    for title in "abc":
        order.add(title, "10.0.0.1:1")
    order.add("x", "10.0.0.1:2")
    order.add("y", "10.0.0.1:2")
    assert finished(order, 5) == "axbyc"


def test_hosts_take_turns_however_many_connections_they_have(order):
    for port, title in enumerate("abcd"):
        order.add(title, f"10.0.0.1:{port}")
    order.add("x", "10.0.0.2:1")
    order.add("y", "10.0.0.2:1")
    assert finished(order, 6) == "axbycd"


def test_changes_without_a_requester_are_one_connection(order):
    for title in "abc":
        order.add(title)
    assert [build.change.title for build in order.order] == ["a", "b", "c"]
    assert finished(order, 3) == "abc"


def test_a_build_that_takes_long_runs_on_while_nobody_waits(order):
    order.add("a", "10.0.0.1:1")
    assert order.turns(3 * SHORT_SLICES) == "a" * 3 * SHORT_SLICES
    assert order.builds["a"].change.ended == 0


def test_a_build_that_takes_long_runs_beside_a_short_one_that_waits(order):
    order.add("a", "10.0.0.1:1")
    order.add("b", "10.0.0.1:2")
    assert order.turns(SHORT_SLICES) == "a" * SHORT_SLICES
    assert sorted(order.turns(10)) == ["a"] * 5 + ["b"] * 5
    order.end("b")
    assert order.turns(3) == "aaa"
    assert order.builds["a"].change.ended == 0


def test_a_second_one_that_takes_long_begins_anew_when_the_first_is_over(order):
    for title in "abc":
        order.add(title, f"10.0.0.1:{title}")
    order.turns(SHORT_SLICES)
    order.turns(2 * SHORT_SLICES)
    assert set(order.turns(10)) == {"a", "c"}
    assert (order.builds["b"].build, order.builds["b"].change.ended) == (None, 1)
    order.end("a")
    assert set(order.turns(10)) == {"b", "c"}
    order.end("c")
    assert (order.turns(3), len(order.order)) == ("bbb", 1)


def test_a_change_that_is_visible_already_is_not_begun_anew(order):
    for title in "abc":
        order.add(title, f"10.0.0.1:{title}")
    order.turns(SHORT_SLICES)
    order.turns(2 * SHORT_SLICES - 1)
    order.builds["b"].clean_up = iter(())
    assert set(order.turns(10)) == {"a", "b"}
    assert order.builds["b"].change.ended == 0
