"""A turn has time for so much; the rest waits for the next ones, in order."""

import asyncio

from namekeeper.remoting.turns import TURN_SECONDS, Turns


class Clock:
    time = 1.0

    def __call__(self) -> float:
        return self.time


async def test_a_turn_has_time_until_it_is_used_up_and_the_next_has_again():
    clock = Clock()
    turns = Turns(clock)
    assert turns.has_time()
    assert turns.has_time()
    clock.time += TURN_SECONDS
    assert not turns.has_time()
    await asyncio.sleep(0)
    assert turns.has_time()


async def test_who_waits_is_served_in_order_as_far_as_each_turn_has_time():
    clock = Clock()
    turns = Turns(clock)
    served = []

    def work(name: str) -> None:
        served.append(name)
        clock.time += TURN_SECONDS

    for name in "abc":
        turns.wait(lambda name=name: work(name))
    assert served == []
    await asyncio.sleep(0)
    assert served == ["a"]
    assert not turns.has_time()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert served == ["a", "b", "c"]


async def test_who_waits_again_is_served_in_the_next_turn():
    turns = Turns(Clock())
    served = []

    def again() -> None:
        served.append(1)
        turns.wait(again)

    turns.wait(again)
    await asyncio.sleep(0)
    assert served == [1]
    await asyncio.sleep(0)
    assert served == [1, 1]


async def test_what_is_served_at_once_is_served_in_one_turn():
    turns = Turns(Clock())
    served = []
    for number in range(100):
        turns.wait(lambda number=number: served.append(number))
    await asyncio.sleep(0)
    assert served == list(range(100))


async def test_what_takes_long_waits_apart_one_for_each_turn():
    clock = Clock()
    turns = Turns(clock)
    served = []

    def work(name: str) -> None:
        served.append(name)
        clock.time += TURN_SECONDS

    for name in "abc":
        turns.wait(lambda name=name: work(name), is_long=True)
    for name in "xy":
        turns.wait(lambda name=name: work(name))
    await asyncio.sleep(0)
    assert served == ["x", "a"]
    await asyncio.sleep(0)
    assert served == ["x", "a", "y", "b"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert served == ["x", "a", "y", "b", "c"]
    assert turns.has_time(), "nobody waits: a new turn begins"


async def test_peers_take_turns_however_many_connections_one_has():
    clock = Clock()
    turns = Turns(clock)
    served = []

    def work(name: str) -> None:
        served.append(name)
        clock.time += TURN_SECONDS

    for name, peer in {
        "a1": ("a", False),
        "a2": ("a", False),
        "a3": ("a", False),
        "broker": ("a", True),
    }.items():
        turns.wait(lambda name=name: work(name), peer=peer)
    turns.wait(lambda: work("b1"), peer=("b", False))
    for _ in range(5):
        await asyncio.sleep(0)
    assert served == ["a1", "broker", "b1", "a2", "a3"]
