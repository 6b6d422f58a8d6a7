"""Static-topic mappings (protocol.md 3.5)."""

import msgspec

from namekeeper.model.mapping import TopicQueueMappingInfo


def test_members_are_spelled_as_in_java_which_is_not_all_camel_case():
    info = TopicQueueMappingInfo("broker-a", {0: 0, 1: 1}, epoch=7, topic="StaticT", total_queues=4)
    assert msgspec.to_builtins(info) == {
        "bname": "broker-a",
        "currIdMap": {0: 0, 1: 1},
        "dirty": False,
        "epoch": 7,
        "scope": "__global__",
        "topic": "StaticT",
        "totalQueues": 4,
    }


def test_mappings_compare_by_value():
    assert TopicQueueMappingInfo("a", {0: 1}) == TopicQueueMappingInfo("a", {0: 1})
    assert TopicQueueMappingInfo("a", {0: 1}) != TopicQueueMappingInfo("a", {0: 2})
