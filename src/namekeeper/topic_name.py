"""Which topic names RocketMQ accepts, and to which clients may not send (Validators of Java 5.5.0)."""

import re

from namekeeper.errors import TopicNameError

__all__ = ["NOT_ALLOWED_SEND_TOPICS", "TOPIC_MAX_LENGTH", "check_send_topic", "check_topic"]

TOPIC_MAX_LENGTH = 127

NOT_ALLOWED_SEND_TOPICS = frozenset(
    {
        "OFFSET_MOVED_EVENT",
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    }
)
"""Topics that brokers write themselves."""

_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+")


def check_topic(topic: str) -> None:
    """Refuse a name that no topic can have.

    Raises:
        TopicNameError: It is no text, it is blank, it is longer than 127 characters, or it has others than
            letters, digits and %|_-.
    """
    given: object = topic
    if not isinstance(given, str):
        raise TopicNameError(str(given), f"a topic is named by text, not by {type(given).__name__}")
    if not topic or topic.isspace():
        raise TopicNameError(topic[:TOPIC_MAX_LENGTH], "a topic needs a name that is not blank")
    if len(topic) > TOPIC_MAX_LENGTH:
        raise TopicNameError(
            f"{topic[:TOPIC_MAX_LENGTH]}...",
            f"{len(topic)} characters; at most {TOPIC_MAX_LENGTH} are allowed",
        )
    if not _LEGAL.fullmatch(topic):
        raise TopicNameError(topic, "only ASCII letters, digits and %|_- are allowed")


def check_send_topic(topic: str) -> None:
    """Refuse a name that no topic can have, and topics that only brokers write to.

    Raises:
        TopicNameError: As for `check_topic`, or it is one of NOT_ALLOWED_SEND_TOPICS.
    """
    check_topic(topic)
    if topic in NOT_ALLOWED_SEND_TOPICS:
        raise TopicNameError(topic, "only brokers write to this system topic; send to one of your own")
