"""The topics that our registrar registers by itself are those of a Java broker with the same `broker.conf`."""

import pytest

from namekeeper.broker.settings import BrokerSettings
from namekeeper.broker.system_topics import system_topics
from namekeeper.wire.codes import version_ordinal
from tests.interop.routes import route, topics
from tests.interop.servers import JAVA_UNDER_TEST, Namekeeper
from tests.support.java.servers import VERSIONS, JavaBroker
from tests.support.system.processes import eventually

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(JAVA_UNDER_TEST, reason="about our registrar; the name server does not matter"),
]

OTHER = {
    "autoCreateTopicEnable": "false", "traceTopicEnable": "true", "clusterTopicEnable": "false",
    "brokerTopicEnable": "false", "defaultTopicQueueNums": "5", "reviveQueueNum": "3",
}  # fmt: skip
CASES = [
    *(pytest.param(version, {}, id=version) for version in VERSIONS),
    pytest.param("4.8.0", OTHER, id="other switches of 4.8.0"),
    pytest.param("5.5.0", OTHER, id="other switches of 5.5.0"),
]


@pytest.mark.parametrize(("version", "properties"), CASES)
def test_they_are_those_of_a_java_broker(version: str, properties: dict[str, str]):
    with Namekeeper() as server, JavaBroker(version, [server.address], properties=properties) as broker:
        settings = BrokerSettings.from_broker_conf(
            broker.home / "broker.properties", version=version_ordinal(version)
        )
        ours = {
            topic.topic_name: (topic.read_queue_nums, topic.write_queue_nums, topic.perm)
            for topic in system_topics(settings)
        }
        eventually(lambda: topics(server.address) >= ours.keys(), within=60, what="all topics")
        found = {topic: route(server.address, topic) for topic in topics(server.address)}
        assert {topic: each.queues[broker.name] for topic, each in found.items() if each} == ours
