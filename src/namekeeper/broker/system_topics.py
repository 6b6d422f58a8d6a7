"""The topics that a broker registers by itself, as Java's TopicConfigManager makes them (protocol.md 6.9)."""

from namekeeper.broker.settings import FIVE, BrokerSettings
from namekeeper.model.perm import Perm
from namekeeper.model.topic import DEFAULT_TOPIC, TopicConfig

__all__ = ["system_topics"]

_WITH_ROCKSDB = 493
"""5.4.0: from here on transactions have topics of their own in RocksDB."""
_BENCHMARK_QUEUES = 1024
_CLUSTER_QUEUES = 16
_DELAY_LEVELS = 18
_READ_WRITE = Perm.READ | Perm.WRITE
_INHERITED = Perm.INHERIT | _READ_WRITE


def system_topics(settings: BrokerSettings) -> tuple[TopicConfig, ...]:
    """Return the system topics of a broker of the release and with the switches of the settings."""
    cluster, name, version = settings.cluster_name, settings.broker_name, settings.version

    def topic(title: str, queues: int = 1, perm: int = _READ_WRITE) -> TopicConfig:
        return TopicConfig(title, queues, queues, int(perm))

    topics = [topic("SELF_TEST_TOPIC")]
    if settings.auto_create_topic_enable:
        topics.append(topic(DEFAULT_TOPIC, settings.default_topic_queue_nums, _INHERITED))
    topics += [
        topic("BenchmarkTest", _BENCHMARK_QUEUES),
        topic(cluster, _CLUSTER_QUEUES, _INHERITED if settings.cluster_topic_enable else Perm.INHERIT),
        topic(name, 1, _INHERITED if settings.broker_topic_enable else Perm.INHERIT),
        topic("OFFSET_MOVED_EVENT"),
        topic("SCHEDULE_TOPIC_XXXX", _DELAY_LEVELS),
        topic(f"{cluster}_REPLY_TOPIC"),
    ]
    if settings.trace_topic_enable:
        topics.append(topic(settings.msg_trace_topic_name))
    if version >= FIVE:
        topics += [
            topic(f"rmq_sys_REVIVE_LOG_{cluster}", settings.revive_queue_num),
            topic(f"rmq_sys_SYNC_BROKER_MEMBER_{name}", 1, Perm.INHERIT),
            topic("RMQ_SYS_TRANS_HALF_TOPIC"),
            topic("RMQ_SYS_TRANS_OP_HALF_TOPIC"),
        ]
    if version >= _WITH_ROCKSDB:
        topics += [topic("RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"), topic("RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC")]
    # A cluster and its broker may have one name: the first topic of a name counts, as in Java's map.
    return tuple({each.topic_name: each for each in reversed(topics)}.values())[::-1]
