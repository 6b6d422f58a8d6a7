"""Look-ups are counted by topic, and taken once."""

from namekeeper.lookup_cache.counters import LookupCounters


def test_counts_are_taken_once_and_the_total_stays():
    counters = LookupCounters(by_topic=True)
    counters.of("A").count += 2
    counters.of("B").count += 1
    counters.of("A").count += 1
    assert {topic: counter.count for topic, counter in counters.take().items()} == {"A": 3, "B": 1}
    counters.of("C").count += 1
    assert counters.total == 5
    assert {topic: counter.count for topic, counter in counters.take().items()} == {"C": 1}
    assert counters.total == 5
    assert not counters.take()


def test_what_was_taken_is_not_counted_on():
    counters = LookupCounters(by_topic=True)
    counters.of("A").count += 1
    taken = counters.take()
    counters.of("A").count += 5
    assert taken["A"].count == 1
    assert counters.take()["A"].count == 5


def test_where_only_the_total_is_wanted_topics_share_a_counter():
    counters = LookupCounters(by_topic=False)
    counters.of("A").count += 1
    assert counters.of("B") is counters.of("A")
    assert not counters.take()
    assert counters.total == 1
