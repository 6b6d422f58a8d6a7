"""Equal shares."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.allocation.averagely import (
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
)
from namekeeper.client.message_queue import MessageQueue

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
