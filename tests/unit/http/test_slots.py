"""Slots that hosts share."""

from namekeeper.http.slots import Slots


def holding(slots: Slots[str], *holders: str) -> Slots[str]:
    """Give slots to holders such as `a1`, whose host is `a`."""
    for holder in holders:
        slots.add(holder[0], holder)
    return slots


def test_there_is_room_up_to_the_limit_of_all_and_of_each_host():
    slots = holding(Slots(3, 2), "a1", "a2")
    assert (len(slots), slots.has_room("a"), slots.has_room("b")) == (2, False, True)
    holding(slots, "b1")
    assert slots.has_room("b") is False
    slots.remove("a", "a1")
    assert (len(slots), slots.has_room("a"), slots.has_room("c")) == (2, True, True)


def test_without_a_limit_for_each_host_one_may_have_all():
    assert holding(Slots(3), "a1", "a2").has_room("a") is True


def test_the_oldest_of_the_host_with_most_goes_first():
    slots = holding(Slots(9), "b1", "a1", "a2", "a3", "b2")
    assert slots.first_to_go(lambda _: False) == "a1"
    assert slots.first_to_go(lambda holder: holder in {"a1", "a2"}) == "a3"
    assert slots.first_to_go(lambda holder: holder[0] == "a") is None
    assert Slots(9).first_to_go(lambda _: False) is None


def test_of_many_hosts_each_may_lose_one_when_those_of_the_host_with_most_are_spared():
    slots = holding(Slots(3), "a1", "a2", "b1", "c1")
    assert slots.first_to_go(lambda holder: holder[0] == "a") == "b1"
    assert slots.first_to_go(lambda holder: holder in {"a1", "a2", "b1"}) == "c1"
    assert slots.first_to_go(lambda _: True) is None


def test_a_host_within_its_part_of_the_limit_loses_none():
    slots = holding(Slots(8), "a1", "a2", "a3", "a4", "b1", "b2", "b3")
    assert slots.first_to_go(lambda holder: holder[0] == "a") is None
    holding(slots, "b4")
    assert slots.first_to_go(lambda holder: holder[0] == "a") == "b1"


def test_where_descriptors_allow_fewer_holders_than_the_limit_a_host_has_a_part_of_these():
    slots = holding(Slots(64), "a1", "b1", "c1")
    assert slots.first_to_go(lambda holder: holder[0] == "a") == "b1"


def test_the_host_with_the_lowest_rank_is_next_and_loses_its_oldest():
    slots = holding(Slots(9), "a1", "a2", "b1", "c1", "c2")
    assert slots.hosts == 3
    ranks = {"a": 1, "b": 0, "c": 0}
    assert [slots.take_next(ranks.__getitem__) for _ in range(5)] == ["b1", "c1", "c2", "a1", "a2"]
    assert (len(slots), slots.hosts) == (0, 0)


def test_nothing_stays_of_a_host_without_slots():
    slots = holding(Slots(9), "a1")
    slots.remove("a", "a1")
    assert slots._holders == {}


def test_a_host_with_fewer_holders_gets_a_slot_of_the_one_with_most():
    slots = holding(Slots(3), "a1", "a2", "a3")
    assert slots.held_unfairly("a") is None
    assert slots.held_unfairly("b") == "a1"
    slots.remove("a", "a1")
    holding(slots, "b1")
    assert slots.held_unfairly("b") is None
    assert slots.held_unfairly("c") == "a2"
    assert holding(Slots(2), "a1", "b1").held_unfairly("c") is None
    assert Slots(0).held_unfairly("a") is None
