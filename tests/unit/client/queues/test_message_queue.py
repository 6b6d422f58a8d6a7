import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.client.queues.message_queue import MessageQueue, java_order, java_split, parse_java_int


def test_order_is_that_of_utf_16_units():
    assert sorted(["\uffee", "😀", "b", "a", ""], key=java_order) == ["", "a", "b", "😀", "\uffee"]


@given(st.text(alphabet=st.characters(max_codepoint=0xD7FF)), st.text(st.characters(max_codepoint=0xD7FF)))
def test_below_the_surrogates_both_orders_are_one(one, other):
    assert (java_order(one) < java_order(other)) == (one < other)


def test_half_a_pair_has_an_order_too():
    assert java_order("\ud83d") < java_order("\uffee")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a;b", ["a", "b"]),
        (";a", ["", "a"]),
        ("a;;b", ["a", "", "b"]),
        ("a;", ["a"]),
        ("a;;;", ["a"]),
        (";", []),
        (";;", []),
    ],
)
def test_split_drops_what_is_empty_at_the_end(text, parts):
    assert java_split(text, ";") == parts


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("+4", 4),
        ("-4", -4),
        ("٣", 3),
        ("2147483647", 2**31 - 1),
        ("-2147483648", -(2**31)),
    ],
)
def test_numbers_that_java_reads(text, number):
    assert parse_java_int(text) == number


@pytest.mark.parametrize(
    "text", ["", "+", "-", " 4", "4 ", "4_0", "0x4", "4.0", "4a", "2147483648", "-2147483649", "9" * 5_000]
)
def test_numbers_that_java_refuses(text):
    with pytest.raises(ValueError, match=r"32-bit|digits"):
        parse_java_int(text)


names = st.sampled_from(["", "a", "b", "é", "\uffee", "😀"])
queues = st.builds(MessageQueue, names, names, st.integers(0, 3))


def test_text_is_java_s():
    assert (
        str(MessageQueue("TopicTest", "broker-a", 3))
        == "MessageQueue [topic=TopicTest, brokerName=broker-a, queueId=3]"
    )


@given(st.lists(queues))
def test_order_is_topic_broker_name_and_id(some):
    assert sorted(some) == sorted(
        some, key=lambda queue: (java_order(queue.topic), java_order(queue.broker_name), queue.queue_id)
    )


@given(queues, queues)
def test_exactly_one_of_less_equal_and_greater_holds(one, other):
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (one < other or one == other)
    assert (one >= other) == (other <= one)


def test_equal_queues_are_one_key():
    assert len({MessageQueue("t", "b", 0), MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)}) == 2
