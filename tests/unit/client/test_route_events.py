import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.message_queue import MessageQueue
from namekeeper.client.route_events import (
    PublishQueuesChanged,
    RouteAppeared,
    RouteChanged,
    RouteEvent,
    RouteVanished,
    SubscribeQueuesChanged,
    coalesce,
    kind_of,
)
from tests.unit.client.world import route

R1, R2, R3 = route(count=1), route(count=2), route(count=3)
Q = tuple(MessageQueue("T", "b", n) for n in range(4))


def vanished(last=R1, *, old=R1):
    return RouteVanished("T", old, last, ("a",))


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        (RouteAppeared("T", R1), RouteChanged("T", R1, R2), RouteAppeared("T", R2)),
        (RouteAppeared("T", R1), vanished(R1), vanished(R1, old=None)),
        (vanished(R1, old=None), RouteAppeared("T", R2), RouteAppeared("T", R2)),
        (RouteChanged("T", R1, R2), RouteChanged("T", R2, R3), RouteChanged("T", R1, R3)),
        (RouteChanged("T", R1, R2), RouteChanged("T", R2, R1), None),
        (RouteChanged("T", R1, R2), vanished(R2, old=R2), vanished(R2)),
        (vanished(R2), RouteAppeared("T", R2), RouteChanged("T", R1, R2)),
        (vanished(R1), RouteAppeared("T", R1), None),
        (vanished(R1), RouteAppeared("T", R2), RouteChanged("T", R1, R2)),
        (RouteAppeared("T", R1, is_template=True), RouteChanged("T", R1, R2), RouteAppeared("T", R2)),
    ],
)
def test_two_events_of_a_route_amount_to_one_or_none(first, then, expected):
    assert coalesce(first, then) == expected


@pytest.mark.parametrize(
    ("kind", "make"), [(PublishQueuesChanged, tuple), (SubscribeQueuesChanged, frozenset)]
)
def test_queues_go_from_the_first_to_the_last(kind, make):
    first, second, third = make(Q[:1]), make(Q[:2]), make(Q)
    merged = coalesce(kind("T", first, second), kind("T", second, third))
    assert merged == kind("T", first, third)
    assert coalesce(kind("T", first, second), kind("T", second, first)) is None


def test_events_of_two_kinds_are_not_merged():
    events = [
        RouteAppeared("T", R1),
        PublishQueuesChanged("T", (), Q),
        SubscribeQueuesChanged("T", frozenset(), frozenset(Q)),
    ]
    assert len(set(map(kind_of, events))) == 3
    for first in events:
        for then in events:
            if first is not then:
                with pytest.raises(TypeError):
                    coalesce(first, then)


def follow(state, event: RouteEvent):
    """What a reader holds after an event: (route, is it there)."""
    if isinstance(event, RouteVanished):
        return (event.last, False)
    return (event.route if isinstance(event, RouteAppeared) else event.new, True)


@given(st.lists(st.sampled_from(["change", "vanish", "appear"]), max_size=12), st.data())
def test_a_reader_of_the_merged_event_holds_what_a_reader_of_all_holds(steps, data):
    """Begins at what the reader knows, and merges everything that can follow."""
    state = begun = (R1, data.draw(st.booleans()))
    pending: RouteEvent | None = None
    for step in steps:
        current, is_there = state
        new = data.draw(st.sampled_from([R1, R2, R3]))
        if step == "vanish" and is_there:
            event: RouteEvent = vanished(current, old=current)
        elif step == "change" and is_there and new != current:
            event = RouteChanged("T", current, new)
        elif step == "appear" and not is_there:
            event = RouteAppeared("T", new)
        else:
            continue
        state = follow(state, event)
        merged = event if pending is None else coalesce(pending, event)
        assert merged is None or not isinstance(merged, (PublishQueuesChanged, SubscribeQueuesChanged))
        pending = merged
        held = begun if pending is None else follow(begun, pending)
        assert held == state
