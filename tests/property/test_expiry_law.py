"""The law of expiry: when a broker was heard last and its timeout say when it goes, whatever the server did meanwhile.

The real recorder, writer, folder and restore, over stops, deaths and reboots, on a clock of their own.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings

from namekeeper.app.restoring import Restoring
from namekeeper.config.runtime import RuntimeConfig
from namekeeper.config.settings import NamesrvSettings
from namekeeper.journal.disk.writer import Writer
from namekeeper.journal.journal import Journal
from namekeeper.journal.recording.snapshot import take_snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.journal.settings import JournalSettings, WriterSettings
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.now import Now
from namekeeper.processor.state import NameServerState
from namekeeper.route.change import Applied, TableChange
from namekeeper.route.change_queue import ChangeQueue
from namekeeper.route.events import Change
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.property.local_server import LocalServer
from tests.property.test_journal_law import LAW, chances
from tests.support.java_model.values import Request

PORT = 9876
FIRST_WALL_MS = 1_700_000_000_000
DEATH_MS = 2_100
"""A death forgets at most so much of what a broker sent: the file beside the records is written each second, of what
was noted a second ago at most."""
FEWER = settings(LAW, max_examples=max(10, LAW.max_examples // 4))


class SteppedJournal(Journal):
    """One without a thread: the test has its writer work."""

    machine = ""

    def start(self, writer: WriterSettings, port: int) -> None:
        self._port = port
        self._machine = self.machine
        self._writer = Writer(writer, self._backlog)

    def work(self, now: Now) -> None:
        for _ in range(2):  # what the first one asks for is done by the second
            self.tick()
            assert self._writer is not None
            self._writer.step(now)

    def stop(self, now: Now) -> None:
        self.end()
        assert self._writer is not None
        if self._heard_at_end is not None:
            self._writer.note_heard(self._heard_at_end)
        self._writer.close(now)


class ServerHistory:
    """A name server over its boots, and beside it in which time each broker must expire."""

    def __init__(self, folder: Path) -> None:
        self.wall_ms, self.mono_ms = FIRST_WALL_MS, 5_000
        self.folder, self.deaths = folder / "0", 0
        self.brokers = [
            Broker(
                "c",
                f"b{index}",
                0,
                f"a{index}:1",
                conn=index + 1,
                topics={"T": TopicConfig(), "U": TopicConfig()},
                **more,
            )
            for index, more in enumerate(
                ({}, {}, {"form": "json5", "timeout": "10000"}, {"form": "json5", "timeout": "45000"})
            )
        ]
        self.heard: dict[str, int] = {}
        """Address -> when it was heard last, on a clock that nothing touches."""
        self.known: dict[str, list[int]] = {}
        """The same, all times of which the server knows: a death forgets the last ones, perhaps."""
        self.true_ms = 0
        self.machine = 0
        self.start()

    def now(self) -> Now:
        return Now(self.wall_ms, self.mono_ms)

    # The server.

    def start(self) -> None:
        self.started_ms = self.true_ms
        folder = str(self.folder)
        values = NamesrvSettings(journal_path=folder, listen_port=PORT, journal_namesrv_id="ns")
        self.server = LocalServer(changed=self._record)
        self.server.state = NameServerState(RuntimeConfig.start(values, {}), KvConfigStore())
        self.server.queue = ChangeQueue(self.server.state.tables)
        self.server.channels.clear()
        self.journal = SteppedJournal(
            JournalSettings(server_version="0", scan_interval_ms=5_000), self._source(), clock=self
        )
        self.journal.machine = str(self.machine)
        restoring = Restoring(
            self.server.state, self._submit, clock=self, expired=self.journal.recorder.alive
        )
        with mock.patch("namekeeper.app.restoring.machine_boot", return_value=self.journal.machine):
            asyncio.run(restoring.read())
        self.journal.recorder.begin()
        restoring.restore()
        # Who comes back was silent for 1 ms at least: 0 says that it is not known.
        self.known = {addr: [min(at, self.true_ms - 1) for at in times] for addr, times in self.known.items()}
        self.journal.start(WriterSettings(folder=folder, namesrv="ns", is_configured=True), PORT)
        self.work()

    def _record(self, change: Change) -> None:
        self.journal.recorder.record(change)

    def _source(self) -> Source:
        state = self.server.state
        return Source(
            lambda: take_snapshot(state.tables, state.kv_config, state.config.values(), now=self.now()),
            lambda: 0,
            dict,
            lambda: [(e.cluster_name, e.broker_addr, e.heard_at_ms) for e in state.tables.broker_live_table],
        )

    def _submit(self, change: TableChange[Any]) -> None:
        def finish(made: TableChange[Any], applied: Applied[Any] | Exception) -> None:
            assert isinstance(applied, Applied)
            self._record(Change(made.cause, made.remote_addr, applied.events))

        self.server.queue.submit(change, finish, now=self.now())

    def work(self) -> None:
        self.journal.work(self.now())

    def passed(self, ms: int) -> None:
        """Time passes, second by second: the server works."""
        while ms > 0:
            step = min(ms, 1_000)
            self._time(step)
            self.work()
            ms -= step

    def _time(self, ms: int) -> None:
        self.wall_ms, self.mono_ms, self.true_ms = self.wall_ms + ms, self.mono_ms + ms, self.true_ms + ms

    def stop(self) -> None:
        self.journal.stop(self.now())

    def die(self) -> None:
        """What is on the disk stays; the lock goes with the process."""
        self.deaths += 1
        copied = self.folder.with_name(str(self.deaths))
        shutil.copytree(self.folder, copied)
        self.folder = copied
        for addr, times in self.known.items():
            older = [at for at in times if at <= self.true_ms - DEATH_MS]
            self.known[addr] = older[-1:] or times[:1]

    def away(self, ms: int, *, reboots: bool, jump_ms: int = 0) -> None:
        """The server is down for so long, while somebody may set the clock; the machine may be booted."""
        self._time(ms)
        self.wall_ms += jump_ms
        forward_ms = max(0, jump_ms)  # taken for a time in which the machine slept
        self.known = {addr: [at - forward_ms for at in times] for addr, times in self.known.items()}
        if reboots:
            self.mono_ms = ms % 50_000
            self.machine += 1

    # Brokers.

    def hear(self, broker: Broker, code: int) -> None:
        request = registration(broker) if code == 103 else Request(code, broker.fields(), b"{}")
        is_live = ("c", broker.addr) in {live.key for live in self.server.state.tables.broker_live_table}
        self.server.ask(request, broker.conn, self.mono_ms)
        self.work()  # a death forgets who registered in the last 20 ms
        if is_live or code == 103:
            before = self.known[broker.addr] if is_live else []
            self.known[broker.addr] = [*before, self.true_ms]
            self.heard[broker.addr] = self.true_ms

    # The law.

    def scan(self) -> None:
        self.server.scan(self.mono_ms)
        self.check_expiry()

    def check_expiry(self) -> None:
        live = {each.broker_addr for each in self.server.state.tables.broker_live_table}
        for broker in self.brokers:
            if broker.addr not in self.heard:
                continue
            timeout = int(broker.timeout or 120_000)
            if broker.addr in live:
                assert self.true_ms - self.heard[broker.addr] <= timeout, f"{broker.addr} should have expired"
            else:
                assert self.true_ms - self.known[broker.addr][-1] > timeout, (
                    f"{broker.addr} expired too early"
                )
                del self.heard[broker.addr], self.known[broker.addr]


def check_history(server: ServerHistory, chance: Random, happenings: int) -> int:
    """Check expiry over random happenings; returns how many brokers were there at the starts."""
    restored = 0

    def restart() -> None:
        nonlocal restored
        server.scan()
        chance.choice((server.stop, server.die))()
        reboots = chance.random() < 0.5
        # In its first seconds a boot has not written down on which monotonic clock it runs.
        is_young = server.true_ms - server.started_ms < DEATH_MS
        jump_ms = 0 if reboots or is_young else chance.choice((0, 0, -100_000, -4_000, 20_000))
        server.away(
            chance.choice((0, 1, 999, 5_000, 9_000, 44_000, 119_000)), reboots=reboots, jump_ms=jump_ms
        )
        server.start()
        server.check_expiry()
        restored += len(server.server.state.tables.broker_live_table)

    def hear() -> None:
        server.hear(chance.choice(server.brokers), chance.choice((103, 103, 904)))

    def pass_time() -> None:
        server.passed(chance.choice((1, 400, 3_000, 9_999, 10_001, 61_000)))

    def set_clock() -> None:
        server.wall_ms += chance.choice((-30_000, -5_000, 50_000))
        server.passed(1_000)  # then it is recorded

    choices: tuple[Callable[[], None], ...] = (
        hear,
        hear,
        hear,
        pass_time,
        pass_time,
        server.scan,
        restart,
        set_clock,
    )
    for _ in range(happenings):
        chance.choice(choices)()
    server.scan()
    return restored


@given(chances)
@FEWER
def test_a_broker_expires_when_it_would_have_for_every_order_of_stop_death_and_start(
    tmp_path_factory: pytest.TempPathFactory, chance: Random
):
    folder = tmp_path_factory.mktemp("journal")
    check_history(ServerHistory(folder), chance, 40)
    shutil.rmtree(folder, ignore_errors=True)


def test_a_clock_that_is_set_back_over_boots_without_a_change_brings_nobody_back(tmp_path: Path):
    """Such a boot restored nothing because its clock was in doubt; the next one skips it."""
    for seed in (1928, 194567078120576):
        check_history(ServerHistory(tmp_path / str(seed)), Random(seed), 40)


def test_the_law_is_not_empty(tmp_path: Path):
    assert sum(check_history(ServerHistory(tmp_path / str(seed)), Random(seed), 60) for seed in range(4)) > 30


@pytest.mark.parametrize("ends", ["stop", "die"])
@pytest.mark.parametrize("timeout_at", [2, 0])
@pytest.mark.parametrize("reboots", [False, True])
def test_to_the_second(tmp_path: Path, ends: str, timeout_at: int, reboots: bool):
    """One ms before its time it is there, also after three restarts; at its time it is not."""
    server = ServerHistory(tmp_path)
    broker = server.brokers[timeout_at]
    timeout = int(broker.timeout or 120_000)
    server.passed(7_300)
    server.hear(broker, 103)
    server.passed(2_000)
    server.hear(broker, 904)
    slack = 0
    for _ in range(3):
        server.passed(1_000)
        getattr(server, ends)()
        server.away(500, reboots=reboots)
        server.start()
        server.check_expiry()
        slack += DEATH_MS if ends == "die" else 0
    left = timeout - 3 * 1_500
    server.passed(left - slack)
    server.scan()
    assert broker.addr in server.heard
    server.passed(slack + 1)
    server.scan()
    assert broker.addr not in server.heard
