"""What happens by the clock; the clock is the test's, and nobody sleeps."""

import asyncio
import contextlib
import itertools
import logging
from types import SimpleNamespace

import pytest

from namekeeper.app import housekeeping as module
from namekeeper.app.housekeeping import Housekeeping
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.wire.codec import encode_command
from tests.support.system.waiting import turns
from tests.unit.app.parts import FakeClock, Parts, frame, registration

BROKER = {
    "brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "DefaultCluster", "brokerId": "0",
}  # fmt: skip


ONE_TURN = asyncio.sleep


class Timers:
    """Stands for asyncio.sleep on a clock that moves when told."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds == 0:
            await ONE_TURN(0)
            return
        wake = asyncio.get_running_loop().create_future()
        self._waiting.append((self._clock.now().mono_ms + round(seconds * 1000), wake))
        await wake

    async def pass_time(self, seconds: float) -> None:
        """Let time pass; every timer comes when it is due."""
        end = self._clock.now().mono_ms + round(seconds * 1000)
        while due := [at for at, _ in self._waiting if at <= end]:
            await self._wake(min(due))
        await self._wake(end)

    async def stall(self, seconds: float) -> None:
        """Be busy for so long: all timers come late."""
        await self._wake(self._clock.now().mono_ms + round(seconds * 1000))

    async def _wake(self, at_ms: int) -> None:
        self._clock.advance((at_ms - self._clock.now().mono_ms) / 1000)
        due = [wake for at, wake in self._waiting if at <= at_ms]
        self._waiting = [(at, wake) for at, wake in self._waiting if at > at_ms]
        for wake in due:
            if not wake.done():
                wake.set_result(None)
        await turns()


class House:
    """Housekeeping under way, and what it did."""

    def __init__(self, parts: Parts, timers: Timers, housekeeping: Housekeeping) -> None:
        self.parts = parts
        self.timers = timers
        self.housekeeping = housekeeping
        self.closed: list[object] = []

    def register(self, opaque: int = 1, connection=None, **more):
        connection = connection or self.parts.connect()
        request = registration(**more)
        request.opaque = opaque
        connection.deliver(encode_command(request))
        self.parts.run_turns()
        return connection

    @property
    def live(self) -> set[str]:
        return {live.broker_addr for live in self.parts.state.tables.broker_live_table}


@contextlib.asynccontextmanager
async def keeping(tmp_path, monkeypatch, *, lag_sample_ms=10_000, **flags):
    """Housekeeping that measures the loop's delay more rarely: else that would be most of the work."""
    monkeypatch.setattr(module, "LAG_SAMPLE_MS", lag_sample_ms)
    parts = Parts(tmp_path, **flags)
    timers = Timers(parts.clock)
    monkeypatch.setattr(
        module, "asyncio", SimpleNamespace(sleep=timers.sleep, TaskGroup=asyncio.TaskGroup), raising=True
    )
    closed = []
    one_step_an_iteration = Scheduler(itertools.count(1).__next__)
    housekeeping = Housekeeping(
        parts.state,
        parts.requests,
        clock=parts.clock,
        scheduler=one_step_an_iteration,
        close_channel=closed.append,
    )
    house = House(parts, timers, housekeeping)
    house.closed = closed
    task = asyncio.create_task(housekeeping.run())
    await turns()
    try:
        yield house
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def house(tmp_path, monkeypatch):
    async with keeping(tmp_path, monkeypatch) as house:
        yield house


async def test_who_is_silent_for_longer_than_it_asked_for_is_removed_at_the_next_scan(house):
    connection = house.register()
    await house.timers.pass_time(120)  # the limit itself is not beyond it
    assert house.live
    await house.timers.pass_time(5)
    assert not house.live
    assert house.closed == [connection.channel]


async def test_who_is_heard_stays(house):
    connection = house.register()
    for _ in range(10):
        await house.timers.pass_time(100)
        connection.deliver(frame(904, oneway=True, **BROKER))
    assert house.live


async def test_a_shorter_time_may_be_asked_for(house):
    house.register(heartbeat_timeout_ms=10_000)
    await house.timers.pass_time(10)
    assert house.live
    await house.timers.pass_time(5)
    assert not house.live


async def test_after_a_stall_one_scan_is_left_out(house):
    connection = house.register()
    await house.timers.stall(130)  # its heartbeats are in the kernel, and nobody read them
    assert house.live
    connection.deliver(frame(904, oneway=True, **BROKER))
    await house.timers.pass_time(20)
    assert house.live


async def test_only_one_scan_is_left_out(house):
    house.register()
    await house.timers.stall(130)
    await house.timers.pass_time(4.9)
    assert house.live
    await house.timers.pass_time(0.2)
    assert not house.live


async def test_a_small_delay_leaves_no_scan_out(house):
    house.register()
    await house.timers.pass_time(120)
    await house.timers.stall(9)  # due after 5 s, an interval late at most
    assert not house.live


async def test_whoever_is_not_read_from_is_not_blamed(house):
    connection = house.register()
    connection.channel.pause()
    await house.timers.pass_time(300)
    assert house.live
    connection.channel.resume()
    await house.timers.pass_time(5)  # what it sent meanwhile may come in now
    assert house.live
    await house.timers.pass_time(5)
    assert not house.live


async def test_a_server_that_is_always_late_expires_brokers_nevertheless(house):
    house.register()
    await house.timers.stall(130)
    assert house.live
    await house.timers.stall(11)
    assert not house.live


async def test_expiry_is_judged_again_when_it_is_carried_out(house):
    connection, other = house.register(), house.parts.connect()
    await house.timers.pass_time(121)
    request = registration(20_000, broker_id=1, addr="10.0.0.2:10911")  # the same name: its lane is taken
    other.deliver(encode_command(request))
    await house.housekeeping.expire()
    assert house.parts.requests.waiting == 2
    connection.deliver(frame(904, oneway=True, **BROKER))
    house.parts.run_turns()
    assert house.live == {"10.0.0.1:10911", "10.0.0.2:10911"}
    assert not house.closed


async def test_others_have_a_turn_after_each_broker_that_expires(house):
    for number in range(1, 4):
        house.register(number, name=f"broker-{number}", addr=f"10.0.0.{number}:10911")
    house.parts.clock.advance(121)
    scan = asyncio.create_task(house.housekeeping.expire())
    left = []
    while not scan.done():
        await ONE_TURN(0)
        left.append(len(house.live))
    assert left[:4] == [3, 2, 1, 0]


async def test_a_connection_is_closed_with_the_last_broker_over_it(house):
    connection = house.register(heartbeat_timeout_ms=10_000)
    house.register(2, connection, name="broker-b", addr="10.0.0.2:10911", heartbeat_timeout_ms=60_000)
    await house.timers.pass_time(20)
    assert house.live == {"10.0.0.2:10911"}
    assert not house.closed
    await house.timers.pass_time(60)
    assert house.closed == [connection.channel]


async def test_the_interval_is_a_property_of_the_start(tmp_path, monkeypatch):
    flags = {"scan_not_active_broker_interval": "50", "allow_config_update": "true"}
    async with keeping(tmp_path, monkeypatch, **flags) as house:
        house.register(heartbeat_timeout_ms=1_000)
        house.parts.connect().deliver(frame(318, b"scanNotActiveBrokerInterval=600000"))
        await house.timers.pass_time(4.9)
        assert house.live  # the first search comes 5 s after the start (R#9683)
        await house.timers.pass_time(0.2)
        assert not house.live
        house.register(opaque=2, heartbeat_timeout_ms=1_000)
        await house.timers.pass_time(1.1)
        assert not house.live


async def test_a_bug_ends_one_scan_only(house, monkeypatch, caplog):
    house.register()
    real = module.overdue
    monkeypatch.setattr(module, "overdue", lambda *_: 1 // 0)
    with caplog.at_level(logging.ERROR):
        await house.timers.pass_time(121)
    assert "the search for expired brokers failed" in caplog.text
    monkeypatch.setattr(module, "overdue", real)
    await house.timers.pass_time(5)
    assert not house.live


async def test_how_late_timers_come_is_noted_until_it_is_asked_for(tmp_path, monkeypatch):
    async with keeping(tmp_path, monkeypatch, lag_sample_ms=module.LAG_SAMPLE_MS) as house:
        await house.timers.pass_time(3)
        assert house.housekeeping.take_max_lag_ms() == 0
        await house.timers.stall(0.7)
        await house.timers.stall(0.3)
        assert house.housekeeping.take_max_lag_ms() == 600
        assert house.housekeeping.take_max_lag_ms() == 0


async def test_kv_entries_are_printed_after_a_minute_and_then_every_ten(house, caplog):
    house.parts.state.kv_config.put("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
    entry = "configTable NS: ORDER_TOPIC_CONFIG Key: T Value: broker-a:4"
    lines = ["-" * 56, "configTable SIZE: 1", entry]
    with caplog.at_level(logging.INFO):
        await house.timers.pass_time(59)
        assert not caplog.messages
        await house.timers.pass_time(2)
        assert caplog.messages == lines
        await house.timers.pass_time(598)
        assert caplog.messages == lines
        await house.timers.pass_time(2)
        assert caplog.messages == lines * 2


async def test_of_many_kv_entries_some_are_printed_with_pauses_and_the_others_counted(
    house, caplog, monkeypatch
):
    monkeypatch.setattr(module, "KV_PRINT_LIMIT", 5)
    monkeypatch.setattr(module, "KV_PRINT_SLICE", 2)
    for number in range(8):
        house.parts.state.kv_config.put("ns", f"k{number}", "v" * 5_000)
    turns = 0

    async def count_turns():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with caplog.at_level(logging.INFO):
        caplog.clear()
        counting = asyncio.create_task(count_turns())
        await house.housekeeping.log_kv_config()
        counting.cancel()
    assert caplog.messages[:2] == ["-" * 56, "configTable SIZE: 1"]
    assert caplog.messages[2].startswith("configTable NS: ns Key: k0 Value: vvv")
    assert caplog.messages[2].endswith("v... (5000 characters)")
    assert len(caplog.messages) == 8
    assert caplog.messages[-1] == "configTable: and 3 more entries"
    assert turns == 4, "one before the first slice, and one after each of three"


async def test_the_head_of_an_empty_configuration_is_logged_too(house, caplog):
    with caplog.at_level(logging.INFO):
        await house.housekeeping.log_kv_config()
    assert caplog.messages == ["-" * 56, "configTable SIZE: 0"]


async def test_look_ups_are_refused_while_brokers_may_not_be_back(tmp_path, monkeypatch):
    async with keeping(tmp_path, monkeypatch, need_wait_for_service="true") as house:
        house.register()
        asking = house.parts.connect()
        await house.timers.pass_time(44)
        asking.deliver(frame(105, topic="T1"))
        await house.timers.pass_time(2)
        asking.deliver(frame(105, topic="T1"))
        assert [(answer.code, answer.remark) for answer in asking.answers] == [
            (1, "name server not ready"),
            (0, None),
        ]


@pytest.mark.parametrize(("seconds", "before", "after"), [("10", 9, 2), ("60", 58, 4)])
async def test_how_long_may_be_changed_while_it_lasts(tmp_path, monkeypatch, seconds, before, after):
    flags = {"need_wait_for_service": "true", "allow_config_update": "true"}
    async with keeping(tmp_path, monkeypatch, **flags) as house:
        house.parts.connect().deliver(frame(318, f"waitSecondsForService={seconds}".encode()))
        await house.timers.pass_time(before)
        assert house.parts.state.is_waiting_for_service
        await house.timers.pass_time(after)
        assert not house.parts.state.is_waiting_for_service


async def test_topics_without_a_writable_queue_are_counted_at_intervals(tmp_path, monkeypatch):
    async with keeping(tmp_path, monkeypatch) as house:
        house.register()
        await house.timers.pass_time(module.UNWRITABLE_COUNT_S)
        assert house.housekeeping.unwritable_topics == 0
        house.parts.connect().deliver(frame(205, brokerName="broker-a"))
        house.parts.run_turns()
        await house.timers.pass_time(module.UNWRITABLE_COUNT_S)
        assert house.housekeeping.unwritable_topics == len(house.parts.state.tables.topics()) > 0


async def test_fingerprints_are_taken_at_each_half_minute_of_the_wall_clock_after_the_first_minute(house):
    past_s = house.parts.clock.now().wall_ms % 30_000 / 1000
    house.register()
    await house.timers.pass_time(60)
    assert house.housekeeping.fingerprints == {}
    await house.timers.pass_time(30 - past_s + 0.1)
    first = house.housekeeping.fingerprints
    assert first.keys() == {"brokers", "topics", "kv"}
    house.register(name="broker-b", addr="10.0.0.2:10911")
    await house.timers.pass_time(29)
    assert house.housekeeping.fingerprints == first
    await house.timers.pass_time(1)
    assert house.housekeeping.fingerprints["brokers"] != first["brokers"]


def unwritable(house) -> int:
    return house.housekeeping.unwritable_topics


def fingerprint(house) -> int:
    return hash(frozenset(house.housekeeping.fingerprints.items()))


@pytest.fixture
def scans(monkeypatch):
    """The scans of all topics that were made."""
    made: list[str] = []

    def note(name: str) -> None:
        real = getattr(module, name)

        def scan(*args):
            made.append(name)
            return real(*args)

        monkeypatch.setattr(module, name, scan)

    note("unwritable_topics")
    note("fingerprints")
    return made


@pytest.mark.parametrize(
    "change",
    [
        lambda house: house.register(2, name="broker-b", addr="10.0.0.2:10911"),
        lambda house: house.parts.connect().deliver(frame(205, brokerName="broker-a")),
        lambda house: house.parts.connect().deliver(frame(216, topic="T1")),
        lambda house: house.parts.connect().deliver(frame(104, **BROKER)),
        lambda house: house.parts.connect().deliver(frame(100, namespace="a", key="b", value="c")),
    ],
    ids=["registration", "wiped permission", "deleted topic", "unregistration", "KV entry"],
)
async def test_topics_are_scanned_again_only_after_a_change(house, scans, change):
    connection = house.register()

    async def scan() -> int:
        await house.housekeeping.count_unwritable()
        await house.housekeeping.take_fingerprints()
        return fingerprint(house)

    first = await scan()
    assert scans == ["unwritable_topics", "fingerprints"]
    connection.deliver(frame(904, oneway=True, **BROKER))  # a heartbeat changes no row
    house.parts.state.lookup_cache.take_counts()  # the journal does so each minute
    assert (await scan(), len(scans)) == (first, 2)
    change(house)
    house.parts.run_turns()
    assert await scan() != first
    assert scans == ["unwritable_topics", "fingerprints"] * 2


@pytest.mark.parametrize(
    ("scan", "found"),
    [(Housekeeping.count_unwritable, unwritable), (Housekeeping.take_fingerprints, fingerprint)],
)
async def test_what_changes_during_a_scan_is_seen_by_the_next_one(house, scan, found):
    house.register()
    await scan(house.housekeeping)
    before = found(house)
    house.register(2, name="broker-b", addr="10.0.0.2:10911")
    under_way = asyncio.create_task(scan(house.housekeeping))
    await turns(2)
    for number in ("a", "b"):
        house.parts.connect().deliver(frame(205, brokerName=f"broker-{number}"))
    house.parts.run_turns()
    assert not under_way.done()
    await under_way
    during = found(house)
    await scan(house.housekeeping)
    assert found(house) not in {before, during}


async def registered(house, count: int):
    for number in range(count):
        house.register(name=f"broker-{number}", addr=f"10.0.0.{number}:10911")


async def test_the_guard_keeps_brokers_when_too_many_are_silent_at_once(tmp_path, monkeypatch, caplog):
    async with keeping(tmp_path, monkeypatch, expiry_guard_percent="50") as house:
        await registered(house, 4)
        await house.timers.pass_time(125)
        assert len(house.live) == 4
        assert house.housekeeping.silent_kept == 4
        await house.timers.pass_time(60)
        assert caplog.text.count("4 of 4 brokers are silent: none expires (expiryGuardPercent)") == 1
        for number in (0, 1):
            house.register(name=f"broker-{number}", addr=f"10.0.0.{number}:10911")
        await house.timers.pass_time(5)
        assert house.live == {"10.0.0.0:10911", "10.0.0.1:10911"}
        assert house.housekeeping.silent_kept == 0


async def test_the_guard_never_keeps_a_single_broker(tmp_path, monkeypatch):
    async with keeping(tmp_path, monkeypatch, expiry_guard_percent="1") as house:
        await registered(house, 1)
        await house.timers.pass_time(125)
        assert not house.live
