"""A value with a wrong field is refused with the right one."""

import pytest

from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.subscription import SubscriptionData
from namekeeper.model.topic import TopicConfig


@pytest.mark.parametrize(
    ("cls", "fields", "right"),
    [
        (TopicConfig, {"topicName": "T"}, "topic_name"),
        (TopicConfig, {"topic_name": "T", "writeQueueNums": 4}, "write_queue_nums"),
        (MessageQueue, {"topic": "T", "brokerName": "b", "queueId": 1}, "broker_name"),
        (SubscriptionData, {"subString": "*"}, "sub_string"),
    ],
)
def test_java_s_spelling_gets_the_right_name(cls, fields, right):
    wrong = next(name for name in fields if name not in cls.__struct_fields__)
    with pytest.raises(TypeError) as refused:
        cls(**fields)
    assert str(refused.value) == f"{cls.__name__} has no setting {wrong!r}: did you mean {right}?"


def test_another_mistake_keeps_its_error():
    with pytest.raises(TypeError, match="Missing required argument 'topic_name'"):
        TopicConfig(perm=4)
    assert TopicConfig("T", perm=4).perm == 4
