"""Requests about topics (protocol.md 2.4 to 2.6, 2.12)."""

import msgspec
import pytest

from tests.support.server.in_memory import InMemoryNameServer
from tests.unit.processor.samples import V6_BODY


def topics(response):
    assert (response.code, response.remark) == (0, None)
    return sorted(msgspec.json.decode(response.body)["topicList"])


def queues(*names, perm=6):
    numbers = {"readQueueNums": 1, "writeQueueNums": 2, "perm": perm, "topicSysFlag": 3}
    return msgspec.json.encode({"queueDatas": [{"brokerName": name, **numbers} for name in names]})


# 205 and 327


def test_205_and_327_count_topics_and_change_permissions(registered):
    assert registered.ask(205, {"brokerName": "broker-a"}).ext_fields == {"wipeTopicCount": "2"}
    assert b'"perm":4' in registered.ask(105, {"topic": "TopicTest"}).body
    assert b'"perm":5' in registered.ask(105, {"topic": "TBW102"}).body
    assert registered.ask(327, {"brokerName": "broker-a"}).ext_fields == {"addTopicCount": "2"}
    assert b'"perm":6' in registered.ask(105, {"topic": "TBW102"}).body


@pytest.mark.parametrize(("code", "field"), [(205, "wipeTopicCount"), (327, "addTopicCount")])
def test_an_unknown_broker_has_no_topics(server, code, field):
    response = server.ask(code, {"brokerName": "nobody"})
    assert (response.code, response.ext_fields) == (0, {field: "0"})


def test_a_wiped_permission_survives_an_unchanged_registration_and_not_a_changed_one(registered):
    registered.ask(205, {"brokerName": "broker-a"})
    registered.register(V6_BODY, enableActingMaster="false")
    assert b'"perm":4' in registered.ask(105, {"topic": "TopicTest"}).body
    registered.register(V6_BODY.replace(b'"counter":3', b'"counter":4'), enableActingMaster="false")
    assert b'"perm":6' in registered.ask(105, {"topic": "TopicTest"}).body


# lists


def test_206_lists_topics_unless_it_is_disabled(registered):
    assert topics(registered.ask(206)) == ["TBW102", "TopicTest"]
    disabled = InMemoryNameServer(enable_all_topic_list="false").ask(206)
    assert (disabled.code, disabled.remark) == (1, "disable")


@pytest.mark.parametrize(("code", "fields"), [(224, {"cluster": "c"}), (311, None), (312, None), (313, None)])
def test_topic_lists_can_be_disabled(code, fields):
    disabled = InMemoryNameServer(enable_topic_list="false").ask(code, fields)
    assert (disabled.code, disabled.remark) == (1, "disable")


def test_206_and_304_are_not_among_them(registered):
    server = InMemoryNameServer(enable_topic_list="false")
    assert server.ask(206).code == server.ask(304).code == 0


def test_224_lists_the_topics_of_a_cluster(registered):
    assert topics(registered.ask(224, {"cluster": "DefaultCluster"})) == ["TBW102", "TopicTest"]
    assert topics(registered.ask(224, {"cluster": "unknown"})) == []
    missing = registered.ask(224, {"clusterName": "DefaultCluster"})
    assert (missing.code, "cluster" in missing.remark) == (1, True)


def test_304_lists_names_and_somebody_to_ask(registered):
    assert registered.ask(304).body == (
        b'{"brokerAddr":"10.0.0.1:10911","topicList":["DefaultCluster","broker-a"]}'
    )
    assert InMemoryNameServer().ask(304).body == b'{"topicList":[]}'


def test_unit_lists_go_by_the_flag(server):
    def config(name, flag):
        return f'"{name}":{{"topicName":"{name}","topicSysFlag":{flag}}}'

    table = ",".join(config(*pair) for pair in [("plain", 0), ("unit", 1), ("sub", 2), ("both", 3)])
    server.register(f'{{"topicConfigSerializeWrapper":{{"topicConfigTable":{{{table}}}}}}}'.encode())
    assert {code: topics(server.ask(code)) for code in (311, 312, 313)} == {
        311: ["both", "unit"],
        312: ["both", "sub"],
        313: ["sub"],
    }


# 216


def test_216_forgets_a_topic_until_the_broker_registers_again(registered):
    assert registered.ask(216, {"topic": "TopicTest"}).code == 0
    assert registered.ask(105, {"topic": "TopicTest"}).code == 17
    registered.register(V6_BODY, enableActingMaster="false")
    assert registered.ask(105, {"topic": "TopicTest"}).code == 0


@pytest.mark.parametrize(("cluster", "code"), [("elsewhere", 0), ("DefaultCluster", 17), ("", 17)])
def test_216_may_be_limited_to_a_cluster(registered, cluster, code):
    assert registered.ask(216, {"topic": "TopicTest", "clusterName": cluster}).code == 0
    assert registered.ask(105, {"topic": "TopicTest"}).code == code


def test_216_needs_a_topic(registered):
    assert registered.ask(216, {"clusterName": "DefaultCluster"}).code == 1


# 217


def test_217_stops_at_an_unknown_broker(registered):
    body = queues("broker-a", "nobody")
    assert registered.ask(217, {"topic": "New"}, body).code == 0
    assert registered.ask(105, {"topic": "New"}).code == 17
    assert registered.ask(217, {"topic": "TopicTest"}, body).code == 0
    assert b'"readQueueNums":1' in registered.ask(105, {"topic": "TopicTest"}).body


@pytest.mark.parametrize("body", [b"", b"null", b" null\n"])
def test_217_without_queues_changes_nothing(registered, body):
    """The JSON value null is no route, as in Java."""
    for topic in ("New", "TopicTest"):
        before = registered.ask(105, {"topic": topic}).body
        assert registered.ask(217, {"topic": topic}, body).code == 0
        assert registered.ask(105, {"topic": topic}).body == before


def test_217_takes_all_numbers_from_the_queue_data(registered):
    registered.ask(217, {"topic": "New"}, queues("broker-a", perm=7))
    assert (
        b'"perm":7,"readQueueNums":1,"topicSysFlag":3,"writeQueueNums":2'
        in registered.ask(105, {"topic": "New"}).body
    )


@pytest.mark.parametrize("body", [b"", b"{}", b'{"queueDatas":[]}'])
def test_217_without_queues_is_no_error(registered, body):
    assert registered.ask(217, {"topic": "New"}, body).code == 0
    assert registered.ask(105, {"topic": "New"}).code == 17


def test_217_needs_a_topic(registered):
    assert registered.ask(217, {}, queues("broker-a")).code == 1


def test_217_with_more_queues_than_there_may_be_broker_names_is_refused():
    server = InMemoryNameServer(broker_names_limit="2")
    server.register(V6_BODY)
    response = server.ask(217, {"topic": "New"}, queues(*["broker-a"] * 3))
    assert (response.code, response.remark) == (1, "3 queue data; 2 are allowed (brokerNamesLimit)")
    assert server.ask(217, {"topic": "New"}, queues(*["broker-a"] * 2)).code == 0


def test_217_with_a_topic_that_is_too_long_is_refused(registered):
    response = registered.ask(217, {"topic": "x" * 513}, queues("broker-a"))
    assert response.code == 1
    assert response.remark == "the topic has 513 characters; 512 are allowed (nameCharactersLimit)"


def test_217_with_a_broker_name_that_is_too_long_is_refused(registered):
    response = registered.ask(217, {"topic": "New"}, queues("broker-a", "x" * 513))
    assert response.code == 1
    assert response.remark == "the broker name has 513 characters; 512 are allowed (nameCharactersLimit)"
    assert registered.ask(217, {"topic": "New"}, queues("broker-a", "x" * 512)).code == 0
    assert registered.ask(217, {"topic": "None"}, b'{"queueDatas":[]}').code == 0
