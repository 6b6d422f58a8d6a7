"""Which topics a change shows in, and how many of the newest changes are kept."""

import tracemalloc
from sys import getsizeof

import pytest

from namekeeper.model.broker import BrokerData
from namekeeper.processor.recent_changes import (
    EVERY_TOPIC,
    SLICE_TOPICS,
    TOPIC_BYTES,
    WEIGHED,
    RecentChanges,
    Revision,
    RouteChange,
    topics_shown,
)
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerNameRemoved,
    ClusterChanged,
    ConfigChanged,
    FilterServersChanged,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)
from tests.unit.route.test_affected import GROUP_A, RW, tables

__all__ = ["tables"]


def shown(tables, *events):
    sets = topics_shown(tables, events)
    return "every" if sets is EVERY_TOPIC else sorted({topic for some in sets for topic in some})


@pytest.mark.parametrize(
    ("event", "topics"),
    [
        (TopicQueuesChanged("a", {}, {"A": RW}, ("A",)), ["A"]),
        (BrokerNameRemoved("a", {"A": RW, "AB": RW}), ["A", "AB"]),
        (TopicMappingChanged("T", "a", None), ["T"]),
        (BrokerGroupChanged(BrokerData("c", "b", {0: "b:2"})), ["AB", "B"]),
        (BrokerGroupChanged(BrokerData("c", "new", {0: "b:2"})), []),
        (FilterServersChanged("c", "a:2", ("f:1",)), ["A", "AB"]),
        (KvChanged("ORDER_TOPIC_CONFIG", "T", "b:4"), ["T"]),
        (KvChanged("other", "T", "x"), []),
        (ClusterChanged("c", frozenset({"a"})), []),
        (ConfigChanged({"supportActingMaster": "true"}), "every"),
        (ConfigChanged({"orderMessageEnable": "true"}), "every"),
        (ConfigChanged({"logLevel": "DEBUG"}), []),
    ],
)
def test_a_change_shows_in_the_topics_whose_answer_depends_on_it(tables, event, topics):
    assert shown(tables, event) == topics


def test_the_topics_of_all_events_count(tables):
    assert shown(tables, BrokerGroupChanged(GROUP_A), TopicMappingChanged("T", "b", None)) == ["A", "AB", "T"]


def test_a_revision_is_text_that_can_be_read():
    assert Revision.parse(str(Revision(5, 7))) == (5, 7)
    for text in ("", "5", "5-", "x-1", "5-7-9", "-5-7", "5-" + "9" * 20):
        assert Revision.parse(text) is None


def change(seq, *topics, boot=1):
    return RouteChange(Revision(boot, seq), 0, "expired", None, topics)


def seqs(changes):
    return None if changes is None else [each.revision.seq for each in changes]


def test_changes_after_a_revision_come_in_order():
    recent = RecentChanges(Revision(1, 10))
    for seq in (12, 15, 16):
        recent.add(change(seq, ("T",)))
    assert seqs(recent.since(Revision(1, 10))) == [12, 15, 16]
    assert seqs(recent.since(Revision(1, 13))) == [15, 16]
    assert seqs(recent.since(Revision(1, 16))) == []


@pytest.mark.parametrize("after", [Revision(1, 9), Revision(0, 99), Revision(1, 17), Revision(2, 1)])
def test_what_is_too_old_or_never_was_is_gone(after):
    recent = RecentChanges(Revision(1, 10))
    recent.add(change(16, ("T",)))
    assert recent.since(after) is None


def test_only_so_many_changes_are_kept():
    recent = RecentChanges(Revision(1, 0), changes_limit=3)
    for seq in range(1, 6):
        recent.add(change(seq, ("T",)))
    assert recent.since(Revision(1, 1)) is None
    assert seqs(recent.since(Revision(1, 2))) == [3, 4, 5]


def test_only_so_many_topics_are_kept_but_always_the_newest_change():
    recent = RecentChanges(Revision(1, 0), bytes_limit=5 * (TOPIC_BYTES + getsizeof("A")))
    recent.add(change(1, ("A", "B"), ("C",)))
    recent.add(change(2, ("A", "B")))
    assert seqs(recent.since(Revision(1, 0))) == [1, 2]
    recent.add(change(3, ("A",)))
    assert recent.since(Revision(1, 0)) is None
    assert seqs(recent.since(Revision(1, 1))) == [2, 3]
    recent.add(change(4, tuple("ABCDEFGH")))
    assert seqs(recent.since(Revision(1, 3))) == [4]
    recent.add(change(5, ("A",)))
    assert seqs(recent.since(Revision(1, 4))) == [5]


@pytest.mark.parametrize("name", ["{:06}", "{:0>512}", "\N{SNOWMAN}{:0>511}", "\N{PILE OF POO}{:0>511}"])
@pytest.mark.parametrize("collection", [tuple, dict.fromkeys])
def test_the_topics_of_kept_changes_are_bounded_in_bytes(name, collection):
    """Names may have 512 characters of four bytes: 200,000 of them took 430 MB."""
    limit = 4 * 1024 * 1024
    tracemalloc.start()
    try:
        recent = RecentChanges(Revision(1, 0), bytes_limit=limit)
        for seq in range(1, 101):
            recent.add(change(seq, collection(name.format(seq * 1_000 + n) for n in range(500))))
            for kept in recent.since(Revision(1, seq - 1)):
                list(kept.find_in({"another"}))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert recent.since(Revision(1, 99)) is not None
    assert held < 1.5 * limit


def test_older_changes_are_put_before_without_doubling_any():
    recent = RecentChanges(Revision(2, 3))
    recent.add(change(5, ("T",), boot=2))
    recent.extend_back(
        [change(9, ("T",)), change(2, ("T",), boot=2), change(5, ("T",), boot=2)], Revision(1, 7)
    )
    assert seqs(recent.since(Revision(1, 7))) == [9, 2, 5]
    assert recent.since(Revision(1, 6)) is None


def test_a_change_is_shown_in_the_wanted_topics_it_names_and_in_all_if_it_names_every():
    assert change(1, ("A", "B"), {"C": RW}).shown_in({"C", "A", "X"}) == ["A", "C"]
    assert change(1, tuple("ABCDE")).shown_in({"E", "X"}) == ["E"]
    assert RouteChange(Revision(1, 1), 0, "started", None).shown_in({"B", "A"}) == ["A", "B"]


def test_topics_of_a_large_change_are_found_in_slices():
    """A registration may have a million topics, and a set of them takes a tenth of a second."""
    names = tuple(f"Topic{index}" for index in range(12 * SLICE_TOPICS))
    large = change(1, names, {"C": RW})
    slices = large.find_in({names[7], "C", "X"})
    for _ in range(12):
        next(slices)
    with pytest.raises(StopIteration) as end:
        next(slices)
    assert end.value.value == ["C", names[7]]
    assert list(large.find_in({"X"})) == [], "the set is kept"


@pytest.mark.parametrize("collection", [tuple, dict.fromkeys, frozenset])
def test_the_names_of_very_many_topics_are_weighed_by_some_of_them(collection):
    """A change waits in no iteration until a million names are weighed one by one."""
    names = [f"{'x' * (index % 100)}{index:06}" for index in range(30 * WEIGHED)]
    exact = len(names) * TOPIC_BYTES + sum(map(getsizeof, names))
    assert change(1, collection(names)).weight == pytest.approx(exact, rel=0.1)
    few = names[: 10 * WEIGHED]
    assert change(1, collection(few)).weight == len(few) * TOPIC_BYTES + sum(map(getsizeof, few))
