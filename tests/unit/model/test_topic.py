"""Topics as brokers register them and as routes show them (protocol.md 2.1, 3.3, 4.12)."""

import msgspec

from namekeeper.model.topic import DEFAULT_TOPIC, QueueData, QueueSpec, TopicConfig, TopicSysFlag


def test_what_a_configuration_leaves_out_has_javas_defaults():
    config = TopicConfig("T")
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (16, 16, 6)
    assert (config.topic_filter_type, config.topic_sys_flag, config.order) == ("SINGLE_TAG", 0, False)
    assert QueueSpec() == QueueSpec(16, 16, 6, 0)


def test_queue_data_is_spelled_as_on_the_wire():
    data = QueueData("broker-a", perm=6, read_queue_nums=4, topic_sys_flag=1, write_queue_nums=8)
    assert msgspec.to_builtins(data) == {
        "brokerName": "broker-a",
        "perm": 6,
        "readQueueNums": 4,
        "topicSysFlag": 1,
        "writeQueueNums": 8,
    }


def test_equal_rows_are_one_key():
    assert {QueueSpec(4, 4, 6, 0): "x"}[QueueSpec(4, 4, 6, 0)] == "x"


def test_what_the_protocol_fixes():
    assert (TopicSysFlag.UNIT, TopicSysFlag.UNIT_SUB, DEFAULT_TOPIC) == (1, 2, "TBW102")
