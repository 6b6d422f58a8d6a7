"""Each request is answered once, by what is so when its turn comes, and a bug harms only who asked."""

import gc
import json
import logging
import tracemalloc
import weakref
from itertools import pairwise

import pytest

from namekeeper.app import requests as module
from namekeeper.app.cluster_test import ClusterTest
from namekeeper.app.requests import OTHER
from namekeeper.messages.routing import STANDARD_JSON_VERSION
from namekeeper.processor import dispatch, route_answers
from namekeeper.processor.wide_routes import WideRoutes
from namekeeper.remoting.scheduler import ITERATION_SECONDS
from namekeeper.route.events import Cause
from namekeeper.route.removal import EndOfRegistration
from namekeeper.route.tables import RouteRules
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import request
from tests.support.system.waiting import eventually
from tests.unit.app.parts import FakeClock, Parts, frame, registration, startup
from tests.unit.remoting.fake_front import FakeStore

BROKER = {
    "brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "DefaultCluster", "brokerId": "0",
}  # fmt: skip

HALF_AN_ITERATION = ITERATION_SECONDS / 2


@pytest.fixture
async def parts(tmp_path):
    return Parts(tmp_path)


def register_frame(opaque=1, **more):
    request = registration(**more)
    request.opaque = opaque
    return encode_command(request)


async def registered(parts, **more):
    connection = parts.connect()
    connection.deliver(register_frame(**more))
    parts.run_turns()
    assert connection.answers[0].code == 0
    return connection


# Memory.


async def test_the_body_of_a_refused_registration_is_let_go_with_its_answer(parts, monkeypatch):
    kept = []
    real = module.Requests._submit

    def watched(self, deferred, request, connection):
        kept.append(weakref.ref(deferred.change))  # whose decoder has the body
        real(self, deferred, request, connection)

    monkeypatch.setattr(module.Requests, "_submit", watched)
    bad = registration()
    bad.ext_fields["bodyCrc32"] = "1"
    connection = parts.connect()
    gc.disable()
    try:
        connection.deliver(encode_command(bad))
        parts.run_turns()
        assert connection.answers[0].code == 1
        assert [each() for each in kept] == [None]
    finally:
        gc.enable()


# Readers.


async def test_a_reader_answers_at_once(parts):
    await registered(parts)
    asking = parts.connect()
    asking.deliver(frame(105, opaque=7, topic="T1"))
    (answer,) = asking.answers
    assert (answer.code, answer.opaque) == (0, 7)
    assert b"broker-a" in answer.body
    assert parts.results(105) == {0: 1}


async def test_who_reads_another_form_of_json_shares_no_answer(parts, monkeypatch):
    asked = []
    monkeypatch.setattr(parts.requests._lists, "ask", lambda key, *_: asked.append(key))
    for version in (STANDARD_JSON_VERSION, STANDARD_JSON_VERSION - 1, STANDARD_JSON_VERSION):
        parts.connect().deliver(encode_command(request(106, version=version)))
    assert asked[0] == asked[2] != asked[1]


async def test_answers_of_readers_are_counted_by_their_code(parts):
    asking = parts.connect()
    asking.deliver(
        frame(105, topic="nobody has it") + frame(101, namespace="a", key="b") + frame(101, namespace="a")
    )
    assert [answer.code for answer in asking.answers] == [17, 22, 1]
    assert parts.results(105) == {17: 1}
    assert parts.results(101) == {22: 1, 1: 1}


async def test_a_reader_that_refuses_is_not_counted_as_success(tmp_path):
    parts = Parts(tmp_path, enable_all_topic_list="false")
    asking = parts.connect()
    asking.deliver(frame(206))
    assert (asking.answers[0].code, asking.answers[0].remark) == (1, "disable")
    assert parts.results(206) == {1: 1}


async def test_one_way_requests_are_counted_by_the_answer_that_they_would_have_got(parts):
    asking = parts.connect()
    asking.deliver(frame(105, topic="nobody has it", oneway=True) + frame(206, oneway=True))
    assert asking.answers == []
    assert (parts.results(105), parts.results(206)) == ({17: 1}, {0: 1})


async def test_unknown_codes_are_counted_together(parts):
    asking = parts.connect()
    asking.deliver(frame(4711, opaque=1) + frame(-5, opaque=2) + frame(905, opaque=3))
    assert [(answer.code, answer.remark) for answer in asking.answers] == [
        (3, f" request type {code} not supported") for code in (4711, -5, 905)
    ]
    assert parts.results(OTHER) == {3: 3}
    assert 4711 not in parts.requests.counts


# Changers.


async def test_a_change_without_effect_on_files_is_answered_at_once(parts):
    connection = await registered(parts)
    connection.deliver(frame(322, opaque=2, **BROKER))
    assert connection.answers[1].ext_fields["changed"] == "true"
    assert parts.effects.counters.heartbeats == 1


async def test_a_sign_of_life_of_nobody_is_no_change(parts):
    asking = parts.connect()
    asking.deliver(frame(322, **BROKER))
    assert asking.answers[0].ext_fields["changed"] == "true"
    assert parts.effects.counters.heartbeats == 0


async def test_one_way_requests_are_carried_out_and_not_answered(parts):
    connection = await registered(parts)
    connection.deliver(frame(904, oneway=True, **BROKER) + frame(4711, oneway=True))
    assert len(connection.answers) == 1
    assert parts.effects.counters.heartbeats == 1


async def test_a_refused_change_is_counted_by_its_code(parts):
    asking = parts.connect()
    asking.deliver(frame(318, b"listenPort=1"))
    assert asking.answers[0].code == 16
    assert parts.results(318) == {16: 1}
    assert not parts.executor.tasks


# Deferred.


async def test_look_ups_are_answered_while_a_registration_is_built(parts):
    broker, asking = await registered(parts), parts.connect()
    parts.tick = 0.0015
    broker.deliver(register_frame(2, topics=20_000, version=2))
    assert parts.requests.waiting == 1
    looked_up = 0
    while parts.turns:
        asking.deliver(frame(105, opaque=looked_up, topic="T1"))
        looked_up += 1
        parts.turns.pop(0)()
    assert looked_up > 3
    assert [answer.code for answer in asking.answers] == [0] * looked_up
    assert broker.answered == [1, 2]
    assert parts.requests.waiting == 0
    assert parts.requests.registrations == {"new": 1, "changed": 1}


async def test_turns_are_asked_for_one_at_a_time(parts):
    for number in range(3):
        parts.connect().deliver(
            register_frame(topics=5_000, name=f"broker-{number}", addr=f"10.0.0.{number}:10911")
        )
        assert len(parts.turns) == 1
    assert parts.requests.waiting == 3
    parts.run_turns()
    assert len(parts.state.tables.broker_live_table) == 3


async def test_a_registration_that_can_not_be_read_is_refused_and_counted(parts):
    connection = parts.connect()
    bad_crc, no_name = registration(), registration()
    bad_crc.ext_fields["bodyCrc32"] = "1"
    del no_name.ext_fields["brokerName"]
    connection.deliver(encode_command(bad_crc) + encode_command(no_name))
    parts.run_turns()
    assert [answer.code for answer in connection.answers] == [1, 1]
    assert parts.results(103) == {1: 2}
    assert parts.requests.registrations == {"failed": 2}
    assert parts.requests.registration_bytes == len(bad_crc.body) + len(no_name.body)
    assert not parts.state.tables.broker_live_table


async def test_a_registration_refused_by_the_rules_is_counted_once(parts):
    connection = parts.connect()
    parts.state.tables.rules = RouteRules(topic_rows_limit=1)
    connection.deliver(register_frame(broker_name="full") + register_frame(topics=("T9",)))
    parts.run_turns()
    remark = "register broker failed: there are 1 topics, counted for each broker name (topicRowsLimit)"
    assert (connection.answers[1].code, connection.answers[1].remark) == (1, remark)
    assert parts.requests.registrations == {"new": 1, "refused": 1}
    assert parts.results(103) == {0: 1, 1: 1}


async def test_who_left_meanwhile_is_not_answered_and_not_registered(parts):
    connection = parts.connect()
    connection.deliver(register_frame(topics=20_000))
    connection.connection.close()
    parts.run_turns()
    assert not connection.transport.written
    assert not parts.state.tables.broker_live_table
    assert parts.requests.registrations == {"closed": 1}


LARGE_BODY = b"x" * 50_000


@pytest.mark.parametrize("code", [103, 104, 217])
async def test_a_request_that_waits_is_given_up_when_its_connection_closes(parts, code):
    holder = parts.connect()
    holder.deliver(register_frame(topics=20_000))
    assert not holder.answers  # its name is busy
    queues = [
        {"brokerName": "broker-a", "perm": 6, "readQueueNums": n, "writeQueueNums": 4, "topicSysFlag": 0}
        for n in range(500)
    ]
    body = json.dumps({"queueDatas": queues}).encode() if code == 217 else LARGE_BODY
    waiting = [parts.connect() for _ in range(40)]
    tracemalloc.start()
    try:
        for connection in waiting:
            connection.deliver(
                encode_command(request(code, {**BROKER, "topic": "A", "haServerAddr": ""}, body))
            )
        held = tracemalloc.get_traced_memory()[0]
        for connection in waiting:
            connection.connection.abort()
            parts.requests.leave(connection.channel)
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held > 40 * len(body)
    assert left < 40 * 10_000
    parts.run_turns()
    assert holder.answers[0].code == 0
    assert parts.requests.registrations.get("closed", 0) == (40 if code == 103 else 0)
    assert not parts.requests.waiting
    assert "A" not in parts.state.tables.topics_of("broker-a")


async def test_of_changes_that_nobody_waits_for_any_more_the_newest_are_made(parts, monkeypatch):
    """Any number of connections sent 205 for a busy name and left: each change stayed until the name was free."""
    monkeypatch.setattr(module, "LEFT_LIMIT", 3)
    holder = parts.connect()
    holder.deliver(register_frame(topics=20_000))
    parts.connect().deliver(frame(205, brokerName="broker-a"))  # stays
    for _ in range(300):
        left = parts.connect()
        left.deliver(frame(205, brokerName="broker-a"))
        left.connection.abort()
        parts.requests.leave(left.channel)
    assert parts.requests.waiting == 5  # the build, the one that stays, and three
    parts.run_turns()
    assert not parts.requests.waiting
    assert parts.results(205) == {0: 4, 2: 297}
    assert (parts.requests._left, parts.requests._asked) == ({}, {})
    assert holder.answers[0].code == 0


async def test_a_change_whose_connection_has_closed_is_made(parts):
    holder = parts.connect()
    holder.deliver(register_frame(topics=20_000))
    left = parts.connect()
    left.deliver(frame(205, brokerName="broker-a"))
    left.connection.abort()
    parts.requests.leave(left.channel)
    parts.run_turns()
    assert {row.effective.perm for row in parts.state.tables.topics_of("broker-a").values()} == {4}


async def test_a_change_that_nobody_asked_for_tells_its_result(parts):
    broker = await registered(parts)
    (live,) = parts.state.tables.broker_live_table
    received = []
    parts.clock.advance(121)
    parts.requests.submit(EndOfRegistration(live.key, live.gen, Cause.EXPIRED), received.append)
    parts.run_turns()
    assert received == [broker.channel]
    assert parts.effects.counters.gone[Cause.EXPIRED] == 1


@pytest.mark.parametrize(("seconds", "made"), [(0, [6]), (HALF_AN_ITERATION, [1, 1, 1, 1, 1, 1])])
async def test_series_of_changes_are_made_in_order_and_go_on_between_other_requests(
    parts, monkeypatch, seconds, made
):
    submitted = []

    def submit(change):
        parts.seconds += seconds
        submitted.append(change)

    monkeypatch.setattr(parts.requests, "submit", submit)
    parts.requests.submit_all(["0a", "0b"])
    parts.requests.submit_all(iter(["1a", "1b"]))
    parts.requests.submit_all(["2a", "2b"])
    counts = [len(submitted)]
    while parts.turns:
        parts.turns.pop(0)()
        counts.append(len(submitted))
    assert submitted == ["0a", "0b", "1a", "1b", "2a", "2b"]
    assert [after - before for before, after in pairwise([0, *counts]) if after > before] == made


async def test_a_bug_in_a_series_loses_no_other_change(parts, monkeypatch):
    submitted = []

    def submit(change):
        submitted.append(change)
        if change == "bug":
            bug()

    monkeypatch.setattr(parts.requests, "submit", submit)
    with pytest.raises(ZeroDivisionError):
        parts.requests.submit_all(["bug", "a"])
    parts.requests.submit_all(["b"])
    parts.run_turns()
    assert submitted == ["bug", "a", "b"]


# What the native front learns.


@pytest.fixture
def store(parts):
    store = FakeStore()
    parts.state.lookup_cache.topic_answers.use(store)
    return store


@pytest.mark.parametrize(
    ("version", "fields", "standard"),
    [
        (513, {}, True),
        (400, {}, False),
        (400, {"acceptStandardJsonOnly": "true"}, True),
        (513, {"__ZONE_NAME": "z1"}, True),
    ],
)
async def test_the_front_learns_what_all_look_ups_of_a_topic_and_form_get(
    parts, store, version, fields, standard
):
    await registered(parts)
    asking = parts.connect()
    asking.deliver(frame(105, topic="T1", version=version, **fields))
    (answer,) = asking.answers
    assert store.learned == {("T1", standard): (0, answer.body)}


@pytest.mark.parametrize("mode", ["true", "false"])
async def test_the_front_does_not_learn_what_is_answered_for_a_zone(parts, store, mode):
    await registered(parts)
    asking = parts.connect()
    asking.deliver(frame(105, topic="T1", __ZONE_MODE=mode, __ZONE_NAME="z1"))
    assert [answer.code for answer in asking.answers] == [0]
    assert store.learned == {}


async def test_the_front_does_not_learn_what_is_old_already(parts, store, monkeypatch):
    def overtaken(state, asked):
        answer = dispatch.READERS[105](state, asked)
        state.lookup_cache.forget(())
        return answer

    monkeypatch.setattr(parts.requests, "_readers", {**dispatch.READERS, 105: overtaken})
    await registered(parts)
    parts.connect().deliver(frame(105, topic="T1"))
    assert store.learned == {}


# Bugs.


def bug(*_):
    raise ZeroDivisionError("a bug")


async def test_a_bug_in_a_reader_is_answered_logged_once_and_harms_nobody_else(parts, monkeypatch, caplog):
    monkeypatch.setattr(parts.requests, "_readers", {**dispatch.READERS, 106: bug})
    asking = parts.connect()
    with caplog.at_level(logging.ERROR):
        asking.deliver(frame(106, opaque=1) + frame(105, opaque=2, topic="T"))
    assert [(answer.opaque, answer.code) for answer in asking.answers] == [(1, 1), (2, 17)]
    assert asking.answers[0].remark == "ZeroDivisionError: a bug"
    (record,) = caplog.records
    assert "request code 106" in record.getMessage()
    assert "192.0.2.1:5" in record.getMessage()
    assert record.exc_info is not None
    assert parts.results(106) == {1: 1}
    assert asking.context.counters.handler_errors == 1


async def test_a_bug_in_a_changer_is_answered_and_counted(parts, monkeypatch):
    monkeypatch.setattr(module, "CHANGERS", {**dispatch.CHANGERS, 102: bug})
    asking = parts.connect()
    asking.deliver(
        frame(102, opaque=1, namespace="a", key="b") + frame(101, opaque=2, namespace="a", key="b")
    )
    assert [answer.code for answer in asking.answers] == [1, 22]
    assert parts.results(102) == {1: 1}


async def test_a_bug_in_a_rule_is_answered_when_its_turn_comes(parts, monkeypatch, caplog):
    monkeypatch.setattr("namekeeper.route.topics.DeleteTopic.commit", bug)
    broker, asking = await registered(parts), parts.connect()
    broker.deliver(register_frame(2, topics=20_000, version=2))
    with caplog.at_level(logging.ERROR):
        asking.deliver(frame(216, topic="T1"))
        assert not asking.answers  # it waits behind the registration
        parts.run_turns()
    assert asking.answers[0].code == 1
    assert broker.answers[1].code == 0
    assert [record.getMessage()[:16] for record in caplog.records if record.levelno == logging.ERROR] == [
        "request code 216"
    ]
    assert parts.results(216) == {1: 1}


async def test_a_bug_in_what_follows_from_a_change_is_answered_and_holds_up_nobody(parts, monkeypatch):
    first, second = parts.connect(), parts.connect()
    first.deliver(register_frame(topics=20_000))
    second.deliver(register_frame(topics=20_000, name="broker-b", addr="10.0.0.2:10911"))
    apply = parts.effects.apply

    def fail_once(change):
        monkeypatch.setattr(parts.effects, "apply", apply)
        bug()

    monkeypatch.setattr(parts.effects, "apply", fail_once)
    parts.run_turns()
    assert [connection.answers[0].code for connection in (first, second)] == [1, 0]
    assert parts.requests.waiting == 0


async def test_a_bug_behind_a_change_that_nobody_asked_for_holds_up_nobody(parts, monkeypatch, caplog):
    broker = await registered(parts)
    broker.deliver(register_frame(2, topics=20_000, version=2))
    (live,) = parts.state.tables.broker_live_table
    monkeypatch.setattr(EndOfRegistration, "commit", bug)
    with caplog.at_level(logging.ERROR):
        parts.requests.submit(EndOfRegistration(live.key, live.gen, Cause.EXPIRED), bug)
        parts.run_turns()
    assert "a change of the tables failed" in caplog.text
    assert broker.answered == [1, 2]


async def test_turns_go_on_after_a_bug_in_the_last_step_of_one(parts):
    broker, other = await registered(parts), parts.connect()
    broker.deliver(register_frame(2, topics=20_000, version=2))
    (live,) = parts.state.tables.broker_live_table
    parts.requests.submit(
        EndOfRegistration(live.key, live.gen, Cause.EXPIRED), bug
    )  # waits, then `done` fails
    other.deliver(register_frame(topics=20_000, name="broker-b", addr="10.0.0.2:10911"))
    failures = 0
    while parts.turns:
        try:
            parts.turns.pop(0)()
        except ZeroDivisionError:
            failures += 1
    assert failures == 1
    assert other.answers[0].code == 0


# Files.


async def test_a_kv_change_is_answered_when_it_is_on_disk(parts):
    asking = parts.connect()
    asking.deliver(frame(100, namespace="a", key="b", value="c"))
    assert parts.state.kv_config.get("a", "b") == "c"
    assert not asking.answers
    assert not parts.kv_file.exists()
    await parts.executor.run()
    assert asking.answers[0].code == 0
    assert parts.kv_file.read_bytes() == b'{"configTable":{"a":{"b":"c"}}}'
    assert parts.results(100) == {0: 1}


async def test_look_ups_over_the_same_connection_do_not_wait_for_the_disk(parts):
    asking = parts.connect()
    asking.deliver(
        frame(100, opaque=1, namespace="a", key="b", value="c") + frame(101, opaque=2, namespace="a", key="b")
    )
    assert asking.answered == [2]
    await parts.executor.run()
    assert asking.answered == [2, 1]


async def test_a_file_that_can_not_be_written_is_code_1_until_it_can(parts, tmp_path):
    parts.kv_file.mkdir()  # nobody can put a file there, whatever his rights
    asking = parts.connect()
    asking.deliver(frame(100, opaque=1, namespace="a", key="b", value="c"))
    await parts.executor.run()
    assert asking.answers[0].code == 1
    assert asking.answers[0].remark.startswith("the change is in effect but not on disk: ")
    assert parts.requests.unsaved_files
    assert parts.results(100) == {1: 1}
    parts.kv_file.rmdir()
    asking.deliver(frame(102, opaque=2, namespace="x", key="y"))
    await parts.executor.run()
    assert asking.answers[1].code == 0
    assert not parts.requests.unsaved_files
    assert parts.kv_file.read_bytes() == b'{"configTable":{"a":{"b":"c"}}}'


async def test_a_changed_configuration_is_told_and_written(tmp_path):
    parts = Parts(tmp_path, allow_config_update="true")
    asking = parts.connect()
    asking.deliver(frame(318, b"orderMessageEnable=true\nlogLevel=DEBUG\n"))
    await parts.executor.run()
    assert asking.answers[0].code == 0
    assert parts.reconfigured == [{"orderMessageEnable": "true", "logLevel": "DEBUG"}]
    assert (tmp_path / "namesrv.properties").read_text().splitlines()[-2:] == [
        "logLevel=DEBUG",
        "orderMessageEnable=true",
    ]


# Draining.


@pytest.fixture
async def draining(tmp_path):
    parts = Parts(tmp_path, enable_shutdown_gracefully="true")
    await registered(parts)
    parts.requests.drain()
    return parts


@pytest.mark.parametrize("code", [105, 106, 103, 4711])
async def test_while_draining_whoever_understands_is_told_to_go(draining, code):
    asking = draining.connect()
    asking.deliver(frame(code, version=476, topic="T1"))
    assert (asking.answers[0].code, asking.answers[0].remark) == (1500, "please go away")
    assert draining.results(code if code != 4711 else OTHER)[1500] == 1


async def test_while_draining_others_are_served(draining):
    asking = draining.connect()
    asking.deliver(
        frame(105, opaque=1, version=475, topic="T1")
        + frame(105, opaque=2, version=475)
        + frame(4711, opaque=3, version=475)
    )
    asking.deliver(register_frame(4, release=475, name="broker-b", addr="10.0.0.2:10911"))
    draining.run_turns()
    assert [(answer.opaque, answer.code) for answer in asking.answers] == [(1, 0), (2, 17), (3, 3), (4, 0)]
    assert draining.results(105) == {0: 1, 17: 1}


async def test_draining_without_graceful_shutdown_sends_nobody_away(parts):
    parts.requests.drain()
    asking = parts.connect()
    asking.deliver(frame(106))
    assert asking.answers[0].code == 0


@pytest.mark.parametrize("zone", [{}, {"__ZONE_MODE": "true", "__ZONE_NAME": "z"}])
async def test_at_the_end_of_a_stop_lookups_are_refused(parts, zone):
    """R#11073: known ones, those of unknown topics and of zones."""
    await registered(parts)
    asking = parts.connect()
    asking.deliver(frame(105, opaque=1, topic="T1", **zone) + frame(105, opaque=2, topic="T1", **zone))
    parts.requests.refuse_lookups()
    asking.deliver(frame(105, opaque=3, topic="T1", **zone) + frame(105, opaque=4, topic="no", **zone))
    asking.deliver(frame(106, opaque=5))
    await eventually(lambda: len(asking.answers) == 5)  # a turn of the loop may end between two requests
    codes = {answer.opaque: (answer.code, answer.remark) for answer in asking.answers}
    refused = (1, "name server not ready")
    assert codes == {1: (0, None), 2: (0, None), 3: refused, 4: refused, 5: (0, None)}


# Topics of very many broker names.


@pytest.fixture
def all_wide(monkeypatch):
    """Every topic counts as wide, and a turn has time for one slice; to be called with the parts."""

    def make(parts):
        monkeypatch.setattr(route_answers, "WIDE_NAMES", 0)
        parts.tick = 0.0015

    return make


async def test_the_route_of_a_wide_topic_is_made_in_turns_for_all_who_ask(parts, all_wide):
    all_wide(parts)
    await registered(parts)
    first, others = parts.connect(), parts.connect()
    first.deliver(frame(105, opaque=1, topic="T1"))
    others.deliver(frame(105, opaque=2, topic="T1") + frame(105, opaque=3, topic="T1"))
    assert first.answers == others.answers == []
    assert parts.run_turns() > 2
    (answer,) = first.answers
    assert (answer.code, answer.opaque) == (0, 1)
    assert b"broker-a" in answer.body
    assert [(each.opaque, each.body) for each in others.answers] == [(2, answer.body), (3, answer.body)]
    assert parts.results(105) == {0: 3}
    assert parts.state.lookup_cache.missed == 3


async def test_a_wide_topic_may_be_deleted_before_its_turn(parts, all_wide):
    all_wide(parts)
    await registered(parts)
    asking = parts.connect()
    asking.deliver(frame(105, opaque=1, topic="T1") + frame(105, opaque=2, topic="T2"))
    parts.connect().deliver(frame(216, topic="T2"))
    parts.run_turns()
    assert [(answer.opaque, answer.code) for answer in asking.answers] == [(1, 0), (2, 17)]
    assert parts.results(105) == {0: 1, 17: 1}


async def test_a_bug_in_a_slice_is_answered_and_holds_up_nobody(parts, all_wide, monkeypatch):
    all_wide(parts)
    await registered(parts)
    asking = parts.connect()
    monkeypatch.setattr(WideRoutes, "encode", bug)
    asking.deliver(frame(105, opaque=1, topic="T1"))
    parts.run_turns()
    monkeypatch.undo()
    asking.deliver(frame(105, opaque=2, topic="T1"))
    assert [(answer.opaque, answer.code) for answer in asking.answers] == [(1, 1), (2, 0)]


# Another environment.


class Elsewhere(ClusterTest):
    """An environment that answers when the test does."""

    def __init__(self, folder):
        super().__init__(startup(folder).settings, clock=FakeClock())
        self.asked = []

    def look_up(self, topic, done):
        self.asked.append((topic, done))
        if topic == "at once":
            done(None)


async def test_topics_that_nobody_has_are_looked_up_elsewhere(tmp_path):
    elsewhere = Elsewhere(tmp_path)
    parts = Parts(tmp_path, cluster_test=elsewhere)
    await registered(parts)
    asking = parts.connect()
    asking.deliver(
        frame(105, opaque=1, topic="T1") + frame(105, opaque=2, topic="there") + frame(105, opaque=3, topic="nowhere")
        + frame(105, opaque=4, topic="at once") + frame(105, opaque=5) + frame(101, opaque=6, namespace="a", key="b")
    )  # fmt: skip
    assert [topic for topic, _ in elsewhere.asked] == ["there", "nowhere", "at once"]
    assert sorted(asking.answered) == [1, 4, 5, 6]
    elsewhere.asked[0][1](b"a route")
    elsewhere.asked[1][1](None)
    by_opaque = {answer.opaque: answer for answer in asking.answers}
    assert (by_opaque[2].code, by_opaque[2].body) == (0, b"a route")
    assert "nowhere" in by_opaque[3].remark
    assert [by_opaque[opaque].code for opaque in (3, 4, 5, 6)] == [17, 17, 17, 22]
    assert parts.results(105) == {0: 2, 17: 3}


async def test_the_route_of_a_wide_topic_is_made_in_turns_with_another_environment_too(tmp_path, all_wide):
    elsewhere = Elsewhere(tmp_path)
    parts = Parts(tmp_path, cluster_test=elsewhere)
    all_wide(parts)
    await registered(parts)
    asking = parts.connect()
    asking.deliver(frame(105, opaque=1, topic="T1") + frame(105, opaque=2, topic="T2"))
    parts.connect().deliver(frame(216, topic="T2"))
    parts.run_turns()
    assert asking.answered == [1]
    ((topic, done),) = elsewhere.asked
    assert topic == "T2"
    done(b"a route")
    assert [answer.body[:10] for answer in asking.answers] == [b'{"brokerDa', b"a route"]


async def test_a_lookup_takes_long_if_many_broker_names_may_have_the_topic(parts):
    for number in range(module.LONG_NAMES + 1):
        parts.state.tables.index_topics(["Wide"] if number else ["Wide", "Narrow"], f"broker-{number}")
    long = {
        topic: parts.requests.takes_long(request(105, fields))
        for topic, fields in (
            ("Wide", {"topic": "Wide"}),
            ("Narrow", {"topic": "Narrow"}),
            ("unknown", {"topic": "X"}),
            ("none", None),
        )
    }
    assert long == {"Wide": True, "Narrow": False, "unknown": False, "none": False}
