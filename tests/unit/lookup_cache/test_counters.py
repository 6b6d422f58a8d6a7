"""Lookups are counted by topic, and taken once."""

import tracemalloc

import pytest

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.lookup_cache.counters import ENTRY_BYTES, LIMIT_BYTES, OTHERS, LookupCounters


def test_counts_are_taken_once():
    counters = LookupCounters(by_topic=True)
    counters.of("A").count += 2
    counters.of("B").count += 1
    counters.of("A").count += 1
    assert {topic: counter.count for topic, counter in counters.take().items()} == {"A": 3, "B": 1}
    counters.of("C").count += 1
    assert {topic: counter.count for topic, counter in counters.take().items()} == {"C": 1}
    assert not counters.take()


def test_what_was_taken_is_not_counted_on():
    counters = LookupCounters(by_topic=True)
    counters.of("A").count += 1
    taken = counters.take()
    counters.of("A").count += 5
    assert taken["A"].count == 1
    assert counters.take()["A"].count == 5


def test_where_no_counts_are_taken_topics_share_a_counter():
    counters = LookupCounters(by_topic=False)
    counters.of("A").count += 1
    assert counters.of("B") is counters.of("A")
    assert not counters.take()


def test_topics_beyond_the_limit_are_counted_together():
    counters = LookupCounters(by_topic=True, limit_bytes=2 * (ENTRY_BYTES + 60))
    for topic in ("A", "B", "C", "D", "A", "C"):
        counters.of(topic).count += 1
    assert {topic: counter.count for topic, counter in counters.take().items()} == {"A": 2, "B": 1, OTHERS: 3}
    counters.of("C").count += 1
    assert {topic: counter.count for topic, counter in counters.take().items()} == {"C": 1}


def test_the_limit_counts_long_names_in_full():
    counters = LookupCounters(by_topic=True, limit_bytes=100 * ENTRY_BYTES)
    for number in range(1_000):
        counters.of(f"{number:0>500}")
    assert len(counters) < 25


@pytest.mark.parametrize("name", ["{:06}", "Topic-of-some-service-{:06}", "{:0>512}", "\N{SNOWMAN}{:0>200}"])
def test_what_a_counter_takes_is_no_more_than_is_counted(name):
    """Just before the dict grows it takes half as much; just after that twice as much."""
    limit = 4 * 1024 * 1024
    tracemalloc.start()
    try:
        counters = LookupCounters(by_topic=True, limit_bytes=limit)
        for number in range(60_000):
            counters.of(name.format(number)).count += 1_000
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(counters) > 1_000
    assert held < 1.25 * limit


def test_lookups_of_ever_new_topics_are_bounded_until_the_hour_ends():
    cache = LookupCache(16 * 1024)
    longest = "T" * 512
    count = LIMIT_BYTES // 512
    for number in range(count + 1_000):
        cache.count(f"{longest}{number:06}")
    assert len(cache.take_counts()) < count
    assert cache.missed == count + 1_000
