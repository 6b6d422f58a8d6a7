"""Requests of clients: routes, cluster information, member groups (protocol.md 2.1, 2.2, 2.7)."""

import pytest

from tests.support.server.builders import channel
from tests.support.server.in_memory import InMemoryNameServer
from tests.unit.processor.samples import NAMES, V6_BODY

STANDARD = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster",'
    b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
    b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
)


def zone(name, mode="true", topic="TopicTest"):
    return {"topic": topic, "__ZONE_MODE": mode, "__ZONE_NAME": name}


# 105


def test_105_answers_the_standard_form_to_new_clients(registered):
    response = registered.ask(105, {"topic": "TopicTest"}, version=513)
    assert (response.code, response.remark, response.ext_fields) == (0, None, None)
    assert response.body == STANDARD


def test_105_answers_the_legacy_form_to_old_clients(registered):
    response = registered.ask(105, {"topic": "TopicTest"}, version=373)
    assert b'{0:"10.0.0.1:10911"}' in response.body
    assert b'"topicSynFlag":0,"topicSysFlag":0' in response.body


@pytest.mark.parametrize(("version", "standard"), [(400, False), (401, True), (402, True), (0, False)])
def test_105_answers_the_standard_form_from_4_9_4_on(registered, version, standard):
    response = registered.ask(105, {"topic": "TopicTest"}, version=version)
    assert (response.body == STANDARD) is standard


@pytest.mark.parametrize(
    ("flag", "standard"), [("true", True), ("TRUE", True), ("false", False), ("", False)]
)
def test_105_answers_the_standard_form_to_old_clients_that_ask_for_it(registered, flag, standard):
    response = registered.ask(105, {"topic": "TopicTest", "acceptStandardJsonOnly": flag}, version=373)
    assert (response.body == STANDARD) is standard


@pytest.mark.parametrize(("fields", "name"), [({"topic": "nope"}, "nope"), ({}, "null"), (None, "null")])
def test_105_says_that_there_is_no_route(server, fields, name):
    response = server.ask(105, fields)
    assert response.code == 17
    assert response.remark == (
        f"No topic route info in name server for the topic: {name}\n"
        "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    )


def test_105_is_refused_while_brokers_may_not_be_back():
    server = InMemoryNameServer(need_wait_for_service="true")
    server.register(V6_BODY)
    for fields in ({"topic": "TopicTest"}, zone("east"), {}):
        response = server.ask(105, fields)
        assert (response.code, response.remark) == (1, "name server not ready")
    server.state.end_wait_for_service()
    assert server.ask(105, {"topic": "TopicTest"}).code == 0


def test_105_shows_an_acting_master_if_the_operator_wants_it():
    for wanted, shown in (("true", b'{"0":"10.0.0.2:10911"}'), ("false", b'{"1":"10.0.0.2:10911"}')):
        server = InMemoryNameServer(support_acting_master=wanted)
        server.register(V6_BODY, brokerId="1", brokerAddr="10.0.0.2:10911", enableActingMaster="true")
        body = server.ask(105, {"topic": "TopicTest"}).body
        assert shown in body
        assert b'"perm":4' in body


# zones


def test_105_keeps_the_brokers_of_the_zone_that_was_asked_for(server):
    server.register(V6_BODY, enableActingMaster="false", __ZONE_NAME="east")
    east = server.ask(105, zone("EAST"))
    west = server.ask(105, zone("west"))
    assert b'{0:"10.0.0.1:10911"}' in east.body
    assert west.body == b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}'
    assert (west.code, west.remark) == (0, None)


@pytest.mark.parametrize(
    "fields",
    [
        zone("west", mode="false"),
        zone("west", mode=""),
        zone(""),
        zone("  "),
        {"topic": "TopicTest", "__ZONE_NAME": "west"},
    ],
)
def test_a_zone_counts_only_with_its_mode_and_a_name(registered, fields):
    assert registered.ask(105, fields).body == STANDARD


def test_the_mode_of_a_zone_may_be_written_in_capitals(registered):
    assert registered.ask(105, zone("west", mode="TRUE")).body != STANDARD


def test_a_zone_asked_for_without_a_name_counts_as_none(registered):
    assert registered.ask(105, {"topic": "TopicTest", "__ZONE_MODE": "true"}).body == STANDARD


def test_a_topic_without_route_has_none_in_a_zone_either(registered):
    assert registered.ask(105, zone("east", topic="unknown")).code == 17
    assert registered.ask(105, {"__ZONE_MODE": "true", "__ZONE_NAME": "east"}).code == 17


def test_an_acting_master_is_in_the_zone_of_its_group():
    """The zone is looked at after a slave was shown as master."""
    server = InMemoryNameServer(support_acting_master="true")
    server.register(V6_BODY, brokerId="1", enableActingMaster="true", __ZONE_NAME="east")
    assert server.ask(105, zone("west")).body == b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}'


# 106 and 901


@pytest.mark.parametrize(("version", "key"), [(373, b"0"), (400, b"0"), (401, b'"0"'), (513, b'"0"')])
def test_106_shows_groups_and_clusters(registered, version, key):
    response = registered.ask(106, version=version)
    assert response.body == (
        b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{'
        + key
        + b':"10.0.0.1:10911"},"brokerName":"broker-a",'
        b'"cluster":"DefaultCluster","enableActingMaster":false}},"clusterAddrTable":{"DefaultCluster":["broker-a"]}}'
    )


def test_106_of_an_empty_server(server):
    assert server.ask(106).body == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'


@pytest.mark.parametrize(("version", "key"), [(373, b"0"), (401, b'"0"')])
def test_901_carries_javas_leftover_remark(registered, version, key):
    response = registered.ask(901, {"clusterName": "any", "brokerName": "broker-a"}, version=version)
    assert (response.code, response.remark) == (0, "not set any response code")
    assert response.body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{'
        + key
        + b':"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"any"}}'
    )


def test_901_of_an_unknown_broker_is_an_empty_group(server):
    response = server.ask(901, {"clusterName": "c", "brokerName": "nobody"})
    assert response.body == b'{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"nobody","cluster":"c"}}'
    assert server.ask(901, {"clusterName": "c"}).code == 1


def test_readers_do_not_wait_for_a_build(registered):
    over = channel(2)
    registered.register(V6_BODY, over=over)
    registered.ask(904, NAMES)
    assert registered.ask(105, {"topic": "TopicTest"}).body == STANDARD
