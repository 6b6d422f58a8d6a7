"""The index of broker names that may have a topic."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.route.topic_index import TopicIndex


def test_names_come_in_their_own_order():
    index = TopicIndex()
    for name in ("b", "c", "a"):
        index.add(["T1"], name)
    assert index.names("T1") == ("a", "b", "c")


def test_topics_are_listed_once():
    index = TopicIndex()
    for topic in ("T1", "T2", "T1"):
        index.add([topic], topic + str(len(index.names(topic))))
    assert sorted(index) == ["T1", "T2"]
    assert len(index) == 2


def test_the_dicts_of_many_topics_differ_in_size_so_that_they_grow_at_different_times():
    index = TopicIndex()
    index.add([f"T{number}" for number in range(100_000)], "a")
    sizes = sorted(map(len, index.shards()))
    assert sum(sizes) == len(index) == 100_000
    assert sizes[-1] > 1.7 * sizes[0]
    assert max(after - before for before, after in pairwise(sizes)) < 200


def test_a_name_may_be_added_to_new_and_to_known_topics():
    index = TopicIndex()
    index.add(["T1"], "a")
    index.add(["T2"], "b")
    index.add(["T1", "T2", "T3"], "c")
    assert [index.names(topic) for topic in ("T1", "T2", "T3")] == [("a", "c"), ("b", "c"), ("c",)]


def test_a_name_that_is_added_again_goes_at_once():
    index = TopicIndex()
    index.add(["T1", "T2"], "a")
    index.add(["T2", "T3"], "a")
    index.discard(["T1", "T2"], "a")
    assert [index.names(topic) for topic in ("T1", "T2", "T3")] == [(), (), ("a",)]


def test_a_new_name_is_not_taken_for_one_that_went():
    index = TopicIndex()
    index.add(["T1", "T2"], "a")
    index.add(["T1"], "b")
    index.discard(["T1", "T2"], "a")
    index.add(["T2"], "c")
    index.add(["T2"], "a")
    assert index.names("T1") == ("b",)
    assert sorted(index.names("T2")) == ["a", "c"]


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from("abc"),
            st.sets(st.sampled_from(["T1", "T2", "T3", "T4"]), min_size=1),
        )
    )
)
def test_it_is_what_a_set_of_pairs_would_be(steps):
    index, pairs = TopicIndex(), set()
    for is_added, name, topics in steps:
        if is_added:
            index.add(sorted(topics), name)
            pairs |= {(topic, name) for topic in topics}
        else:
            index.discard(sorted(topics), name)
            pairs -= {(topic, name) for topic in topics}
        assert {(topic, name) for topic in index for name in index.names(topic)} == pairs
        for topic in ("T1", "T2", "T3", "T4"):
            assert list(index.names(topic)) == sorted(index.names(topic))
            some = index.some_name(topic)
            assert some is None if not index.names(topic) else some in index.names(topic)


def test_a_topic_is_one_string_whoever_names_it():
    index = TopicIndex()
    (first,) = index.add([b"Topic1".decode()], "a")
    (second,) = index.add([b"Topic1".decode()], "b")
    assert first is second


def test_a_topic_goes_with_its_last_name():
    index = TopicIndex()
    index.add(["T1", "T2"], "a")
    index.add(["T1"], "b")
    index.discard(["T1", "T2", "unknown"], "a")
    assert index.names("T1") == ("b",)
    assert list(index) == ["T1"]


def test_a_name_that_a_topic_does_not_have_is_no_error():
    index = TopicIndex()
    index.add(["T"], "a")
    index.discard(["T"], "b")
    assert index.names("T") == ("a",)
