"""What every strategy refuses, and who gets nothing."""

import pytest

from namekeeper.client.allocation.averagely import (
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
)
from namekeeper.client.allocation.consistent_hash import AllocateMessageQueueConsistentHash
from namekeeper.client.allocation.machine_room import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueByMachineRoom,
)
from namekeeper.client.allocation.strategy import check_allocation
from namekeeper.client.message_queue import MessageQueue
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
