"""What a broker registers by itself: the lists that were seen of real brokers (protocol.md 6.9)."""

import pytest

from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.system_topics import system_topics
from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.errors import ConfigError
from namekeeper.model.topic import TopicConfig
from tests.unit.broker.parts import T1, FakeClient, FakeTime, settings

OLD = {
    "TBW102": (8, 7), "SELF_TEST_TOPIC": (1, 6), "BenchmarkTest": (1024, 6), "OFFSET_MOVED_EVENT": (1, 6),
    "SCHEDULE_TOPIC_XXXX": (18, 6), "C": (16, 7), "broker-a": (1, 7), "C_REPLY_TOPIC": (1, 6),
}  # fmt: skip
FIVE = {
    **OLD, "rmq_sys_REVIVE_LOG_C": (8, 6), "rmq_sys_SYNC_BROKER_MEMBER_broker-a": (1, 1),
    "RMQ_SYS_TRANS_HALF_TOPIC": (1, 6), "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 6),
}  # fmt: skip
NEWEST = {
    **FIVE, "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC": (1, 6), "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC": (1, 6),
}  # fmt: skip


def found(**more) -> dict[str, tuple[int, int]]:
    topics = system_topics(settings(cluster_name="C", **more))
    assert all(topic.read_queue_nums == topic.write_queue_nums for topic in topics)
    return {topic.topic_name: (topic.read_queue_nums, topic.perm) for topic in topics}


@pytest.mark.parametrize(("version", "expected"), [(373, OLD), (479, FIVE), (513, NEWEST)])
def test_each_line_has_its_own(version, expected):
    assert found(version=version) == expected


@pytest.mark.parametrize(
    ("switch", "changed"),
    [
        ({"auto_create_topic_enable": False}, {"TBW102": None}),
        ({"default_topic_queue_nums": 4}, {"TBW102": (4, 7)}),
        ({"cluster_topic_enable": False}, {"C": (16, 1)}),
        ({"broker_topic_enable": False}, {"broker-a": (1, 1)}),
        ({"trace_topic_enable": True}, {"RMQ_SYS_TRACE_TOPIC": (1, 6)}),
        ({"trace_topic_enable": True, "msg_trace_topic_name": "traces"}, {"traces": (1, 6)}),
        ({"revive_queue_num": 2}, {"rmq_sys_REVIVE_LOG_C": (2, 6)}),
    ],
)
def test_each_switch_does_what_it_does_in_java(switch, changed):
    expected = {name: value for name, value in {**NEWEST, **changed}.items() if value is not None}
    assert found(**switch) == expected


def test_a_broker_with_the_name_of_its_cluster_has_one_topic_of_it():
    assert found(broker_name="C")["C"] == (16, 7)


async def registered(topics, **more) -> BrokerRegistrar:
    time = FakeTime()
    registrar = BrokerRegistrar(settings(**more), topics, client=FakeClient(), clock=time, sleep=time.sleep)
    async with registrar:
        return registrar


async def test_they_are_registered_beside_the_broker_s_own_if_the_setting_says_so():
    own = TopicConfig("SELF_TEST_TOPIC", 3, 3)
    table = (await registered([T1, own], register_system_topics=True)).topics.table
    assert {"T1", "TBW102", "SELF_TEST_TOPIC"} <= {topic.topic_name for topic in table}
    assert table.get("SELF_TEST_TOPIC") == own
    assert len((await registered([T1])).topics.table) == 1


async def test_they_are_stored_with_the_others(tmp_path):
    path = tmp_path / "topics.json"
    for _ in range(2):
        manager = await TopicConfigManager.open(path, [T1])
        await registered(manager, register_system_topics=True)
    again = await TopicConfigManager.open(path)
    assert "TBW102" in again.table
    assert again.data_version.counter == 2


def test_numbers_of_queues_are_checked():
    with pytest.raises(ConfigError, match="default_topic_queue_nums is 0"):
        settings(default_topic_queue_nums=0)
