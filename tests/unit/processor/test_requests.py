"""Each request code as protocol.md 2 has it, on a name server in memory."""

import msgspec
import pytest

from namekeeper.processor.dispatch import CHANGERS, READERS
from namekeeper.processor.outcome import Save
from namekeeper.wire.codes import RequestCode
from tests.support.in_memory import InMemoryNameServer

V6_BODY = (
    b'{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,"timestamp":1700000000000},'
    b'"topicConfigTable":{"TopicTest":{"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG",'
    b'"topicName":"TopicTest","topicSysFlag":0,"writeQueueNums":4},"TBW102":{"order":false,"perm":7,"readQueueNums":8,'
    b'"topicFilterType":"SINGLE_TAG","topicName":"TBW102","topicSysFlag":0,"writeQueueNums":8}}}}'
)
NAMES = {"brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "DefaultCluster", "brokerId": "0"}


@pytest.fixture
def server():
    return InMemoryNameServer()


@pytest.fixture
def registered(server):
    assert server.register(V6_BODY, enableActingMaster="false").code == 0
    return server


def test_every_code_of_the_protocol_has_exactly_one_handler():
    handled = [*READERS, *CHANGERS]
    assert sorted(handled) == sorted(set(RequestCode) - {RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE})


def test_105_answers_the_standard_form_to_new_clients(registered):
    response = registered.ask(105, {"topic": "TopicTest"}, version=513)
    assert response.body == (
        b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster",'
        b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
        b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
    )


def test_105_answers_the_legacy_form_to_old_clients(registered):
    response = registered.ask(105, {"topic": "TopicTest"}, version=373)
    assert b'{0:"10.0.0.1:10911"}' in response.body
    assert b'"topicSynFlag":0,"topicSysFlag":0' in response.body


def test_105_answers_the_standard_form_to_old_clients_that_ask_for_it(registered):
    response = registered.ask(105, {"topic": "TopicTest", "acceptStandardJsonOnly": "TRUE"}, version=373)
    assert b'{"0":"10.0.0.1:10911"}' in response.body


@pytest.mark.parametrize(("fields", "name"), [({"topic": "nope"}, "nope"), ({}, "null"), (None, "null")])
def test_105_says_that_there_is_no_route(server, fields, name):
    response = server.ask(105, fields)
    assert response.code == 17
    assert response.remark.startswith(f"No topic route info in name server for the topic: {name}\nSee https://")


def test_105_is_refused_while_brokers_may_not_be_back():
    server = InMemoryNameServer(need_wait_for_service="true")
    response = server.ask(105, {"topic": "T"})
    assert (response.code, response.remark) == (1, "name server not ready")


def test_105_keeps_the_brokers_of_the_zone_that_was_asked_for(server):
    server.register(V6_BODY, enableActingMaster="false", __ZONE_NAME="east")
    east = server.ask(105, {"topic": "TopicTest", "__ZONE_MODE": "true", "__ZONE_NAME": "EAST"})
    west = server.ask(105, {"topic": "TopicTest", "__ZONE_MODE": "true", "__ZONE_NAME": "west"})
    assert b'{0:"10.0.0.1:10911"}' in east.body
    assert west.body == b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}'
    assert west.code == 0


def test_106_shows_groups_and_clusters(registered):
    response = registered.ask(106, version=373)
    assert response.body == (
        b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a",'
        b'"cluster":"DefaultCluster","enableActingMaster":false}},"clusterAddrTable":{"DefaultCluster":["broker-a"]}}'
    )


def test_901_carries_javas_leftover_remark(registered):
    response = registered.ask(901, {"clusterName": "any", "brokerName": "broker-a"}, version=373)
    assert response.remark == "not set any response code"
    assert response.body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"any"}}'
    )


def test_205_and_327_count_topics_and_change_permissions(registered):
    assert registered.ask(205, {"brokerName": "broker-a"}).ext_fields == {"wipeTopicCount": "2"}
    assert b'"perm":4' in registered.ask(105, {"topic": "TopicTest"}).body
    assert registered.ask(327, {"brokerName": "broker-a"}).ext_fields == {"addTopicCount": "2"}
    assert b'"perm":6' in registered.ask(105, {"topic": "TBW102"}).body
    assert registered.ask(205, {"brokerName": "nobody"}).ext_fields == {"wipeTopicCount": "0"}


def test_a_wiped_permission_survives_an_unchanged_registration_and_not_a_changed_one(registered):
    registered.ask(205, {"brokerName": "broker-a"})
    registered.register(V6_BODY, enableActingMaster="false")
    assert b'"perm":4' in registered.ask(105, {"topic": "TopicTest"}).body
    registered.register(V6_BODY.replace(b'"counter":3', b'"counter":4'), enableActingMaster="false")
    assert b'"perm":6' in registered.ask(105, {"topic": "TopicTest"}).body


def test_206_lists_topics_unless_it_is_disabled(registered):
    assert sorted(msgspec.json.decode(registered.ask(206).body)["topicList"]) == ["TBW102", "TopicTest"]
    disabled = InMemoryNameServer(enable_all_topic_list="false").ask(206)
    assert (disabled.code, disabled.remark) == (1, "disable")


@pytest.mark.parametrize(("code", "fields"), [(224, {"cluster": "c"}), (311, None), (312, None), (313, None)])
def test_topic_lists_can_be_disabled(code, fields):
    disabled = InMemoryNameServer(enable_topic_list="false").ask(code, fields)
    assert (disabled.code, disabled.remark) == (1, "disable")


def test_unit_lists_go_by_the_flag(server):
    def config(name, flag):
        return f'"{name}":{{"topicName":"{name}","topicSysFlag":{flag}}}'

    table = ",".join(config(name, flag) for name, flag in [("plain", 0), ("unit", 1), ("sub", 2), ("both", 3)])
    server.register(f'{{"topicConfigSerializeWrapper":{{"topicConfigTable":{{{table}}}}}}}'.encode())
    lists = {code: sorted(msgspec.json.decode(server.ask(code).body)["topicList"]) for code in (311, 312, 313)}
    assert lists == {311: ["both", "unit"], 312: ["both", "sub"], 313: ["sub"]}


def test_216_forgets_a_topic_until_the_broker_registers_again(registered):
    assert registered.ask(216, {"topic": "TopicTest"}).code == 0
    assert registered.ask(105, {"topic": "TopicTest"}).code == 17
    registered.register(V6_BODY, enableActingMaster="false")
    assert registered.ask(105, {"topic": "TopicTest"}).code == 0


def test_216_with_an_unknown_cluster_does_nothing(registered):
    registered.ask(216, {"topic": "TopicTest", "clusterName": "elsewhere"})
    assert registered.ask(105, {"topic": "TopicTest"}).code == 0


def test_217_stops_at_an_unknown_broker(registered):
    queues = [
        {"brokerName": name, "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0}
        for name in ("broker-a", "nobody")
    ]
    body = msgspec.json.encode({"queueDatas": queues})
    assert registered.ask(217, {"topic": "New"}, body).code == 0
    assert registered.ask(105, {"topic": "New"}).code == 17
    assert registered.ask(217, {"topic": "TopicTest"}, body).code == 0
    assert b'"readQueueNums":1' in registered.ask(105, {"topic": "TopicTest"}).body


def test_322_tells_whether_the_version_changed(registered):
    same = registered.ask(322, NAMES, b'{"counter":3,"timestamp":1700000000000}')
    assert same.ext_fields == {"changed": "false"}
    assert same.body == b'{"counter":3,"stateVersion":0,"timestamp":1700000000000}'
    assert registered.ask(322, NAMES, b'{"counter":4}').ext_fields == {"changed": "true"}
    unknown = registered.ask(322, {**NAMES, "brokerAddr": "10.9.9.9:1"}, b"{}")
    assert (unknown.ext_fields, unknown.body) == ({"changed": "true"}, b"")


def test_104_ends_a_registration(registered):
    assert registered.ask(104, NAMES).code == 0
    assert registered.ask(106).body == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'


def test_904_of_an_unknown_broker_is_no_error(server):
    assert server.ask(904, NAMES).code == 0


def test_kv_entries_are_saved_before_they_are_answered(server):
    entry = {"namespace": "ns", "key": "k"}
    assert server.ask(101, entry).ext_fields == {}
    assert server.ask(101, entry).code == 22
    assert server.ask(100, {**entry, "value": "v"}).code == 0
    assert server.saved == [Save.KV_CONFIG]
    assert server.ask(101, entry).ext_fields == {"value": "v"}
    assert server.ask(219, {"namespace": "ns"}).body == b'{"table":{"k":"v"}}'
    assert server.ask(102, entry).code == 0
    assert server.ask(219, {"namespace": "ns"}).body == b'{"table":{}}'
    assert server.ask(219, {"namespace": "other"}).code == 22


def test_an_order_configuration_is_attached_to_routes_if_the_operator_wants_it():
    server = InMemoryNameServer(order_message_enable="true")
    server.register(V6_BODY)
    server.ask(105, {"topic": "TopicTest"})
    server.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TopicTest", "value": "broker-a:4"})
    assert b'"orderTopicConf":"broker-a:4"' in server.ask(105, {"topic": "TopicTest"}).body
    assert server.register(V6_BODY).body == b'{"table":{"TopicTest":"broker-a:4"}}'


def test_319_shows_the_configuration_and_318_is_refused_unless_allowed(server):
    assert b"listenPort=9876\n" in server.ask(319).body
    refused = server.ask(318, None, b"orderMessageEnable=true")
    assert refused.code == 16
    assert "allowConfigUpdate" in refused.remark


def test_318_takes_effect_at_once_where_it_is_allowed():
    server = InMemoryNameServer(allow_config_update="true")
    assert server.ask(318, None, b"enableTopicList=false").code == 0
    assert server.saved == [Save.CONFIG]
    assert server.ask(311).code == 1
    assert server.ask(318, None, b"kvConfigPath=/tmp/x").code == 16


@pytest.mark.parametrize("missing", ["brokerName", "brokerAddr", "clusterName", "brokerId"])
@pytest.mark.parametrize("code", [103, 104, 322])
def test_a_missing_field_is_answered_with_its_name(server, code, missing):
    fields = {name: value for name, value in {**NAMES, "haServerAddr": "h"}.items() if name != missing}
    response = server.ask(code, fields, b"{}")
    assert response.code == 1
    assert missing in response.remark


def test_a_wrong_crc_is_refused_and_changes_nothing(server):
    response = server.register(V6_BODY, bodyCrc32="12345")
    assert (response.code, response.remark) == (1, "crc32 not match")
    assert server.events == []


def test_an_unknown_code_is_answered_as_java_does(server):
    assert server.ask(9999).remark == " request type 9999 not supported"
    assert server.ask(9999).code == 3
