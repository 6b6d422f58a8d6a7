"""The running service: receivers are independent, the disk may fail, and a stop keeps what was not sent."""

import asyncio

import msgspec
import pytest

from namekeeper.notifications import service as module
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome, Outbox
from namekeeper.notifications.service import NotificationService
from tests.support.server.builders import at
from tests.support.system.waiting import eventually
from tests.unit.notifications.seen import ACKNOWLEDGED, FAILED, START, found, receiver, seen, settings_of


class Folder:
    """A folder in memory; may be full, or hang."""

    def __init__(self):
        self.saved, self.problem = [], None

    def save(self, outbox):
        if self.problem:
            raise self.problem
        self.saved.append(outbox)

    @property
    def last(self):
        return msgspec.json.decode(self.saved[-1], type=Outbox)


class Clock:
    def __init__(self):
        self.now_ms = START

    def now(self):
        now = at(0.0)
        return type(now)(self.now_ms, self.now_ms)


class World:
    def __init__(self, *receivers, send=None):
        self.settings = settings_of(*(receivers or (receiver(),)))
        self.folder, self.clock, self.lines, self.sent = Folder(), Clock(), [], []
        self.outbox = Outbox()
        self.make(send)

    def make(self, send=None):
        async def note(to, message):
            self.sent.append((to.name, message))
            return ACKNOWLEDGED if send is None else await send(to, message)

        self.service = NotificationService(
            self.settings, self.outbox, self.folder, send=note, clock=self.clock, announce=self.lines.append
        )

    async def see(self, *incidents):
        return await self.service.see(seen(*incidents, up_to=self.clock.now_ms))

    async def until(self, fact):
        await eventually(fact)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "STOP_SECONDS", 0.2)


async def test_what_has_to_be_sent_is_on_disk_before_it_is_sent_and_afterwards_that_it_was():
    states = []

    async def send(_to, message):
        states.append(world.folder.last.receivers["ops"].sending.message == message)
        return ACKNOWLEDGED

    world = World(send=send)
    async with world.service:
        assert await world.see(found(from_ts=START - 60_000)) == START - 60_000
        await world.until(lambda: world.lines)
    assert states == [True]
    assert world.folder.last.receivers["ops"].acknowledged == 1
    assert world.folder.last.receivers["ops"].sending is None
    assert world.lines == ["ops: sent: [warning] broker-a away"]


async def test_a_receiver_that_never_answers_delays_no_other_one():
    async def send(to, _message):
        if to.name == "slow":
            await asyncio.Event().wait()
        return ACKNOWLEDGED

    world = World(receiver("slow"), receiver("quick"), send=send)
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: any("quick: sent" in line for line in world.lines))
    assert world.folder.last.receivers["slow"].sending is not None


async def test_an_attempt_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(module, "SPARE_SECONDS", 0.0)

    async def send(_to, _message):
        await asyncio.Event().wait()
        raise AssertionError

    world = World(receiver(within_ms=20), send=send)
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: world.lines)
    assert world.lines == ["ops: not sent yet: no answer in time"]


async def test_a_problem_is_announced_once_until_it_changes():
    outcomes = [FAILED, FAILED, AttemptOutcome(AttemptEnd.FAILED, "HTTP 503"), ACKNOWLEDGED]

    async def send(_to, _message):
        world.clock.now_ms += 100_000
        return outcomes.pop(0)

    world = World(send=send)
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        while outcomes:
            world.clock.now_ms += 100_000
            await asyncio.sleep(0.01)
        await world.until(lambda: len(world.lines) == 3)
    assert world.lines == [
        "ops: not sent yet: HTTP 500",
        "ops: not sent yet: HTTP 503",
        "ops: sent: [warning] broker-a away",
    ]


async def test_a_fault_of_a_way_is_a_failed_attempt_whose_text_nobody_sees():
    async def send(_to, _message):
        raise ValueError("https://s3cr3t@example")

    world = World(send=send)
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: world.lines)
    assert world.lines == ["ops: not sent yet: a fault of Namekeeper: ValueError"]
    assert not any(b"s3cr3t" in each for each in world.folder.saved)


async def test_a_full_disk_is_announced_and_stops_no_message():
    world = World()
    world.folder.problem = OSError(28, "No space left on device", "/x/outbox.json")
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: len(world.sent) == 1)
        world.folder.problem = None
        await world.until(lambda: world.lines[-1] == "the outbox is saved again")
    assert world.lines[0] == (
        "the outbox can't be saved: No space left on device: after a restart messages may be repeated"
    )
    assert "ops: sent: [warning] broker-a away" in world.lines


async def test_a_disk_that_hangs_is_announced_and_stops_no_message(monkeypatch):
    monkeypatch.setattr(module, "SAVE_SECONDS", 0.05)
    world = World()
    ends = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(_outbox):
        asyncio.run_coroutine_threadsafe(ends.wait(), loop).result()

    world.folder.save = hang
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: len(world.sent) == 1)
        assert "the disk does not answer" in world.lines[0]
        ends.set()


async def test_a_stop_waits_for_an_attempt_that_ends_soon_and_repeats_the_other():
    async def send(to, _message):
        await asyncio.sleep(0.05 if to.name == "soon" else 3_600)
        return ACKNOWLEDGED

    world = World(receiver("soon"), receiver("later"), send=send)
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: len(world.sent) == 2)
    states = world.folder.last.receivers
    assert (states["soon"].acknowledged, states["soon"].sending) == (1, None)
    unsent = states["later"].sending.message
    world.outbox, world.sent = world.folder.last, []
    world.make()
    async with world.service:
        await world.until(lambda: world.sent)
    assert world.sent == [("later", unsent)]


async def test_too_many_incidents_are_announced(monkeypatch):
    monkeypatch.setattr("namekeeper.notifications.tracking.INCIDENTS_LIMIT", 1)
    world = World()
    async with world.service:
        await world.see(found("a", START - 60_000), found("b", START - 120_000))
        await world.see(found("a", START - 60_000), found("b", START - 120_000))
    assert world.lines[0] == "too many incidents: nothing is sent of 1 of them"
    assert len([line for line in world.lines if "too many" in line]) == 1


async def test_a_message_that_is_given_up_is_announced():
    async def send(_to, _message):
        world.clock.now_ms += 90_000_000
        return FAILED

    world = World(send=send)
    async with world.service:
        await world.see(found(from_ts=START - 60_000))
        await world.until(lambda: world.lines)
    assert world.lines == ["ops: given up: [warning] broker-a away: HTTP 500"]
