"""Several name servers at once, also behind a name in the DNS; one bug ends one observer for a moment."""

import asyncio
from contextlib import asynccontextmanager
from random import Random

import pytest

from namekeeper.observe import observers as module
from namekeeper.observe.config import ObservedCluster, Observing
from namekeeper.observe.observer import ObserverState
from namekeeper.observe.observers import DISCOVER_SECONDS, DISCOVERED_LIMIT, Observers
from namekeeper.remoting.address import Address
from tests.support.system.loops import virtual_time
from tests.unit.observe.simulated import LoopClock, MemoryJournal, SimulatedNetwork

pytestmark = virtual_time


@pytest.fixture
def periods(monkeypatch):
    made = {}

    def journal(settings, writer, port, take_snapshot, now):
        return MemoryJournal(made.setdefault(writer.namesrv, []), settings.restart, take_snapshot, now)

    monkeypatch.setattr(module, "ObservedJournal", journal)
    return made


class Several:
    """Observers of name servers in memory; the addresses behind the name `ns` can be set."""

    def __init__(self, *addresses, discover=()):
        cluster = ObservedCluster("c", tuple(Address(host, 9876) for host in addresses), discover)
        self.networks = []
        self.hosts = []
        self.fails = 0
        self.changes, self.removed = [], []
        self.observers = Observers(
            Observing("j", (cluster,)), self.open, clock=LoopClock(),
            on_change=lambda id_, status: self.changes.append((id_, status.state)), resolve=self.resolve,
            on_removed=self.removed.append,
        )  # fmt: skip

    @asynccontextmanager
    async def open(self, cluster):
        if self.fails:
            self.fails -= 1
            raise ValueError("a bug")
        network = SimulatedNetwork(Random(1))
        self.networks.append(network)
        yield network

    async def resolve(self, host):
        if isinstance(self.hosts, OSError):
            raise self.hosts
        return self.hosts

    async def __aenter__(self):
        self.task = asyncio.create_task(self.observers.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def states(self):
        return {id_: status.state for id_, status in self.observers.status().items()}


async def test_each_name_server_has_an_observer_and_a_journal(periods):
    async with Several("a", "b") as several:
        await asyncio.sleep(5)
        assert several.states() == dict.fromkeys(("c.a_9876", "c.b_9876"), ObserverState.OBSERVED)
        assert set(periods) == {"c.a_9876", "c.b_9876"}
    assert all(period.ended for some in periods.values() for period in some)
    assert ("c.a_9876", ObserverState.OBSERVED) in several.changes


async def test_one_that_cannot_be_reached_does_not_hold_up_the_others(periods):
    async with Several("a", "b") as several:
        await asyncio.sleep(0.001)
        several.networks[0].is_reachable = False
        await asyncio.sleep(30)
        assert list(several.states().values()) == [ObserverState.NOT_OBSERVED, ObserverState.OBSERVED]


async def test_name_servers_come_and_go_behind_a_name(periods):
    several = Several(discover=(Address("ns", 9876),))
    several.hosts = ["10.0.0.1", "10.0.0.2"]
    async with several:
        await asyncio.sleep(5)
        assert set(several.states()) == {"c.10.0.0.1_9876", "c.10.0.0.2_9876"}
        several.hosts = ["10.0.0.2", "10.0.0.3"]
        await asyncio.sleep(2 * DISCOVER_SECONDS)
        assert set(several.states()) == {f"c.10.0.0.{n}_9876" for n in (1, 2, 3)}, "it still answers"
        several.networks[0].is_reachable = False
        await asyncio.sleep(3 * DISCOVER_SECONDS)
        assert set(several.states()) == {f"c.10.0.0.{n}_9876" for n in (2, 3)}


async def test_one_that_is_gone_from_the_name_and_answers_is_observed_for_a_while(periods, monkeypatch):
    monkeypatch.setattr(module, "DEPARTED_MS", 5_000 * DISCOVER_SECONDS)
    several = Several(discover=(Address("ns", 9876),))
    several.hosts = ["10.0.0.1", "10.0.0.2"]
    async with several:
        await asyncio.sleep(5)
        several.hosts = ["10.0.0.2"]
        await asyncio.sleep(4 * DISCOVER_SECONDS)
        several.hosts = ["10.0.0.1", "10.0.0.2"]
        await asyncio.sleep(2 * DISCOVER_SECONDS)
        several.hosts = ["10.0.0.2"]
        await asyncio.sleep(4 * DISCOVER_SECONDS)
        assert set(several.states()) == {"c.10.0.0.1_9876", "c.10.0.0.2_9876"}, "it was back in between"
        assert len(periods["c.10.0.0.1_9876"]) == 1
        await asyncio.sleep(3 * DISCOVER_SECONDS)
        assert set(several.states()) == {"c.10.0.0.2_9876"}
        assert periods["c.10.0.0.1_9876"][0].ended


async def test_a_name_server_counts_as_gone_only_once_its_name_was_resolved(periods, monkeypatch):
    wanted = []
    monkeypatch.setattr(module, "REMOVE_SECONDS", DISCOVER_SECONDS)
    monkeypatch.setattr(
        module, "DepartedJournals", lambda *settings: wanted.append(settings[2]) or Departed()
    )
    several = Several("10.0.0.9", discover=(Address("ns", 9876),))
    several.hosts = OSError(-2, "no such name")
    (is_wanted,) = wanted
    ids = ("c.10.0.0.1_9876", "c.10.0.0.2_9876", "c.10.0.0.9_9876", "d.10.0.0.1_9876")
    assert [*filter(is_wanted, ids)] == [ids[2]], "nobody was asked yet, and those of the list never go"
    async with several:
        await asyncio.sleep(1)
        assert [*filter(is_wanted, ids)] == [*ids[:3]]
        several.hosts = ["10.0.0.1"]
        await asyncio.sleep(2 * DISCOVER_SECONDS)
        several.hosts = OSError(-2, "no such name")
        await asyncio.sleep(2 * DISCOVER_SECONDS)
        assert [*filter(is_wanted, ids)] == [ids[0], ids[2]], "what was known stays known"


class Departed:
    """Departed journals, of which each look finds one; the first one is a bug."""

    def __init__(self):
        self.looks = 0

    def remove_old(self):
        self.looks += 1
        if self.looks == 1:
            raise ValueError("a bug")
        return [f"gone-{self.looks}"]


async def test_a_bug_in_the_removal_of_journals_ends_nothing(periods, monkeypatch, caplog):
    monkeypatch.setattr(module, "REMOVE_SECONDS", 1.0)
    monkeypatch.setattr(module, "DepartedJournals", lambda *_: Departed())
    async with Several("a") as several:
        await asyncio.sleep(5)
        assert several.states() == {"c.a_9876": ObserverState.OBSERVED}
    assert "a bug in the removal of old journals" in caplog.text
    assert several.removed[:2] == ["gone-2", "gone-3"]


async def test_a_name_that_is_not_known_is_said_and_ends_nothing(periods):
    several = Several(discover=(Address("ns", 9876),))
    several.hosts = ["10.0.0.1"]
    async with several:
        await asyncio.sleep(5)
        several.hosts = OSError(-2, "no such name")
        await asyncio.sleep(2 * DISCOVER_SECONDS)
        assert several.observers.undiscovered == {"ns": "ns: no such name"}
        assert several.states() == {"c.10.0.0.1_9876": ObserverState.OBSERVED}
        several.hosts = ["10.0.0.1"]
        await asyncio.sleep(2 * DISCOVER_SECONDS)
        assert several.observers.undiscovered == {}


async def test_a_name_may_have_a_limited_number_of_addresses(periods):
    several = Several(discover=(Address("ns", 9876),))
    several.hosts = [f"10.0.{n}.1" for n in range(DISCOVERED_LIMIT + 20)]
    async with several:
        await asyncio.sleep(5)
        assert len(several.states()) == DISCOVERED_LIMIT


async def test_a_name_whose_addresses_change_has_no_more_than_the_limit(periods, monkeypatch):
    limit = 8
    monkeypatch.setattr("namekeeper.observe.observers.DISCOVERED_LIMIT", limit)
    several = Several(discover=(Address("ns", 9876),))
    async with several:
        for turn in range(3):
            several.hosts = [f"10.{turn}.{n}.1" for n in range(limit)]
            await asyncio.sleep(DISCOVER_SECONDS)
            assert len(several.states()) == limit
        for network in several.networks:
            network.is_reachable = False
        await asyncio.sleep(3 * DISCOVER_SECONDS)
        assert set(several.states()) == {f"c.{host}_9876" for host in several.hosts}, "they make room"


async def test_a_bug_in_one_observer_is_logged_and_ends_none(periods, caplog):
    several = Several("a", "b")
    several.fails = 1
    async with several:
        await asyncio.sleep(30)
        assert list(several.states().values()) == [ObserverState.OBSERVED] * 2
    assert "a bug in the observer of c.a_9876" in caplog.text
