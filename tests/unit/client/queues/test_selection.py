"""Whose turn it is."""

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.queues.selection import (
    ThreadLocalIndex,
    avoiding,
    select_filtered,
    select_one_message_queue,
)

INT_MAX = 2**31 - 1
QUEUES = [MessageQueue("t", name, number) for name in ("a", "b") for number in (0, 1)]
queue_lists = st.lists(
    st.builds(MessageQueue, st.just("t"), st.sampled_from("abc"), st.integers(0, 9)), min_size=1, unique=True
)
starts = st.integers(-(2**31), INT_MAX)


def index(start: int | None = None, seed: int = 1) -> ThreadLocalIndex:
    return ThreadLocalIndex(random.Random(seed), start)


@pytest.mark.parametrize(
    ("start", "numbers"),
    [
        (0, [1, 2, 3]),
        (INT_MAX - 1, [INT_MAX, 0, 1]),
        (-1, [0, 1, 2]),
        (-3, [INT_MAX - 1, INT_MAX, 0]),
        (-(2**31), [1, 2, 3]),
    ],
)
def test_the_index_counts_in_31_bits(start, numbers):
    counter = index(start)
    assert [counter.increment_and_get() for _ in numbers] == numbers


def test_a_seed_makes_it_repeat():
    assert index(seed=5).increment_and_get() == index(seed=5).increment_and_get()
    assert index(seed=5).increment_and_get() != index(seed=6).increment_and_get()


def test_reset_goes_to_a_place_that_the_random_says():
    one, other = index(0, seed=7), index(9, seed=7)
    one.reset()
    other.reset()
    assert one.increment_and_get() == other.increment_and_get() > 1


def test_each_thread_counts_for_itself():
    counter, seen = index(10), []
    thread = threading.Thread(target=lambda: seen.append(counter.increment_and_get()))
    counter.increment_and_get()
    thread.start()
    thread.join()
    assert (seen, counter.increment_and_get()) == ([11], 12)


def test_without_queues_there_is_none():
    assert select_one_message_queue([], index(), None) is None
    assert select_one_message_queue([], index(), "a") is None


@given(queue_lists, starts)
def test_every_queue_has_its_turn(queues, start):
    counter = index(start)
    chosen = {select_one_message_queue(queues, counter) for _ in range(2 * len(queues))}
    assert chosen == set(queues)  # two rounds, because the order starts anew at 2^31


def test_queues_take_turns_in_their_order():
    counter = index(-1)
    assert [select_one_message_queue(QUEUES, counter) for _ in range(6)] == [*QUEUES, *QUEUES[:2]]


def test_a_retry_goes_to_another_broker():
    assert select_one_message_queue(QUEUES, index(-1), "a") == MessageQueue("t", "b", 0)


def test_a_retry_with_one_broker_goes_to_its_next_queue_after_a_whole_round():
    counter = index(-1)
    assert select_one_message_queue(QUEUES[:2], counter, "a") == MessageQueue("t", "a", 0)
    assert counter.increment_and_get() == 3


@given(queue_lists, starts, st.sampled_from("abc"))
def test_the_last_broker_comes_again_only_if_it_is_alone(queues, start, last):
    selected = select_one_message_queue(queues, index(start), last)
    assert selected in queues
    others = {queue.broker_name for queue in queues} - {last}
    assert (selected.broker_name != last) == bool(others)


def test_every_filter_must_be_passed():
    assert select_filtered(QUEUES, index(-1), avoiding("a"), lambda queue: queue.queue_id == 1) == QUEUES[3]
    assert select_filtered(QUEUES, index(-1), avoiding("a"), avoiding("b")) is None
    assert select_filtered(QUEUES, index(-1), avoiding(None)) == QUEUES[0]
