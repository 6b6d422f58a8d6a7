"""Shares by consistent hashing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.allocation.consistent_hash import AllocateMessageQueueConsistentHash
from namekeeper.client.message_queue import MessageQueue
from namekeeper.errors import AllocationError

STRATEGY = AllocateMessageQueueConsistentHash()
QUEUES = [MessageQueue("TopicTest", name, number) for name in ("broker-a", "broker-b") for number in range(4)]
cid_lists = st.lists(
    st.from_regex(r"\A10\.0\.0\.[0-9]@[0-9]{1,3}\Z"), min_size=1, max_size=8, unique=True
).map(sorted)


def owners(
    cids: list[str], strategy: AllocateMessageQueueConsistentHash = STRATEGY
) -> dict[MessageQueue, list[str]]:
    shares = {cid: strategy.allocate(cid, QUEUES, cids) for cid in cids}
    return {queue: [cid for cid in cids if queue in shares[cid]] for queue in QUEUES}


def test_shares_that_java_gives():
    shares = {
        cid: [
            (queue.broker_name[-1], queue.queue_id)
            for queue in STRATEGY.allocate(cid, QUEUES, ["c1", "c2", "c3"])
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
def test_each_queue_is_of_one_consumer(cids):
    assert all(len(found) == 1 for found in owners(cids).values())


@given(cid_lists)
def test_only_queues_of_a_consumer_that_went_change_hands(cids):
    before, after = owners(cids), owners(cids[1:])
    assert all(after[queue] == before[queue] for queue in QUEUES if before[queue] != cids[:1] and cids[1:])


def test_a_hash_of_one_s_own_counts():
    by_length = AllocateMessageQueueConsistentHash(1, len)
    assert owners(["a", "bb"], by_length) == {
        queue: ["a"] for queue in QUEUES
    }  # beyond all places: the first
    at_its_place = "x" * (len(str(QUEUES[0])) - 2)
    assert owners(["a", at_its_place], by_length) == {queue: [at_its_place] for queue in QUEUES}


def test_a_consumer_that_is_listed_twice_has_more_places():
    single = AllocateMessageQueueConsistentHash(1, lambda text: int(re.findall(r"\d", text)[-1]))
    assert single.allocate("c", QUEUES[1:2], ["c", "d"]) == []  # both have place 0, and the last keeps it
    assert single.allocate("c", QUEUES[1:2], ["c", "c", "d"]) == QUEUES[1:2]  # and c has place 1


def test_without_places_nobody_gets_anything():
    assert AllocateMessageQueueConsistentHash(0).allocate("c", QUEUES, ["c"]) == []


def test_a_negative_number_of_places_is_refused():
    with pytest.raises(AllocationError, match="virtual_node_cnt is -1"):
        AllocateMessageQueueConsistentHash(-1)
