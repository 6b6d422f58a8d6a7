"""Sets of broker names that share a history are sets like others, and cheap."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.route import broker_names
from namekeeper.route.broker_names import BrokerNames, in_order

steps = st.lists(st.tuples(st.sampled_from("abcdefg"), st.booleans(), st.integers(0, 9)), max_size=60)


@given(steps, st.integers(0, 3))
def test_every_set_stays_what_it_was(steps, spare):
    spare_before, broker_names.SPARE_ENTRIES = broker_names.SPARE_ENTRIES, spare
    try:
        made = [(BrokerNames("ab"), frozenset("ab"))]
        for name, comes, back in steps:
            ours, plain = made[max(0, len(made) - 1 - back) if back > 7 else -1]
            if comes:
                made.append((ours.with_name(name), plain | {name}))
            else:
                made.append((ours.without_name(name), plain - {name}))
    finally:
        broker_names.SPARE_ENTRIES = spare_before
    for ours, plain in made:
        assert ours == plain
        assert plain == ours
        assert (len(ours), in_order(ours), sorted(ours)) == (len(plain), sorted(plain), sorted(plain))
        assert all((name in ours) == (name in plain) for name in "abcdefgh")
    for ours, plain in reversed(made):
        assert in_order(ours) == sorted(plain)


def test_what_is_made_of_them_is_a_plain_set():
    names = BrokerNames("ab")
    assert names | {"c"} == frozenset("abc")
    assert {"a", "c"} & names == frozenset("a")
    assert isinstance(names | {"c"}, frozenset)
    assert repr(names) == "BrokerNames(['a', 'b'])"


def test_names_of_a_plain_set_are_in_order_too():
    assert in_order(frozenset("cab")) == ["a", "b", "c"]
    assert BrokerNames.of(names := BrokerNames("a")) is names
    assert BrokerNames.of(frozenset("ab")) == {"a", "b"}


def test_a_change_that_changes_nothing_is_the_same_set():
    names = BrokerNames("ab")
    assert names.with_name("a") is names
    assert names.without_name("c") is names


def test_each_of_many_sets_costs_one_entry():
    made = [BrokerNames()]
    for number in range(3_000):
        made.append(made[-1].with_name(f"broker-{number}"))
    histories = {id(names._history): names._history for names in made}
    assert len(histories) == 1
    (history,) = histories.values()
    assert sys.getsizeof(history.changes) + sys.getsizeof(history.newest) < 300_000


def test_a_history_is_not_longer_than_its_names_need():
    names = BrokerNames(["stays"])
    for _ in range(1_000):
        names = names.with_name("comes").without_name("comes")
        assert len(names._history.changes) <= 2 * 2 + broker_names.SPARE_ENTRIES + 2
