import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.queues.allocation import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueByConfig,
    AllocateMessageQueueByMachineRoom,
    AllocateMessageQueueConsistentHash,
    check_allocation,
)
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.errors import AllocationError

QUEUES = [MessageQueue("t", "a", 0)]
STRATEGIES = [
    AllocateMessageQueueAveragely(),
    AllocateMessageQueueAveragelyByCircle(),
    AllocateMessageQueueConsistentHash(),
    AllocateMessageQueueByMachineRoom({"room"}),
    AllocateMachineRoomNearby(AllocateMessageQueueAveragely(), lambda queue: "room", lambda cid: "room"),
]
strategies = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)


@strategies
@pytest.mark.parametrize(
    ("cid", "queues", "cids", "message"),
    [
        ("", QUEUES, ["c"], "the consumer has no id"),
        ("c", [], ["c"], "no queues to share for consumer 'c'"),
        ("c", QUEUES, [], "consumer 'c' is in a group without consumers"),
    ],
)
def test_what_is_empty_is_refused(strategy, cid, queues, cids, message):
    with pytest.raises(AllocationError, match=message):
        strategy.allocate(cid, queues, cids)


@strategies
def test_a_consumer_that_is_not_of_the_group_gets_nothing(strategy):
    assert strategy.allocate("away", QUEUES, ["c"]) == []


def test_a_member_is_one():
    assert check_allocation("c", QUEUES, ["b", "c"])
    assert not check_allocation("c", QUEUES, ["b"])


AVG, CIRCLE = AllocateMessageQueueAveragely(), AllocateMessageQueueAveragelyByCircle()


def shares(strategy, queues: int, consumers: int) -> list[list[int]]:
    """Return the ids of the queues that each consumer gets."""
    mq_all = [MessageQueue("t", "a", number) for number in range(queues)]
    cid_all = [f"c{number:03}" for number in range(consumers)]
    return [[queue.queue_id for queue in strategy.allocate(cid, mq_all, cid_all)] for cid in cid_all]


def test_names_are_java_s():
    assert (AVG.name, CIRCLE.name) == ("AVG", "AVG_BY_CIRCLE")


@pytest.mark.parametrize(
    ("queues", "consumers", "neighbours", "dealt"),
    [
        (8, 3, [[0, 1, 2], [3, 4, 5], [6, 7]], [[0, 3, 6], [1, 4, 7], [2, 5]]),
        (2, 3, [[0], [1], []], [[0], [1], []]),
        (4, 2, [[0, 1], [2, 3]], [[0, 2], [1, 3]]),
        (1, 1, [[0]], [[0]]),
    ],
)
def test_shares(queues, consumers, neighbours, dealt):
    assert shares(AVG, queues, consumers) == neighbours
    assert shares(CIRCLE, queues, consumers) == dealt


@pytest.mark.parametrize("strategy", [AVG, CIRCLE], ids=lambda strategy: strategy.name)
@given(queues=st.integers(1, 60), consumers=st.integers(1, 30))
def test_each_queue_is_of_one_consumer_and_shares_differ_by_one_at_most(strategy, queues, consumers):
    all_shares = shares(strategy, queues, consumers)
    assert sorted(itertools.chain(*all_shares)) == list(range(queues))
    sizes = [len(share) for share in all_shares]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


def test_the_first_of_two_equal_consumers_counts():
    mq_all = [MessageQueue("t", "a", number) for number in range(3)]
    assert AVG.allocate("c", mq_all, ["c", "c", "d"]) == mq_all[:1]
    assert CIRCLE.allocate("c", mq_all, ["c", "c", "d"]) == mq_all[:1]


def test_the_configured_queues_whatever_is_there():
    queues = [MessageQueue("t", "a", 7), MessageQueue("other", "b", 0)]
    strategy = AllocateMessageQueueByConfig(queues)
    assert strategy.name == "CONFIG"
    assert strategy.allocate("c", [], []) == queues
    assert AllocateMessageQueueByConfig([]).allocate("c", queues, ["c"]) == []


def room(name: str) -> str:
    return name.partition("@")[0]


NEARBY = AllocateMachineRoomNearby(
    AllocateMessageQueueAveragely(), lambda queue: room(queue.broker_name), room
)


def queues(*names: str, each: int = 2) -> list[MessageQueue]:
    return [MessageQueue("t", name, number) for name in names for number in range(each)]


def short(found: list[MessageQueue]) -> list[str]:
    return [f"{queue.broker_name}/{queue.queue_id}" for queue in found]


def test_names_of_strategies_by_room_are_java_s():
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
cids_in_rooms = st.lists(st.builds("{}@{}".format, rooms, st.integers(0, 99)), min_size=1, unique=True).map(
    sorted
)


@given(st.sets(rooms, min_size=1), cids_in_rooms, st.integers(1, 5))
def test_each_queue_of_a_room_is_of_one_consumer(broker_rooms, cids, each):
    mq_all = queues(*sorted(f"{name}@b" for name in broker_rooms), each=each)
    for strategy in (NEARBY, AllocateMessageQueueByMachineRoom(broker_rooms)):
        assert sorted(queue for cid in cids for queue in strategy.allocate(cid, mq_all, cids)) == mq_all


STRATEGY = AllocateMessageQueueConsistentHash()
HASHED = [MessageQueue("TopicTest", name, number) for name in ("broker-a", "broker-b") for number in range(4)]
cid_lists = st.lists(
    st.from_regex(r"\A10\.0\.0\.[0-9]@[0-9]{1,3}\Z"), min_size=1, max_size=8, unique=True
).map(sorted)


def owners(
    cids: list[str], strategy: AllocateMessageQueueConsistentHash = STRATEGY
) -> dict[MessageQueue, list[str]]:
    shares = {cid: strategy.allocate(cid, HASHED, cids) for cid in cids}
    return {queue: [cid for cid in cids if queue in shares[cid]] for queue in HASHED}


def test_shares_that_java_gives():
    shares = {
        cid: [
            (queue.broker_name[-1], queue.queue_id)
            for queue in STRATEGY.allocate(cid, HASHED, ["c1", "c2", "c3"])
        ]
        for cid in ("c1", "c2", "c3")
    }
    assert shares == {
        "c1": [("a", 0), ("b", 3)],
        "c2": [("a", 1), ("b", 0), ("b", 1)],
        "c3": [("a", 2), ("a", 3), ("b", 2)],
    }
    assert STRATEGY.name == "CONSISTENT_HASH"


@given(cid_lists)
def test_each_queue_has_one_consumer_on_the_ring(cids):
    assert all(len(found) == 1 for found in owners(cids).values())


@given(cid_lists)
def test_only_queues_of_a_consumer_that_went_change_hands(cids):
    before, after = owners(cids), owners(cids[1:])
    assert all(after[queue] == before[queue] for queue in HASHED if before[queue] != cids[:1] and cids[1:])


def test_a_hash_of_one_s_own_counts():
    by_length = AllocateMessageQueueConsistentHash(1, len)
    assert owners(["a", "bb"], by_length) == {
        queue: ["a"] for queue in HASHED
    }  # beyond all positions: the first
    at_its_position = "x" * (len(str(HASHED[0])) - 2)
    assert owners(["a", at_its_position], by_length) == {queue: [at_its_position] for queue in HASHED}


def test_a_consumer_that_is_listed_twice_has_more_positions():
    single = AllocateMessageQueueConsistentHash(1, lambda text: int(re.findall(r"\d", text)[-1]))
    assert single.allocate("c", HASHED[1:2], ["c", "d"]) == []  # both have position 0, and the last keeps it
    assert single.allocate("c", HASHED[1:2], ["c", "c", "d"]) == HASHED[1:2]  # and c has position 1


def test_without_positions_nobody_gets_anything():
    assert AllocateMessageQueueConsistentHash(0).allocate("c", HASHED, ["c"]) == []


def test_a_negative_number_of_positions_is_refused():
    with pytest.raises(AllocationError, match="virtual_node_cnt is -1"):
        AllocateMessageQueueConsistentHash(-1)
