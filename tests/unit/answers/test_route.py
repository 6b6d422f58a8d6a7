"""The route out of a state is what request 105 answered."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.answers.render import route_value
from namekeeper.answers.route import route_of
from namekeeper.journal.reading.replay import state_at
from namekeeper.messages.bodies import decode_topic_route
from tests.property.histories import TOPICS, random_history
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story

KEY = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}


def replayed(story):
    return state_at(read_records(story.journal.lines())).state


def sent(story, code, fields, body=b""):
    from tests.support.java_model.values import Request

    story.later()
    story.journal.server.ask(Request(code, fields, body), 99, story.journal.up_ms)


def test_a_topic_that_nobody_has_has_none():
    assert route_of(replayed(Story()), "T") is None


@pytest.mark.parametrize("is_on", [True, False])
def test_the_order_configuration_shows_where_the_server_showed_it(is_on):
    story = Story()
    sent(story, 318, {}, b"orderMessageEnable=%b\n" % str(is_on).lower().encode())
    story.registers()
    sent(story, 100, {**KEY, "value": "b0:4"})
    assert route_of(replayed(story), "T").order_topic_conf == ("b0:4" if is_on else None)


@given(st.randoms(use_true_random=True))
@settings(suppress_health_check=list(HealthCheck))
def test_it_is_the_live_answer(chance):
    """Static topics, acting masters, filter servers and zones included."""
    journal = random_history(chance, 40)
    journal.begin_checkpoint("interval")
    journal.go_on_with_checkpoint(1_000)
    state = state_at(read_records(journal.lines())).state
    for topic in TOPICS:
        live = journal.server.state.route_answers.get(topic, True)
        route = route_of(state, topic)
        assert (route is None) == (live is None)
        if route is not None and live is not None:
            ours = msgspec.json.encode(route_value(route))
            assert in_order(decode_topic_route(ours)) == in_order(decode_topic_route(live.body))


def in_order(route):
    """Without the order of rows, which the journal does not keep."""
    return msgspec.structs.replace(
        route,
        broker_datas=sorted(route.broker_datas, key=lambda each: each.broker_name),
        queue_datas=sorted(route.queue_datas, key=lambda each: each.broker_name),
    )
