"""Requests about the KV configuration (protocol.md 2.3)."""

from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.processor.kv import own_kv_config
from namekeeper.processor.outcome import Save
from namekeeper.route.events import Cause, KvChanged
from tests.support.server.in_memory import InMemoryNameServer

ENTRY = {"namespace": "ns", "key": "k"}


def test_an_entry_is_saved_with_the_request_that_changes_it(server):
    assert server.ask(100, {**ENTRY, "value": "v"}).code == 0
    assert (server.saved, server.events) == ([Save.KV_CONFIG], [KvChanged("ns", "k", "v")])
    assert server.ask(102, ENTRY).code == 0
    assert (server.saved[1:], server.events[1:]) == ([Save.KV_CONFIG], [KvChanged("ns", "k", None)])


def test_what_changes_nothing_is_saved_all_the_same(server):
    """As in Java: who asks wants it to be on disk."""
    assert server.ask(102, ENTRY).code == 0
    assert (server.saved, server.events) == ([Save.KV_CONFIG], [])


def test_an_entry_is_found_and_one_that_is_not_there_has_javas_answer(server):
    server.ask(100, {**ENTRY, "value": "v"})
    assert server.ask(101, ENTRY).ext_fields == {"value": "v"}
    missing = server.ask(101, {"namespace": "ns", "key": "other"})
    assert (missing.code, missing.ext_fields) == (22, {})
    assert missing.remark == "No config item, Namespace: ns Key: other"


def test_a_namespace_is_listed_even_when_it_is_empty(server):
    server.ask(100, {**ENTRY, "value": "v"})
    assert server.ask(219, {"namespace": "ns"}).body == b'{"table":{"k":"v"}}'
    server.ask(102, ENTRY)
    assert server.ask(219, {"namespace": "ns"}).body == b'{"table":{}}'
    unknown = server.ask(219, {"namespace": "other"})
    assert (unknown.code, unknown.remark, unknown.body) == (22, "No config item, Namespace: other", b"")


def test_an_order_configuration_shows_in_routes_that_were_answered_before():
    server = InMemoryNameServer(order_message_enable="true")
    body = (
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"topicName":"T"},"U":{"topicName":"U"}}}}'
    )
    server.register(body)
    assert b"orderTopicConf" not in server.ask(105, {"topic": "T"}).body
    order = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}
    server.ask(100, {**order, "value": "broker-a:4"})
    assert b'"orderTopicConf":"broker-a:4"' in server.ask(105, {"topic": "T"}).body
    assert b"orderTopicConf" not in server.ask(105, {"topic": "U"}).body
    server.ask(102, order)
    assert b"orderTopicConf" not in server.ask(105, {"topic": "T"}).body


def test_who_becomes_the_owner_serves_what_the_file_holds_then(server):
    for key in ("same", "other", "gone"):
        server.ask(100, {"namespace": "ns", "key": key, "value": "old"})
    server.state.kv_refusal = "not mine"
    found = KvConfigStore({"ns": {"same": "old", "other": "new", "fresh": "new"}})
    changes = own_kv_config(server.state, found)
    assert [(change.cause, change.remote_addr, change.events) for change in changes] == [
        (Cause.DELETE_KV, None, (KvChanged("ns", "gone", None),)),
        (Cause.PUT_KV, None, (KvChanged("ns", "other", "new"), KvChanged("ns", "fresh", "new"))),
    ]
    listed = server.ask(219, {"namespace": "ns"})
    assert listed.body == b'{"table":{"fresh":"new","other":"new","same":"old"}}'
    assert server.ask(102, {"namespace": "ns", "key": "fresh"}).code == 0


def test_order_configurations_that_come_with_the_file_show_in_routes_that_were_answered_before():
    server = InMemoryNameServer(order_message_enable="true")
    body = (
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"topicName":"T"},"U":{"topicName":"U"}}}}'
    )
    server.register(body)
    assert b"orderTopicConf" not in server.ask(105, {"topic": "T"}).body
    own_kv_config(server.state, KvConfigStore({"ORDER_TOPIC_CONFIG": {"T": "broker-a:4"}}))
    assert b'"orderTopicConf":"broker-a:4"' in server.ask(105, {"topic": "T"}).body


def test_what_is_the_same_is_no_change(server):
    assert own_kv_config(server.state, KvConfigStore()) == []
