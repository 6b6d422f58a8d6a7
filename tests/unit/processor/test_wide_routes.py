"""Answers of topics that very many broker names have are made in slices, and kept while nothing changes."""

import pytest

from namekeeper.common.slices import run_slices
from namekeeper.errors import RequestError
from namekeeper.messages import bodies
from namekeeper.messages.bodies import encode_topic_route
from namekeeper.processor import route_answers, wide_routes
from namekeeper.processor.dispatch import READERS
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.wide_routes import WideRoutes
from namekeeper.route.queries import topic_route
from namekeeper.wire.command import Response, request
from tests.unit.processor.samples import V6_BODY


@pytest.fixture
def wide(server, monkeypatch):
    """Two brokers whose topics count as wide, and an answer in as many slices as it has values."""
    monkeypatch.setattr(route_answers, "WIDE_NAMES", 1)
    monkeypatch.setattr(wide_routes, "SLICE_NAMES", 1)
    for name in ("broker-a", "broker-b"):
        server.register(V6_BODY, brokerName=name, brokerAddr=f"{name}:10911")
    return server


@pytest.mark.parametrize("standard", [True, False])
def test_slices_make_the_same_bytes_as_the_whole(wide, standard):
    answers = wide.state.route_answers
    made = run_slices(answers.get("TopicTest", standard).make())
    assert made.body == encode_topic_route(topic_route(wide.state.tables, "TopicTest"), standard=standard)
    assert b"broker-a" in made.body
    assert b"broker-b" in made.body


def test_a_wide_answer_is_made_once_and_given_out_in_turns_all_the_same(wide):
    answers = wide.state.route_answers
    slices = [*answers.get("TopicTest", True).make()]
    assert len(slices) > 4
    again = answers.get("TopicTest", True)
    assert isinstance(again, Sliced)
    assert [*again.make()] == []
    assert answers.kept_bytes > 0


def test_a_wide_answer_that_changed_while_it_was_made_is_not_kept(wide):
    answers = wide.state.route_answers
    slices = answers.get("TopicTest", True).make()
    next(slices)
    wide.ask(205, {"brokerName": "broker-b"})
    run_slices(slices)
    assert answers.kept_bytes == 0
    after = run_slices(answers.get("TopicTest", True).make())
    assert after.body.count(b'"perm":4') == 1


def test_a_change_of_something_else_does_not_hinder_a_wide_answer(wide):
    answers = wide.state.route_answers
    slices = answers.get("TopicTest", True).make()
    next(slices)
    wide.ask(216, {"topic": "TBW102"})
    run_slices(slices)
    assert answers.kept_bytes > 0


def test_a_wide_answer_is_forgotten_when_it_changes(wide):
    answers = wide.state.route_answers
    before = run_slices(answers.get("TopicTest", True).make())
    wide.ask(205, {"brokerName": "broker-b"})
    assert answers.kept_bytes == 0
    assert run_slices(answers.get("TopicTest", True).make()) != before


def test_a_wide_topic_may_have_no_route_when_its_turn_comes(wide):
    answer = wide.state.route_answers.get("TopicTest", True)
    wide.ask(216, {"topic": "TopicTest"})
    assert run_slices(answer.make()).code == 17
    assert wide.state.route_answers.get("TopicTest", True) is None


def test_a_topic_that_had_no_route_at_its_turn_is_not_under_way_any_more():
    answers = WideRoutes(lambda _: b"", lambda _: b"", standard=True)
    sliced = answers.answer("T", lambda: None, Response(17), may_keep=lambda _: True)
    assert run_slices(sliced.make()).code == 17
    topics: list[str] = []
    answers.forget(lambda keys: topics.extend(keys) or ())
    assert topics == []


@pytest.mark.parametrize("fields", [{}, {"__ZONE_MODE": "true", "__ZONE_NAME": "east"}])
def test_every_form_of_a_wide_route_is_made_in_slices(wide, fields):
    asked = request(105, {"topic": "TopicTest", **fields})
    answer = READERS[105](wide.state, asked)
    assert isinstance(answer, Sliced)
    assert len([*answer.make()]) > 1


TABLE = '"topicConfigTable":{"T":{"topicName":"T"},"U":{"topicName":"U"}}'
MAPPING = '"topicQueueMappingInfoMap":{"T":{"bname":"broker-a","topic":"T","currIdMap":{"2":0,"1":1,"0":2}}}'
LARGE_PARTS = {
    "mapped queues": f'{{"topicConfigSerializeWrapper":{{{TABLE},{MAPPING}}}}}',
    "filter servers": f'{{"filterServerList":["a:1","b:1","c:1"],"topicConfigSerializeWrapper":{{{TABLE}}}}}',
    "brokers": f'{{"topicConfigSerializeWrapper":{{{TABLE}}}}}',
}


@pytest.mark.parametrize("parts", LARGE_PARTS)
@pytest.mark.parametrize("fields", [{}, {"__ZONE_MODE": "true", "__ZONE_NAME": "east"}])
def test_a_route_of_few_names_with_many_parts_is_made_in_slices_too(server, monkeypatch, parts, fields):
    body = LARGE_PARTS[parts].encode()
    for broker_id in range(3 if parts == "brokers" else 1):
        addr = f"10.0.0.1:{10911 + broker_id}"
        assert server.register(body, brokerId=str(broker_id), brokerAddr=addr).code == 0
    asked = request(105, {"topic": "T", **fields})
    whole = READERS[105](server.state, asked)
    assert not isinstance(whole, Sliced)
    monkeypatch.setattr(route_answers, "WIDE_PARTS", 2)
    monkeypatch.setattr(bodies, "SLICE_PARTS", 1)
    server.state.route_answers.reconfigure(server.state.settings)
    answer = READERS[105](server.state, asked)
    assert isinstance(answer, Sliced)
    assert len([*answer.make()]) > 2
    assert run_slices(READERS[105](server.state, asked).make()) == whole


@pytest.mark.parametrize(
    ("parts", "fields"),
    [
        *((parts, {}) for parts in LARGE_PARTS),
        ("mapped queues", {"__ZONE_MODE": "true", "__ZONE_NAME": "east"}),
    ],
)
def test_no_lookup_makes_a_route_that_is_longer_than_clients_read(server, monkeypatch, parts, fields):
    body = LARGE_PARTS[parts].encode()
    for broker_id in range(3):
        assert server.register(body, brokerId=str(broker_id), brokerAddr=f"10.0.0.1:{broker_id}").code == 0
    monkeypatch.setattr(route_answers, "WIDE_PARTS", 2)
    asked = request(105, {"topic": "T", **fields})
    size = len(run_slices(READERS[105](server.state, asked).make()).body)
    monkeypatch.setattr(bodies, "ROUTE_BYTES_LIMIT", size // 2)
    server.state.route_answers.reconfigure(server.state.settings)
    refusal = outcome(READERS[105](server.state, asked))
    assert (refusal.code, refusal.body) == (1, b"")
    assert f"more than {size // 2} bytes" in refusal.remark


def test_a_route_that_is_too_long_is_encoded_once_until_it_changes(wide, monkeypatch):
    answers = wide.state.route_answers
    monkeypatch.setattr(bodies, "ROUTE_BYTES_LIMIT", 100)
    assert run_slices(answers.get("TopicTest", True).make()).code == 1
    assert [*answers.get("TopicTest", True).make()] == []
    monkeypatch.setattr(bodies, "ROUTE_BYTES_LIMIT", 10_000)
    wide.ask(205, {"brokerName": "broker-b"})
    assert run_slices(answers.get("TopicTest", True).make()).code == 0


def outcome(sliced: Sliced) -> Response:
    """The answer to a wide lookup, as the server sends it."""
    try:
        return run_slices(sliced.make())
    except RequestError as refusal:
        return Response(refusal.code, refusal.remark)
