"""Encoded routes are kept while nothing changes that they show, and no longer."""

import pytest

from namekeeper.messages.bodies import encode_topic_route
from namekeeper.processor import route_answers
from namekeeper.route.events import BrokerGroupGone
from namekeeper.route.queries import topic_route
from namekeeper.wire.command import request
from namekeeper.wire.json_header import encode_json_header
from tests.support.server.in_memory import InMemoryNameServer
from tests.unit.processor.samples import NAMES, V6_BODY
from tests.unit.remoting.fake_front import FakeStore


@pytest.fixture
def answers(registered):
    return registered.state.route_answers


@pytest.mark.parametrize("standard", [True, False])
def test_an_answer_is_made_once(answers, standard):
    first = answers.get("TopicTest", standard)
    assert answers.get("TopicTest", standard) is first
    assert answers.get("TopicTest", not standard) is not first


@pytest.mark.parametrize("standard", [True, False])
def test_fragments_make_the_same_bytes_as_the_whole(registered, answers, standard):
    for _ in range(2):
        for topic in ("TopicTest", "TBW102"):
            whole = encode_topic_route(topic_route(registered.state.tables, topic), standard=standard)
            assert answers.get(topic, standard).body == whole
        answers.reconfigure(registered.state.settings)


def test_mappings_are_in_the_answer(server):
    info = '{"bname":"broker-a","currIdMap":{"0":0},"topic":"TopicTest","totalQueues":1}'
    body = V6_BODY.replace(
        b'"topicConfigTable"',
        b'"topicQueueMappingInfoMap":{"TopicTest":' + info.encode() + b'},"topicConfigTable"',
    )
    server.register(body)
    answer = server.ask(105, {"topic": "TopicTest"})
    assert b'"topicQueueMappingByBroker":{"broker-a":{"bname":"broker-a","currIdMap":{"0":0}' in answer.body


def test_nothing_is_kept_of_topics_without_route(answers):
    assert answers.get("unknown", True) is None
    assert answers.get(None, True) is None
    assert answers.kept_bytes == 0


def test_a_heartbeat_keeps_answers(registered, answers):
    before = answers.get("TopicTest", True)
    registered.ask(904, NAMES)
    registered.register(V6_BODY, enableActingMaster="false")
    assert answers.get("TopicTest", True) is before


def test_settings_take_effect_at_once(registered, answers):
    settings = registered.state.settings
    before = answers.get("TopicTest", True)
    answers.reconfigure(settings)
    assert answers.get("TopicTest", True) is not before


def test_what_is_kept_is_bounded_in_bytes():
    server = InMemoryNameServer(route_cache_bytes="300")
    server.register(V6_BODY)
    answers = server.state.route_answers
    first = answers.get("TopicTest", True)
    assert 0 < answers.kept_bytes <= 300
    second = answers.get("TBW102", True)
    assert answers.get("TBW102", True) is not second
    assert answers.get("TBW102", True) == second
    assert answers.get("TopicTest", True) is first
    assert answers.kept_bytes <= 300


def test_topics_with_equal_answers_share_one(server):
    table = b",".join(b'"%s":{"topicName":"%s"}' % (name, name) for name in (b"T", b"U"))
    server.register(b'{"topicConfigSerializeWrapper":{"topicConfigTable":{%s}}}' % table)
    answers = server.state.route_answers
    assert answers.get("T", True) is answers.get("U", True)
    assert answers.get("T", False) is not answers.get("T", True)
    before = answers.kept_bytes
    server.ask(216, {"topic": "U"})
    answers.get("T", True)
    assert answers.kept_bytes < before


@pytest.fixture
def alike(server):
    """A server with many topics, all of which have the same queues."""
    names = [b"T%d" % number for number in range(9)]
    table = b",".join(b'"%s":{"topicName":"%s"}' % (name, name) for name in names)
    server.register(b'{"topicConfigSerializeWrapper":{"topicConfigTable":{%s}}}' % table)
    return server


def test_topics_that_are_alike_are_encoded_once(alike, monkeypatch):
    answers = alike.state.route_answers
    first = {form: answers.get("T0", form).body for form in (True, False)}
    monkeypatch.setattr(route_answers, "assemble_topic_route", lambda *_: pytest.fail("encoded again"))
    assert [answers.get("T1", form).body for form in (True, False)] == [first[True], first[False]]


def test_topics_that_were_alike_before_a_group_changed_are_encoded_anew(alike):
    answers = alike.state.route_answers
    answers.get("T0", True)
    alike.register(V6_BODY, brokerId="1", brokerAddr="10.0.0.9:10911")
    assert b"10.0.0.9:10911" in answers.get("T1", True).body


def test_topics_that_were_alike_before_their_group_went_have_no_route(alike):
    answers = alike.state.route_answers
    answers.get("T0", True)
    alike.state.tables.apply(BrokerGroupGone("broker-a"))
    assert answers.get("T1", True) is None


def test_bodies_of_topics_that_are_alike_are_bounded(server, monkeypatch):
    monkeypatch.setattr(route_answers, "MAX_ALIKE_BYTES", 1_000)
    table = b",".join(b'"T%d":{"topicName":"T%d","readQueueNums":%d}' % (n, n, n) for n in range(1, 50))
    server.register(b'{"topicConfigSerializeWrapper":{"topicConfigTable":{%s}}}' % table)
    answers = server.state.route_answers
    for number in range(1, 50):
        assert b'"readQueueNums":%d,' % number in answers.get(f"T{number}", True).body
    assert 0 < sum(len(alike.body) for alike in answers._alike.values()) <= 1_000


def test_fragments_are_bounded(monkeypatch, server):
    monkeypatch.setattr(route_answers, "MAX_FRAGMENTS", 1)
    server.register(V6_BODY)
    other = {"brokerName": "broker-b", "brokerAddr": "10.0.0.2:10911"}
    server.register(V6_BODY, **other)
    answers = server.state.route_answers
    for topic in ("TopicTest", "TBW102"):
        assert b"broker-a" in answers.get(topic, True).body
    assert len(answers._brokers[True]._kept) == 1
    assert len(answers._queues[True]._kept) == 1


def test_a_broker_that_changed_is_encoded_anew(registered, answers):
    answers.get("TopicTest", True)
    registered.register(V6_BODY, enableActingMaster="false", __ZONE_NAME="east")
    assert b'"zoneName":"east"' in answers.get("TopicTest", True).body


def test_a_broker_that_did_not_change_is_not(registered, answers, monkeypatch):
    answers.get("TopicTest", True)
    monkeypatch.setattr(route_answers, "encode_broker_data", lambda *_, **__: pytest.fail("encoded again"))
    assert b"broker-a" in answers.get("TBW102", True).body


@pytest.mark.parametrize(
    ("code", "fields", "left"),
    [
        (205, {"brokerName": "broker-a"}, {"other"}),
        (104, NAMES, {"other"}),
        (216, {"topic": "TBW102"}, {"TopicTest", "other"}),
        (100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TopicTest", "value": "x:1"}, {"TBW102", "other"}),
        (102, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TBW102"}, {"TopicTest", "other"}),
        (100, {"namespace": "another", "key": "TopicTest", "value": "x:1"}, {"TopicTest", "TBW102", "other"}),
        (904, NAMES, {"TopicTest", "TBW102", "other"}),
    ],
)
def test_a_change_forgets_what_shows_it_and_nothing_else(registered, answers, code, fields, left):
    """The look-up cache and the front are asked before the tables are looked at: they have to forget at once."""
    other = {"brokerName": "broker-b", "brokerAddr": "10.0.0.2:10911"}
    registered.register(V6_BODY.replace(b"TopicTest", b"other").replace(b"TBW102", b"more"), **other)
    registered.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TBW102", "value": "x:1"})
    cache, store = registered.state.lookup_cache, FakeStore()
    cache.topic_answers.use(store)
    kept = {}
    for topic in ("TopicTest", "TBW102", "other"):
        kept[topic] = answers.get(topic, True)
        header = encode_json_header(request(105, {"topic": topic}, opaque=7))
        cache.learn(header, 7, topic=topic, body=kept[topic].body, revision=cache.revision)
        cache.topic_answers.learn(topic, kept[topic].body, standard=True)
    registered.ask(code, fields)
    assert set(cache.topics) == left
    assert {topic for topic, _ in store.learned} == left
    assert {topic for topic, answer in kept.items() if answers.get(topic, True) is answer} == left


def test_the_front_is_told_when_topics_may_have_come(registered):
    noted = []
    topic_answers = registered.state.lookup_cache.topic_answers
    topic_answers.use(FakeStore())
    topic_answers.when_lacking(lambda: noted.append(1))
    registered.register(V6_BODY)  # a heartbeat
    assert noted == []
    registered.register(
        V6_BODY.replace(b"TopicTest", b"other"), brokerName="broker-b", brokerAddr="10.0.0.2:1"
    )
    assert noted == [1]


def test_settings_make_the_look_up_cache_forget_at_once(registered):
    cache = registered.state.lookup_cache
    header = encode_json_header(request(105, {"topic": "TopicTest"}, opaque=7))
    cache.learn(header, 7, topic="TopicTest", body=b"{}", revision=cache.revision)
    registered.state.route_answers.reconfigure(registered.state.settings)
    assert cache.find(header) is None


def test_topics_that_are_forgotten_one_by_one_leave_their_room_to_others(registered, answers):
    for number in range(1, 100):
        for standard in (True, False):
            assert b'"readQueueNums"' in answers.get("TopicTest", standard).body
        registered.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TopicTest", "value": f"x:{number}"})
    assert answers.kept_bytes == 0


def test_topics_that_are_forgotten_at_once_leave_their_room_to_others(server):
    """A few at a time, as answers are kept again: there may be thousands."""
    names = [f"T{number}" for number in range(100)]
    answers = server.state.route_answers

    def kept_bytes(queues: int) -> int:
        table = b",".join(b'"%s":{"topicName":"%s","readQueueNums":%d}' % (name.encode(), name.encode(), queues + at)
                          for at, name in enumerate(names))  # fmt: skip
        server.register(
            b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":%d},"topicConfigTable":{%s}}}'
            % (queues, table)
        )
        for at, name in enumerate(names):
            assert b'"readQueueNums":%d,' % (queues + at) in answers.get(name, True).body
        return answers.kept_bytes

    assert kept_bytes(100) == kept_bytes(300) == kept_bytes(500)


def test_what_was_dropped_before_the_settings_changed_is_not_freed_again(alike):
    answers = alike.state.route_answers
    for number in range(9):
        for form in (True, False):
            answers.get(f"T{number}", form)
    alike.register(V6_BODY, brokerId="1", brokerAddr="10.0.0.9:10911")
    answers.reconfigure(alike.state.settings)
    assert answers.kept_bytes == 0
    answers.get("T1", True)
    assert answers.kept_bytes > 0
