"""Requests of brokers (protocol.md 2.8 to 2.11)."""

import json
import zlib

import pytest

from namekeeper.messages.body_checksum import masked_crc32
from namekeeper.processor import registration
from namekeeper.route.channel import Channel
from namekeeper.route.events import BrokerHeard
from namekeeper.wire.command import RemotingCommand
from tests.support.server.builders import at, channel
from tests.support.server.in_memory import InMemoryNameServer
from tests.unit.processor.samples import NAMES, V6_BODY

KEY = ("DefaultCluster", "10.0.0.1:10911")
SLAVE = {"brokerAddr": "10.0.0.2:10911", "brokerId": "1", "haServerAddr": "10.0.0.2:10912"}


def body_of(*topics: str, counter: int = 3) -> bytes:
    table = {
        topic: {"topicName": topic, "perm": 6, "readQueueNums": 4, "writeQueueNums": 4} for topic in topics
    }
    version = {"counter": counter, "timestamp": 1_700_000_000_000}
    return json.dumps(
        {"topicConfigSerializeWrapper": {"dataVersion": version, "topicConfigTable": table}}
    ).encode()


def says_changed(server, counter: int = 3) -> bool:
    version = b'{"counter":%d,"timestamp":1700000000000}' % counter
    return server.ask(322, NAMES, version).ext_fields == {"changed": "true"}


def live(server):
    return server.state.tables.broker_live_table.get(KEY)


# 103


def test_a_master_is_answered_with_an_empty_header(server):
    response = server.register(V6_BODY)
    assert (response.code, response.ext_fields, response.body) == (0, {}, b"")


def test_a_slave_is_told_its_master(registered):
    response = registered.register(V6_BODY, over=channel(2), **SLAVE)
    assert response.ext_fields == {"masterAddr": "10.0.0.1:10911", "haServerAddr": "10.0.0.1:10912"}


def test_a_first_registration_with_a_single_topic_is_accepted(server):
    response = server.register(body_of("T1", counter=3))
    assert (response.code, response.ext_fields) == (0, {})
    assert server.state.tables.topics() == ["T1"]


def test_a_stale_registration_is_answered_with_success(server):
    newer = V6_BODY.replace(b'"counter":3', b'"counter":3,"stateVersion":5')
    server.register(newer)
    response = server.register(V6_BODY, over=channel(2), brokerAddr="10.0.0.9:10911")
    assert (response.code, response.ext_fields) == (0, {})
    assert list(server.state.tables.broker_addr_table["broker-a"].broker_addrs.values()) == ["10.0.0.1:10911"]


@pytest.mark.parametrize("crc", ["12345", "-1"])
def test_a_wrong_crc_is_refused_and_changes_nothing(server, crc):
    response = server.register(V6_BODY, bodyCrc32=crc)
    assert (response.code, response.remark) == (1, "crc32 not match")
    assert server.events == []


def test_a_wrong_crc_is_refused_even_if_the_body_is_known(registered):
    over = channel()
    registered.register(V6_BODY, over=over)
    assert registered.register(V6_BODY, over=over).code == 0
    assert registered.register(V6_BODY, over=over, bodyCrc32="12345").remark == "crc32 not match"


@pytest.mark.parametrize("crc", ["0", "3000000000", str(masked_crc32(V6_BODY))])
def test_a_crc_that_is_right_or_none_passes(server, crc):
    assert server.register(V6_BODY, bodyCrc32=crc).code == 0


def test_the_crc_has_no_top_bit():
    body = next(b"%d" % number for number in range(100) if zlib.crc32(b"%d" % number) >> 31)
    assert masked_crc32(body) == zlib.crc32(body) - 2**31


def test_a_body_that_can_not_be_read_is_refused_and_changes_nothing(server):
    response = server.register(b"not JSON")
    assert response.code == 1
    assert "Failed to decode RegisterBrokerBody" in response.remark
    assert (server.events, server.queue.is_busy) == ([], False)


def test_a_registration_without_body_has_no_topics(server):
    assert server.register(b"").code == 0
    assert server.ask(206).body == b'{"topicList":[]}'


def test_the_order_configuration_is_sent_along_even_if_it_is_empty(registered):
    entry = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}
    registered.ask(100, {**entry, "value": "broker-a:4"})
    assert registered.register(V6_BODY).body == b'{"table":{"T":"broker-a:4"}}'
    registered.ask(102, entry)
    assert registered.register(V6_BODY).body == b'{"table":{}}'


def test_the_order_configuration_is_not_sent_if_the_operator_does_not_want_it():
    server = InMemoryNameServer(return_order_topic_config_to_broker="false")
    server.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"})
    assert server.register(V6_BODY).body == b""


def test_a_registration_counts_as_life_before_its_turn_comes(registered):
    registered.now = at(50)
    fields = {**NAMES, "haServerAddr": "h"}
    request = RemotingCommand(code=103, version=513, ext_fields=fields, body=V6_BODY)
    registration.register_broker(registered.state, request, channel(2), at(50))
    assert live(registered).idle_ms(at(60)) == 10_000


def test_a_heartbeat_timeout_of_the_broker_is_kept(registered):
    registered.register(V6_BODY, heartbeatTimeoutMillis="1500")
    assert live(registered).heartbeat_timeout_ms == 1_500


def test_the_zone_comes_from_a_raw_field(registered):
    registered.register(V6_BODY, __ZONE_NAME="east")
    assert registered.state.tables.broker_addr_table["broker-a"].zone_name == "east"


@pytest.mark.parametrize("missing", ["brokerName", "brokerAddr", "clusterName", "brokerId"])
@pytest.mark.parametrize("code", [103, 104, 322])
def test_a_missing_field_is_answered_with_its_name(server, code, missing):
    fields = {name: value for name, value in {**NAMES, "haServerAddr": "h"}.items() if name != missing}
    response = server.ask(code, fields, b"{}")
    assert response.code == 1
    assert missing in response.remark


# 104


def test_104_ends_a_registration(registered):
    assert registered.ask(104, NAMES).code == 0
    assert registered.ask(106).body == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'


def test_104_of_an_unknown_broker_is_no_error(server):
    assert server.ask(104, NAMES).code == 0


def test_a_stale_104_is_answered_with_success_and_does_nothing(server):
    old, new = channel(1), channel(2)
    server.register(V6_BODY, over=old)
    server.register(V6_BODY, over=new)
    assert server.ask(104, NAMES, over=old).code == 0
    assert live(server).channel is new


@pytest.mark.parametrize("code", [322, 904])
def test_a_heartbeat_makes_a_connection_that_of_an_old_process(server, code):
    """Fencing: 322 and 904 count as speaking for the broker, as 103 does."""
    first, other, third = channel(1), channel(2), channel(3)
    server.register(V6_BODY, over=first)
    server.ask(code, NAMES, b"{}", over=other)
    server.register(V6_BODY, over=third)
    server.ask(104, NAMES, over=other)
    assert live(server).gen == 2
    server.ask(code, NAMES, b"{}", over=first)
    server.ask(104, NAMES, over=channel(4))
    assert live(server) is None


# 322


def test_322_tells_whether_the_version_changed(registered):
    same = registered.ask(322, NAMES, b'{"counter":3,"timestamp":1700000000000}')
    assert same.ext_fields == {"changed": "false"}
    assert same.body == b'{"counter":3,"stateVersion":0,"timestamp":1700000000000}'
    assert registered.ask(322, NAMES, b'{"counter":4}').ext_fields == {"changed": "true"}


def test_322_says_changed_until_other_than_single_topics_came(server):
    """Or the other topics would never come with forceRegister=false (R#4522, R#9411)."""
    server.register(body_of("T1"))
    answer = server.ask(322, NAMES, b'{"counter":3,"timestamp":1700000000000}')
    assert answer.ext_fields == {"changed": "true"}
    assert answer.body == b'{"counter":3,"stateVersion":0,"timestamp":1700000000000}'
    server.register(body_of("T2", counter=4))
    assert says_changed(server, 4)
    server.register(body_of("T1", "T2", "T3", counter=4))
    assert (says_changed(server, 4), says_changed(server, 5)) == (False, True)
    server.register(body_of("T3", counter=5))
    assert not says_changed(server, 5)


def test_322_is_told_by_the_version_of_a_broker_without_topics(server):
    server.register(body_of())
    assert not says_changed(server)


@pytest.mark.parametrize("other", [{"brokerName": "broker-b"}, {"brokerId": "1"}])
def test_322_says_changed_to_a_broker_that_begins_anew_with_a_single_topic(server, other):
    server.register(body_of("T1", "T2"))
    server.register(body_of("T1"), **other)
    assert says_changed(server)


def test_a_single_topic_of_an_address_that_takes_an_id_over_is_not_all(server):
    server.register(body_of("T1", "T2"))
    server.register(body_of("T1"), brokerAddr="10.0.0.9:10911")
    version = b'{"counter":3,"timestamp":1700000000000}'
    names = {**NAMES, "brokerAddr": "10.0.0.9:10911"}
    assert server.ask(322, names, version).ext_fields == {"changed": "true"}


def test_322_of_an_unknown_broker_has_no_body(registered):
    for differs in ({"brokerAddr": "10.9.9.9:1"}, {"clusterName": "other"}):
        unknown = registered.ask(322, {**NAMES, **differs}, b"{}")
        assert (unknown.code, unknown.ext_fields, unknown.body) == (0, {"changed": "true"}, b"")


@pytest.mark.parametrize("body", [b"", b"null", b" null\n"])
def test_322_without_version_counts_as_different(registered, body):
    """The JSON value null is no version, as in Java."""
    answer = registered.ask(322, NAMES, body)
    assert (answer.code, answer.ext_fields) == (0, {"changed": "true"})


def test_322_is_a_sign_of_life_whether_or_not_the_version_changed(registered):
    for seconds, body in ((10, b'{"counter":3,"timestamp":1700000000000}'), (30, b"{}")):
        registered.now = at(seconds)
        registered.ask(322, NAMES, body, over=channel(9))
        assert live(registered).idle_ms(at(seconds)) == 0
    heard = [event for event in registered.events if isinstance(event, BrokerHeard)]
    assert [event.gap_ms for event in heard] == [10_000, 20_000]
    assert not any(event.is_registration or event.body_bytes for event in heard)


def test_322_with_a_body_that_can_not_be_read_is_refused(registered):
    assert registered.ask(322, NAMES, b"x").code == 1


# 904


def test_904_is_a_sign_of_life_over_any_connection(registered):
    registered.now = at(100)
    before = live(registered).channel
    assert registered.ask(904, NAMES, over=channel(9)).code == 0
    assert (live(registered).idle_ms(at(101)), live(registered).channel) == (1_000, before)


def test_904_of_an_unknown_broker_is_no_error(server):
    assert server.ask(904, NAMES).code == 0
    assert server.events == []


# Heartbeats of protected brokers


def sender(host: str, **known: object) -> Channel:
    """A connection from a host, whose user or certificate may be known."""
    made = Channel(9, f"{host}:5000")
    for name, value in known.items():
        setattr(made, name, value)
    return made


OWNER, STRANGER = "10.9.0.1", "10.9.0.2"
PROOF = {"user": "prod", "certificate_name": "CN=broker-a"}
REFRESHING = {
    "a stranger": (sender(STRANGER), False),
    "another user and certificate": (sender(STRANGER, user="other", certificate_name="CN=other"), False),
    "another connection of its host": (sender(OWNER), True),
    "its user": (sender(STRANGER, user=PROOF["user"]), True),
    "its certificate": (sender(STRANGER, certificate_name=PROOF["certificate_name"]), True),
    "whom a rule with takes_over allows it": (sender(STRANGER, may_take_over=True), True),
}


@pytest.mark.parametrize("code", [322, 904])
@pytest.mark.parametrize("who", REFRESHING)
def test_only_its_owner_keeps_a_protected_broker_alive(code, who):
    over, is_allowed = REFRESHING[who]
    server = InMemoryNameServer(protect_broker_names="true")
    assert server.register(V6_BODY, over=sender(OWNER, **PROOF)).code == 0
    version = b'{"counter":3,"timestamp":1700000000000}'
    expected = server.ask(code, NAMES, version, over=sender(OWNER))
    server.events.clear()
    server.now = at(100)
    assert (
        server.ask(code, NAMES, version, over=over) == expected
    )  # a tool may ask, and brokers expect success
    assert live(server).idle_ms(at(100)) == (0 if is_allowed else 100_000)
    assert (server.events != []) is is_allowed


@pytest.mark.parametrize("code", [322, 904])
def test_anybody_keeps_a_broker_alive_whose_connection_is_gone_and_without_the_rule(code):
    for is_protected in (True, False):
        server = InMemoryNameServer(protect_broker_names=str(is_protected).lower())
        own = sender(OWNER)
        assert server.register(V6_BODY, over=own).code == 0
        own.is_open = not is_protected
        server.now = at(100)
        assert server.ask(code, NAMES, over=sender(STRANGER)).code == 0
        assert live(server).idle_ms(at(100)) == 0


@pytest.mark.parametrize("code", [322, 904])
def test_a_stranger_does_not_keep_a_restored_broker_alive(code):
    server = InMemoryNameServer(protect_broker_names="true")
    assert server.register(V6_BODY, over=sender(OWNER)).code == 0
    live(server).channel = None
    live(server).owner = sender(OWNER).owner
    server.now = at(100)
    for host, idle_ms in ((STRANGER, 100_000), (OWNER, 0)):
        assert server.ask(code, NAMES, over=sender(host)).code == 0
        assert live(server).idle_ms(at(100)) == idle_ms


def test_904_does_not_wait_for_a_build(registered):
    fields = {**NAMES, "haServerAddr": "h", "enableActingMaster": "true"}
    request = RemotingCommand(code=103, version=513, ext_fields=fields, body=V6_BODY)
    build = registration.register_broker(registered.state, request, channel(2), at(0)).change
    registered.queue.submit(build, lambda *_: None, now=at(0))
    assert registered.queue.is_busy
    registered.now = at(5)
    assert registered.ask(904, NAMES).code == 0
    assert live(registered).idle_ms(at(5)) == 0
    assert registered.queue.is_busy


def test_a_decoder_does_not_read_more_than_a_turn_allows(server):
    fields = {**NAMES, "haServerAddr": "h"}
    request = RemotingCommand(code=103, version=513, ext_fields=fields, body=V6_BODY)
    change = registration.register_broker(server.state, request, channel(), at(0)).change
    assert next(change.build(server.state.tables)) is None
    assert server.state.tables.broker_addr_table == {}


# limits


LONG = "x" * 513


@pytest.mark.parametrize("field", ["brokerName", "clusterName", "brokerAddr", "haServerAddr", "__ZONE_NAME"])
def test_a_name_that_is_too_long_is_refused_and_nothing_is_kept(server, field):
    over = channel()
    response = server.register(V6_BODY, over=over, **{field: LONG})
    assert (response.code, "513 characters; 512 are allowed (nameCharactersLimit)" in response.remark) == (
        1,
        True,
    )
    assert (server.events, over.carried) == ([], {})
    assert server.register(V6_BODY, over=over, **{field: LONG[1:]}).code == 0


def test_a_topic_that_is_too_long_is_refused_and_nothing_is_kept(server):
    def body(topic):
        return V6_BODY.replace(b"TopicTest", topic.encode())

    response = server.register(body(LONG))
    assert response.code == 1
    assert response.remark == "the topic has 513 characters; 512 are allowed (nameCharactersLimit)"
    assert server.events == []
    assert server.register(body(LONG[1:])).code == 0
    assert server.ask(105, {"topic": LONG[1:]}).code == 0


@pytest.mark.parametrize("code", [322, 904])
@pytest.mark.parametrize("field", ["clusterName", "brokerAddr"])
def test_a_heartbeat_with_a_name_that_is_too_long_is_not_remembered(server, code, field):
    over = channel()
    response = server.ask(code, {**NAMES, field: LONG}, over=over)
    assert (response.code, over.carried) == (1, {})
    assert server.ask(code, {**NAMES, field: LONG[1:]}, over=over).code == 0


@pytest.mark.parametrize("field", ["clusterName", "brokerName", "brokerAddr"])
def test_an_unregistration_that_waits_holds_no_name_that_is_too_long(server, field):
    """It waits for a busy broker name also when its connection has closed; a header may have a megabyte."""
    response = server.ask(104, {**NAMES, field: LONG})
    assert (response.code, "513 characters" in response.remark) == (1, True)
    assert server.ask(104, {**NAMES, field: LONG[1:]}).code == 0


def test_an_operator_can_move_the_limits():
    server = InMemoryNameServer(name_characters_limit="600", broker_names_limit="1")
    assert server.register(V6_BODY, __ZONE_NAME=LONG).code == 0
    response = server.register(V6_BODY, brokerName="broker-b", brokerAddr="10.0.0.9:10911")
    assert response.code == 1
    assert response.remark == "register broker failed: there are 1 broker names (brokerNamesLimit)"
