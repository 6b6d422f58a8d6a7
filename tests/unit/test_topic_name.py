"""Names that topics can have, and those that nobody may send to."""

import pytest

from namekeeper.errors import TopicNameError
from namekeeper.topic_name import (
    NOT_ALLOWED_SEND_TOPICS,
    TOPIC_MAX_LENGTH,
    check_send_topic,
    check_topic,
)
from tests.support.system.errors import assert_no_error

LEGAL = [
    "t",
    "TopicTest",
    "%RETRY%group",
    "a|b_c-d%9",
    "x" * TOPIC_MAX_LENGTH,
    "TBW102",
    "RMQ_SYS_TRACE_TOPIC",
]


@pytest.mark.parametrize("topic", LEGAL)
def test_legal_names(topic):
    assert_no_error(check_topic, topic)
    assert_no_error(check_send_topic, topic)


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("", "a topic needs a name that is not blank"),
        (" \t", "a topic needs a name that is not blank"),
        ("x" * 128, "128 characters; at most 127 are allowed"),
        ("a b", "only ASCII letters, digits and"),
        ("a\n", "only ASCII letters, digits and"),
        ("a.b", "only ASCII letters, digits and"),
        ("été", "only ASCII letters, digits and"),
        ("٣", "only ASCII letters, digits and"),
    ],
)
def test_forbidden_names_are_refused_by_name(topic, message):
    for check in (check_topic, check_send_topic):
        with pytest.raises(TopicNameError, match=message) as caught:
            check(topic)
        assert caught.value.topic == topic or topic.startswith(caught.value.topic[:-3])


def test_a_message_stays_short():
    with pytest.raises(TopicNameError) as caught:
        check_topic("x" * 100_000)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("topic", sorted(NOT_ALLOWED_SEND_TOPICS))
def test_only_brokers_send_to_their_topics(topic):
    check_topic(topic)
    with pytest.raises(TopicNameError, match="only brokers write to this system topic"):
        check_send_topic(topic)


@pytest.mark.parametrize("given", [None, 7, b"orders"])
def test_what_is_no_text_is_no_name(given):
    with pytest.raises(TopicNameError, match=f"named by text, not by {type(given).__name__}"):
        check_topic(given)
