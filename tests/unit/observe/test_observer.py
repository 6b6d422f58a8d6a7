"""An observer and a name server in memory: periods of observation, restarts, and peers that are no name servers."""

import asyncio
import json
import threading
from functools import partial
from random import Random

import pytest
from msgspec import structs

from namekeeper.observe import observer as module
from namekeeper.observe.log_file import LogStatus
from namekeeper.observe.memory import MemoryLimits
from namekeeper.observe.observer import LARGE_SIZE, TOO_LARGE_PAUSE_SECONDS, NameServerObserver, ObserverState
from namekeeper.observe.questions import NAMES_LIMIT, AskTopics
from namekeeper.observe.schedule import Rates
from namekeeper.route.events import Cause
from namekeeper.wire.command import Response
from tests.support.system.loops import virtual_time
from tests.support.system.waiting import eventually
from tests.unit.observe.simulated import ADDR, LoopClock, MemoryJournal, SimulatedNetwork, registration_body

pytestmark = virtual_time


class Observed:
    """An observer of a name server in memory."""

    def __init__(self, memory=None, log_file=None, **settings):
        self.network = SimulatedNetwork(Random(1), **settings)
        self.periods: list[MemoryJournal] = []
        self.states, self.readings = [], []
        self.counter = 0
        self.observer = NameServerObserver(
            ADDR,
            self.network,
            partial(MemoryJournal, self.periods),
            clock=LoopClock(),
            rates=Rates(budget=0.1),
            memory=memory,
            log_file=log_file,
            on_change=self._note,
        )

    def _note(self, status):
        self.states.append(status.state)
        self.readings.append(status.reading_ms)

    async def __aenter__(self):
        self.task = asyncio.create_task(self.observer.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def register(self, name="b", addr="10.0.0.1:1", topics=("t",), **fields):
        self.counter += 1
        body = registration_body(dict.fromkeys(topics, 4), self.counter)
        self.network.server.register(body, brokerName=name, brokerAddr=addr, **fields)

    def change_queues(self, topics, changed):
        """The broker registers with other queues of one topic."""
        self.counter += 1
        body = registration_body({**dict.fromkeys(topics, 4), changed: 8}, self.counter)
        self.network.server.register(body, brokerName="b", brokerAddr="10.0.0.1:1")

    def unregister(self, name="b", addr="10.0.0.1:1"):
        fields = {"brokerName": name, "brokerAddr": addr, "clusterName": "DefaultCluster", "brokerId": "0"}
        assert self.network.server.ask(104, fields).code == 0

    @property
    def status(self):
        return self.observer.status()

    @property
    def state(self):
        return self.status.state

    def kinds(self, period=-1):
        return {record["kind"] for record in self.periods[period].records}


async def observed(**settings):
    made = Observed(**settings)
    made.register()
    return made


async def test_what_is_there_is_read_before_anything_is_recorded():
    async with await observed() as one:
        await asyncio.sleep(5)
        assert one.states == [ObserverState.READING, ObserverState.OBSERVED]
        (period,) = one.periods
        rows = {record["kind"] for record in period.rows}
        assert rows >= {
            "checkpoint_begin",
            "broker_live",
            "broker_group",
            "cluster",
            "topic_queues",
            "config",
        }
        assert period.records == []
        assert (one.status.brokers, one.status.topics, one.status.unread) == (1, 1, 0)


async def test_nothing_but_read_requests_is_sent():
    async with await observed() as one:
        await asyncio.sleep(70)
        assert {exchange.code for exchange in one.network.exchanges} == {105, 106, 206, 219, 319}


async def test_a_broker_that_goes_and_comes_is_recorded_in_one_period():
    async with await observed() as one:
        await asyncio.sleep(5)
        one.unregister()
        await asyncio.sleep(5)
        one.register()
        await asyncio.sleep(10)
        (period,) = one.periods
        assert [
            record["gone"]
            for record in period.records
            if record["kind"] == "broker_live" and "gone" in record
        ]
        assert period.records[-1]["kind"] == "topic_queues"


async def test_a_name_server_that_cannot_be_reached_is_unknown_from_its_last_answer_on():
    async with await observed() as one:
        await asyncio.sleep(10)
        one.network.is_reachable = False
        last = one.network.exchanges[-1].received
        await asyncio.sleep(30)
        assert one.state is ObserverState.NOT_OBSERVED
        assert one.periods[0].ended
        assert one.periods[0].answered_at.mono_ms <= last + 60
        assert "can't connect" in one.status.reason
        one.network.is_reachable = True
        await asyncio.sleep(30)
        assert one.state is ObserverState.OBSERVED
        assert [period.restart for period in one.periods] == ["possible", "possible"]


async def test_a_short_silence_makes_a_window_longer_and_no_period():
    async with await observed() as one:
        await asyncio.sleep(10)
        one.network.is_reachable = False
        await asyncio.sleep(2)
        one.network.is_reachable = True
        one.register("c", "10.0.0.2:1")
        await asyncio.sleep(10)
        assert len(one.periods) == 1
        windows = {
            record["window_ms"] for record in one.periods[0].records if record["kind"] == "broker_live"
        }
        assert max(windows) >= 2_000


async def test_a_restart_shows_by_a_closed_connection_and_empty_tables():
    async with await observed() as one:
        await asyncio.sleep(10)
        one.network.restart()
        await asyncio.sleep(10)
        assert [period.restart for period in one.periods] == ["possible", "seen"]
        assert not [row for row in one.periods[1].rows if row["kind"].startswith("broker")]
        one.register()
        await asyncio.sleep(10)
        assert "broker_live" in one.kinds()


async def test_a_restart_after_which_a_broker_is_back_already_is_possible():
    async with await observed() as one:
        one.register("c", "10.0.0.2:1")
        await asyncio.sleep(10)
        one.network.restart()
        one.register()
        await asyncio.sleep(10)
        assert [period.restart for period in one.periods] == ["possible", "possible"]


async def test_brokers_that_all_go_over_an_open_connection_are_no_restart():
    async with await observed() as one:
        await asyncio.sleep(10)
        one.unregister()
        await asyncio.sleep(10)
        assert len(one.periods) == 1
        assert "broker_name_removed" in one.kinds()


async def test_a_closed_connection_alone_is_no_restart():
    async with await observed() as one:
        await asyncio.sleep(10)
        for _ in range(5):
            one.network.close()
            await asyncio.sleep(3)
        assert len(one.periods) == 1
        assert one.network.connections_made == 6


async def test_a_name_server_that_hangs_is_not_observed_and_asked_less():
    async with await observed() as one:
        await asyncio.sleep(10)
        one.network.hangs = True
        await asyncio.sleep(20)
        assert one.state is ObserverState.NOT_OBSERVED
        before = one.status.requests
        await asyncio.sleep(120)
        assert one.status.requests - before <= 12


async def test_a_name_server_that_answers_slower_each_minute_is_asked_less_each_minute():
    async with await observed() as one:
        await asyncio.sleep(10)
        counts = []
        for delay in (0.01, 0.3, 1.0, 2.0, 2.4):
            one.network.delays = (delay, delay)
            before = len(one.network.exchanges)
            await asyncio.sleep(60)
            counts.append(len(one.network.exchanges) - before)
        assert counts == sorted(counts, reverse=True)
        one.network.delays = (5, 5)
        await asyncio.sleep(60)
        assert one.state is ObserverState.NOT_OBSERVED


@pytest.mark.parametrize("delay", [0.3, 0.55])
async def test_of_a_name_server_that_answers_slowly_everything_is_read(delay):
    """Its brokers were due again after each answer: nothing else was asked for, and no change of a topic seen."""
    async with await observed(delays=(delay, delay)) as one:
        await asyncio.sleep(60)
        assert one.state is ObserverState.OBSERVED
        one.register(topics=("t", "new"))
        entry = {"namespace": "ORDER_TOPIC_CONFIG", "key": "t", "value": "b:4"}
        assert one.network.server.ask(100, entry).code == 0
        await asyncio.sleep(60)
        assert one.kinds() >= {"topic_queues", "kv"}
        assert len(one.periods) == 1


async def test_a_sweep_that_takes_longer_than_stated_is_said_and_each_window_is_true():
    topics = tuple(f"t{number}" for number in range(400))
    async with await observed() as one:
        one.register(topics=topics)
        await asyncio.sleep(30)
        assert not one.status.is_sweep_late
        counts = []
        for delay in (0.01, 0.2, 0.4, 0.6):
            one.network.delays = (delay, delay)
            before = len(one.network.exchanges)
            await asyncio.sleep(120)
            counts.append(len(one.network.exchanges) - before)
        assert counts == sorted(counts, reverse=True)
        assert one.status.is_sweep_late
        changed_at = LoopClock().now().wall_ms
        one.change_queues(topics, topics[-1])
        await asyncio.sleep(600)
        (record,) = [
            each for each in one.periods[-1].records if each.get("rows") == [[topics[-1], 8, 8, 6, 0]]
        ]
        assert record["ts"] - record["window_ms"] <= changed_at <= record["ts"]
        assert record["window_ms"] > one.status.windows.queues_ms
        one.network.delays = (0.001, 0.03)
        await asyncio.sleep(60)
        assert not one.status.is_sweep_late
        assert len(one.periods) == 1


async def test_a_long_first_reading_is_said_once_with_the_time_that_it_takes(monkeypatch):
    monkeypatch.setattr(module, "SAID_READING_MS", 1_000)
    async with Observed() as one:
        one.register(topics=tuple(f"t{number}" for number in range(1_500)))
        await asyncio.sleep(30)
        assert one.states == [ObserverState.READING, ObserverState.READING, ObserverState.OBSERVED]
        assert one.readings[0] == one.readings[2] == 0
        assert 1_500 < one.readings[1] < 2_500


async def test_a_window_that_would_be_longer_than_stated_ends_the_period():
    async with await observed() as one:
        await asyncio.sleep(10)
        one.network.delays = (2.2, 2.2)
        for _ in range(3):
            await asyncio.sleep(9)
            one.unregister()
            await asyncio.sleep(9)
            one.register()
        one.network.delays = (0.001, 0.03)
        await asyncio.sleep(30)
        stated = one.status.windows.members_ms
        windows = [
            record["window_ms"]
            for period in one.periods
            for record in period.records
            if record["kind"] == "broker_live"
        ]
        assert all(window <= stated for window in windows), windows
        assert len(one.periods) > 1
        assert one.state is ObserverState.OBSERVED


NO_NAME_SERVERS = {
    "empty objects": lambda code, fields: Response(body=b"{}"),
    "empty bodies": lambda code, fields: Response(),
    "garbage": lambda code, fields: Response(body=b"\x00\xff\x01" * 50),
    "null": lambda code, fields: Response(body=b"null"),
    "refusals": lambda code, fields: Response(16, "no"),
    "busy": lambda code, fields: Response(2, "system busy"),
    "too long a name": lambda code, fields: Response(body=json.dumps({"topicList": ["x" * 5_000]}).encode()),
}


@pytest.mark.parametrize("kind", NO_NAME_SERVERS)
async def test_a_peer_that_is_no_name_server_is_never_observed(kind):
    one = Observed()
    one.network.respond = NO_NAME_SERVERS[kind]
    async with one:
        await asyncio.sleep(1)
        assert one.states == [ObserverState.CONNECTING], "it is said at once"
        await asyncio.sleep(120)
        assert one.state is ObserverState.CONNECTING
        assert one.states == [ObserverState.CONNECTING], "it is said once"
        assert one.status.reason
        assert one.periods == []
        assert one.status.requests <= 20


@pytest.mark.parametrize("kind", NO_NAME_SERVERS)
async def test_a_name_server_that_becomes_something_else_is_not_observed_and_nothing_wrong_is_recorded(kind):
    async with await observed() as one:
        await asyncio.sleep(10)
        one.network.respond = NO_NAME_SERVERS[kind]
        await asyncio.sleep(60)
        assert one.state is ObserverState.NOT_OBSERVED
        assert one.periods[0].records == []
        one.network.respond = None
        await asyncio.sleep(60)
        assert one.state is ObserverState.OBSERVED


async def test_a_name_server_that_refuses_its_list_of_topics_is_not_observed():
    """Without the topics a checkpoint would say that there are none."""
    one = await observed()
    one.network.respond = lambda code, fields: (
        Response(1, "disable") if code == 206 else one.network.server.ask(code, fields)
    )
    async with one:
        await asyncio.sleep(60)
        assert one.state is not ObserverState.OBSERVED
        assert "request 206: disable" in one.status.reason


async def test_refused_properties_are_left_out_and_said():
    one = await observed()
    one.network.respond = lambda code, fields: (
        Response(16, "no") if code == 319 else one.network.server.ask(code, fields)
    )
    async with one:
        await asyncio.sleep(10)
        assert one.state is ObserverState.OBSERVED
        assert list(one.status.refused) == ["319"]
        assert not [row for row in one.periods[0].rows if row["kind"] == "config"]


async def test_a_topic_whose_rows_are_refused_is_not_passed_over():
    one = await observed()
    one.network.respond = lambda code, fields: (
        Response(16, "no") if code == 105 else one.network.server.ask(code, fields)
    )
    async with one:
        await asyncio.sleep(60)
        assert one.state is not ObserverState.OBSERVED
        assert "request 105: no" in one.status.reason


async def test_an_acting_master_is_recorded_as_the_slave_that_it_is():
    async with await observed() as one:
        one.register("s", "10.0.0.3:1", brokerId="1", enableActingMaster="true")
        await asyncio.sleep(10)
        live = {
            row["broker_addr"]: row["broker_id"]
            for row in one.periods[0].rows
            if row["kind"] == "broker_live"
        }
        assert live == {"10.0.0.1:1": 0, "10.0.0.3:1": 1}


async def test_a_topic_goes_with_its_broker_and_is_not_called_deleted():
    async with await observed() as one:
        one.register("c", "10.0.0.2:1", topics=("t", "u"))
        await asyncio.sleep(10)
        for _ in range(10):
            one.unregister("c", "10.0.0.2:1")
            await asyncio.sleep(7.3)
            one.register("c", "10.0.0.2:1", topics=("t", "u"))
            await asyncio.sleep(12.1)
        gone = [
            record
            for record in one.periods[0].records
            if record["kind"] == "topic_queues" and any(len(row) == 1 for row in record["rows"])
        ]
        assert gone == []


def many(code, fields):
    """A name server with more topics than any cluster has."""
    body = {
        106: {"brokerAddrTable": {}, "clusterAddrTable": {}},
        206: {"topicList": [f"t{number}" for number in range(NAMES_LIMIT + 1)]},
    }.get(code)
    return Response(0, None, body=b"{}" if body is None else json.dumps(body).encode())


async def test_a_name_server_that_answers_more_than_the_limit_is_not_observed_and_asked_rarely():
    made = Observed(respond=many)
    async with made:
        await eventually(lambda: made.state is ObserverState.NOT_OBSERVED)
        asked = len(made.network.exchanges)
        assert "request 206: its answer has 200,001 names, more than 200,000" in made.status.reason
        await asyncio.sleep(TOO_LARGE_PAUSE_SECONDS - 10)
        assert len(made.network.exchanges) == asked
        await asyncio.sleep(20)
        assert len(made.network.exchanges) > asked
    assert made.periods == []


class SlowThreads:
    """Reads answers a second late; knows the most bytes that waited at a time."""

    def __init__(self):
        self.waiting = self.most = 0

    async def run(self, read):
        size = len(read.args[1].body)
        self.waiting += size
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(1)
        self.waiting -= size
        return read()


def large_routes(code, fields):
    """A name server whose routes are large."""
    topics = [f"t{number}" for number in range(40)]
    body = {
        106: {"brokerAddrTable": {}, "clusterAddrTable": {}},
        206: {"topicList": topics},
        105: {"queueDatas": [], "brokerDatas": [], "orderTopicConf": "x" * 100_000},
    }.get(code, {})
    return Response(0, None, body=json.dumps(body).encode())


async def test_large_answers_that_wait_have_a_limit_together(monkeypatch):
    """A name server may answer 16 requests at once, each with 16 MiB."""
    monkeypatch.setattr(module, "WAITING_BYTES", 350_000)
    made = Observed(respond=large_routes)
    made.observer._threads = threads = SlowThreads()
    async with made:
        await eventually(lambda: made.state is ObserverState.NOT_OBSERVED)
        assert "while 300," in made.status.reason
    assert 300_000 < threads.most <= 350_000


async def test_large_answers_within_the_limit_are_read():
    made = Observed(respond=large_routes)
    made.observer._threads = threads = SlowThreads()
    async with made:
        await eventually(lambda: made.state is ObserverState.OBSERVED)
    assert threads.most > 350_000
    assert (threads.waiting, made.observer._waiting_bytes) == (0, 0)


async def test_beyond_the_memory_of_a_name_server_its_state_is_unknown_and_its_tables_are_given_back():
    made = Observed(memory=MemoryLimits(namesrv_bytes=200_000))
    made.register(topics=[f"t{number}" for number in range(10)])
    async with made:
        await eventually(lambda: made.state is ObserverState.OBSERVED)
        made.register("c", "10.0.0.2:1", topics=[f"u{number}" for number in range(1_000)])
        await eventually(lambda: made.state is ObserverState.NOT_OBSERVED)
        assert "more than 0 MiB" in made.status.reason
        assert made.periods[-1].ended
        assert (made.status.topics, made.status.size_bytes) == (0, 0)


async def test_a_large_answer_is_taken_while_the_journal_of_its_name_server_looks_at_nothing():
    made = Observed()
    made.register()
    async with made:
        await eventually(lambda: made.state is ObserverState.OBSERVED)
        paused = []
        take = made.observer._tables.take

        def note(answer):
            if isinstance(answer.question, AskTopics) and answer.size > LARGE_SIZE:
                paused.append(
                    (made.periods[-1].is_paused, threading.current_thread() is threading.main_thread())
                )
            return take(answer)

        made.observer._tables.take = note
        made.register(topics=[f"t{number}" for number in range(LARGE_SIZE)])
        await eventually(lambda: paused)
        await eventually(lambda: made.status.topics > LARGE_SIZE)
    assert set(paused) == {(True, False)}
    assert not made.periods[-1].is_paused


class FakeLog:
    """A log that has a cause of each change, which comes a second after the answer."""

    def __init__(self):
        self.is_followed = False
        self.periods = []

    async def follow(self):
        self.is_followed = True
        try:
            await asyncio.Event().wait()
        finally:
            self.is_followed = False

    async def explained(self, changes, received):
        assert self.periods[-1].is_paused, "a checkpoint would have what no record has yet"
        await asyncio.sleep(1)
        return [structs.replace(change, cause=Cause.CHANNEL_CLOSED) for change in changes]

    def status(self):
        return LogStatus("l", "", 1, 0)


async def test_a_cause_of_the_log_comes_later_and_the_time_is_that_of_the_answer():
    log = FakeLog()
    one = Observed(log_file=log)
    log.periods = one.periods
    one.register()
    async with one:
        await asyncio.sleep(5)
        assert log.is_followed
        one.unregister()
        await asyncio.sleep(5)
        (period,) = one.periods
        gone = next(record for record in period.records if record["kind"] == "broker_live")
        assert gone["cause"] == "channel_closed"
        answered = [exchange.received for exchange in one.network.exchanges if exchange.code == 106]
        assert gone["up_ms"] in answered
        assert not period.is_paused
        assert one.status.log == LogStatus("l", "", 1, 0)
    assert not log.is_followed
