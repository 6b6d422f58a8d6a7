"""Shares that follow where brokers and consumers stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.allocation.averagely import AllocateMessageQueueAveragely
from namekeeper.client.allocation.machine_room import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueByMachineRoom,
)
from namekeeper.client.message_queue import MessageQueue
from namekeeper.errors import AllocationError


def room(name: str) -> str:
    return name.partition("@")[0]


NEARBY = AllocateMachineRoomNearby(
    AllocateMessageQueueAveragely(), lambda queue: room(queue.broker_name), room
)


def queues(*names: str, each: int = 2) -> list[MessageQueue]:
    return [MessageQueue("t", name, number) for name in names for number in range(each)]


def short(found: list[MessageQueue]) -> list[str]:
    return [f"{queue.broker_name}/{queue.queue_id}" for queue in found]


def test_names_are_java_s():
    assert AllocateMessageQueueByMachineRoom([]).name == "MACHINE_ROOM"
    assert NEARBY.name == "MACHINE_ROOM_NEARBY-AVG"


def test_only_queues_of_the_rooms_are_shared():
    strategy = AllocateMessageQueueByMachineRoom(["r1"])
    mq_all = queues("broker-c", "r1@a", "r1@b", "r2@a", each=3)
    shares = [
        short(strategy.allocate(cid, mq_all, ["c1", "c2", "c3", "c4"])) for cid in ("c1", "c2", "c3", "c4")
    ]
    assert shares == [["r1@a/0", "r1@b/1"], ["r1@a/1", "r1@b/2"], ["r1@a/2"], ["r1@b/0"]]


@pytest.mark.parametrize(
    ("name", "is_near"),
    [
        ("r1@a", True),
        ("r1@a@", True),
        ("r1@a@b", False),
        ("r1@", False),
        ("r1", False),
        ("@a", False),
        ("@", False),
    ],
)
def test_which_broker_names_have_a_room(name, is_near):
    found = AllocateMessageQueueByMachineRoom(["r1"]).allocate("c", queues(name, each=1), ["c"])
    assert bool(found) == is_near


def test_queues_stay_in_their_room_and_those_of_rooms_without_consumers_go_to_all():
    mq_all = queues("r1@a", "r2@b", "r3@c", "r4@d")
    cids = ["r1@x", "r1@y", "r2@z"]
    assert [short(NEARBY.allocate(cid, mq_all, cids)) for cid in cids] == [
        ["r1@a/0", "r3@c/0", "r4@d/0"],
        ["r1@a/1", "r3@c/1", "r4@d/1"],
        ["r2@b/0", "r2@b/1"],
    ]


@pytest.mark.parametrize(("name", "cid"), [("@a", "r1@x"), ("r1@a", "@x")])
def test_an_unknown_room_is_refused_by_name(name, cid):
    with pytest.raises(
        AllocationError, match=r"no machine room for (MessageQueue \[topic=t, brokerName=@a|@x)"
    ):
        NEARBY.allocate(cid, queues(name), [cid])


rooms = st.sampled_from(["r1", "r2", "r3"])
cid_lists = st.lists(st.builds("{}@{}".format, rooms, st.integers(0, 99)), min_size=1, unique=True).map(
    sorted
)


@given(st.sets(rooms, min_size=1), cid_lists, st.integers(1, 5))
def test_each_queue_is_of_one_consumer(broker_rooms, cids, each):
    mq_all = queues(*sorted(f"{name}@b" for name in broker_rooms), each=each)
    for strategy in (NEARBY, AllocateMessageQueueByMachineRoom(broker_rooms)):
        assert sorted(queue for cid in cids for queue in strategy.allocate(cid, mq_all, cids)) == mq_all
