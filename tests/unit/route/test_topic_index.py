"""The index of broker names that may have a topic."""

from namekeeper.route.topic_index import TopicIndex


def test_names_come_in_the_order_in_which_they_were_added():
    index = TopicIndex()
    index.add(["T"], "b")
    index.add(["T"], "a")
    assert index.names("T") == ("b", "a")
    assert index.names("unknown") == ()


def test_topics_are_listed_once():
    index = TopicIndex()
    for topic in ("T1", "T2", "T1"):
        index.add([topic], topic + str(len(index.names(topic))))
    assert list(index) == ["T1", "T2"]
    assert len(index) == 2


def test_neighbours_share_one_tuple_of_names():
    index = TopicIndex()
    for name in ("a", "b"):
        index.add(["T1", "T2", "T3"], name)
    assert index.names("T1") is index.names("T2") is index.names("T3")
    assert index.names("T1") == ("a", "b")


def test_a_shared_tuple_is_not_taken_for_another_one():
    index = TopicIndex()
    index.add(["T1"], "a")
    index.add(["T2"], "b")
    index.add(["T1"], "c")
    index.add(["T2"], "c")
    assert (index.names("T1"), index.names("T2")) == (("a", "c"), ("b", "c"))


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
