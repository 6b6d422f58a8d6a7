"""A server starts with the routes that its journal ends with, or says why it does not."""

import asyncio
import json
import logging
import shutil
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from namekeeper.app.name_server import NameServer
from namekeeper.app.restoring import Restoring
from namekeeper.clock import machine_boot
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.disk.missing_file import MISSING_FILE, load_missing
from namekeeper.journal.journal import Journal
from namekeeper.journal.reading import last_state
from namekeeper.journal.reading.last_state import PassedBoot, read_last_state
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.now import Now
from namekeeper.processor.state import NameServerState
from namekeeper.route.change import TableChange
from namekeeper.route.events import Cause
from namekeeper.wire.codec import encode_command
from tests.differential.bodies import Broker, TopicConfig
from tests.differential.bodies import registration as registration_of
from tests.property.journalled import JournalledServer
from tests.support.journal.folder import write_journal
from tests.support.server.builders import header
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually
from tests.support.wire.peer import connect
from tests.unit.app.parts import FakeClock, frame, name_server, registration, startup
from tests.unit.journal.disk_parts import records_in

LOCAL = "127.0.0.1"
MINUTE_MS = 60_000
WITHIN_SECONDS = 20 * PATIENCE


class Clock(FakeClock):
    """One whose two parts may step apart."""

    def step(self, wall_ms: int, mono_ms: int = 0) -> None:
        self._now = Now(self._now.wall_ms + wall_ms, self._now.mono_ms + mono_ms)


@asynccontextmanager
async def boot(folder: Path, clock: FakeClock, **flags: str) -> AsyncIterator[NameServer]:
    """A boot of the name server of a folder."""
    flags = {"journal_path": str(folder / "journal"), "journal_namesrv_id": "ns-1", **flags}
    async with name_server(folder, clock=clock, **flags) as server:
        yield server


async def ask(server: NameServer, *frames: bytes):
    async with connect(f"{LOCAL}:{server.port}") as peer:
        await peer.send(b"".join(frames))
        return [await peer.answer() for _ in frames]


@asynccontextmanager
async def registered(server: NameServer) -> AsyncIterator[None]:
    """A broker that stays connected."""
    async with connect(f"{LOCAL}:{server.port}") as peer:
        await peer.send(encode_command(registration()))
        assert (await peer.answer()).code == 0
        yield


async def lived(folder: Path, clock: FakeClock, *, silent_s: float = 0, **flags: str) -> None:
    """A boot with a broker, which was last heard so long before the stop."""
    async with boot(folder, clock, **flags) as server, registered(server):
        clock.advance(silent_s)
        await server.stop()


@both_loops
async def test_routes_are_back_before_the_first_request(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock)
    clock.advance(20)
    async with boot(tmp_path, clock) as server:
        (answer,) = await ask(server, frame(105, topic="T1"))
        assert answer.code == 0
        assert server.state.restored.startswith("restored 1 broker and 2 topics of boot ")
        assert server.state.restored.endswith(", which stopped 20 s ago")


@both_loops
async def test_the_journal_names_restored_rows_by_their_cause(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock, silent_s=3)
    clock.advance(20)
    async with boot(tmp_path, clock) as server:
        boot_number = clock.now().wall_ms
        await server.stop()
    records = [
        r for r in await asyncio.to_thread(records_in, tmp_path / "journal") if r["boot"] == boot_number
    ]
    restored = [record for record in records if record.get("cause") == "restored"]
    assert [record["kind"] for record in restored] == [
        "cluster",
        "broker_group",
        "broker_live",
        "topic_queues",
    ]
    assert len({record["change"] for record in restored}) == 1
    (live,) = [record for record in restored if record["kind"] == "broker_live"]
    assert (live["idle_ms"], live["gen"], live["new"], "channel" in live) == (23_000, 1, True, False)
    assert [record for record in records if record["kind"] == "broker_minute"] == []  # nobody was heard


async def killed(folder: Path, clock: FakeClock) -> None:
    """A boot in which a broker dies; 2 topics go with it."""
    async with boot(folder, clock) as server:
        async with registered(server):
            pass
        await eventually(lambda: server.state.missing.brokers)
        await server.stop()


async def missing_in(server: NameServer) -> tuple[list[str], int]:
    await server.housekeeping.count_missing()
    return [each.broker_addr for each in server.state.missing.brokers], server.state.missing.topics


@both_loops
async def test_what_was_missing_before_a_restart_is_missing_after_it(tmp_path):
    clock = FakeClock()
    await killed(tmp_path, clock)
    for _ in range(2):
        async with boot(tmp_path, clock) as server:
            assert await missing_in(server) == (["10.0.0.1:10911"], 2)
            await server.stop()


@both_loops
async def test_after_a_crash_the_records_say_what_is_missing(tmp_path):
    """The file beside the records is written a moment later than they are."""
    clock = FakeClock()
    await killed(tmp_path, clock)
    (tmp_path / "journal" / MISSING_FILE).unlink()
    async with boot(tmp_path, clock) as server:
        assert await missing_in(server) == (["10.0.0.1:10911"], 2)


@both_loops
async def test_a_missing_broker_that_returned_before_the_restart_is_not_missing_after_it(tmp_path):
    clock = FakeClock()
    await killed(tmp_path, clock)
    old = (tmp_path / "journal" / MISSING_FILE).read_bytes()
    await lived(tmp_path, clock)
    (tmp_path / "journal" / MISSING_FILE).write_bytes(old)  # as a crash leaves it
    async with boot(tmp_path, clock) as server:
        assert await missing_in(server) == ([], 0)


@both_loops
async def test_brokers_that_expired_while_the_server_was_away_are_missing(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock)
    clock.advance(3_600)
    async with boot(tmp_path, clock) as server:
        assert server.state.restored.startswith("nothing is restored: every broker has expired")
        assert await missing_in(server) == (["10.0.0.1:10911"], 2)


@both_loops
async def test_a_missing_broker_that_is_unregistered_is_not_missing_after_a_restart(tmp_path):
    clock = FakeClock()
    await killed(tmp_path, clock)
    async with boot(tmp_path, clock) as server:
        fields = {"brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "DefaultCluster"}
        await ask(server, frame(104, **fields, brokerId="0"))
        assert await missing_in(server) == ([], 0)
        await server.stop()
    records = await asyncio.to_thread(records_in, tmp_path / "journal")
    assert [r["kind"] for r in records if r.get("cause") == "unregister_broker"] == ["broker_live"]
    async with boot(tmp_path, clock) as server:
        assert await missing_in(server) == ([], 0)


@both_loops
@pytest.mark.parametrize(("seconds", "left"), [(3_600, []), (86_400, ["10.0.0.1:10911"])])
async def test_what_is_missing_is_forgotten_after_the_time_of_the_setting(tmp_path, seconds, left):
    clock = FakeClock()
    await killed(tmp_path, clock)
    clock.advance(3_601)
    async with boot(tmp_path, clock, missing_within_seconds=str(seconds)) as server:
        assert (await missing_in(server))[0] == left


class TickingClock(FakeClock):
    """A millisecond passes with each look at it: all work takes time."""

    def now(self) -> Now:
        self.advance(0.001)
        return super().now()


@both_loops
async def test_no_record_says_that_routes_were_gone_while_the_port_was_closed(tmp_path, monkeypatch):
    """To read the journal takes up to seconds, in which nobody could ask: `why` told of a route that was gone."""
    clock = TickingClock()
    await lived(tmp_path, clock)
    stopped = clock.now().wall_ms

    def read_slowly(folder: str, **_: object):
        clock.advance(3)
        return read_last_state(folder)

    monkeypatch.setattr(last_state, "read_last_state", read_slowly)
    async with boot(tmp_path, clock) as server:
        await server.stop()
    records = await asyncio.to_thread(records_in, tmp_path / "journal")
    began = [record["ts"] for record in records if record["kind"] == "server_started"][-1]
    assert {record["ts"] for record in records if record.get("cause") == "restored"} == {began}
    assert began > stopped + 3_000


@both_loops
@pytest.mark.parametrize(("silent_s", "away_s"), [(0, 119), (60, 59), (119, 0), (30, 30)])
async def test_a_broker_expires_when_it_would_have(tmp_path, silent_s, away_s):
    """For every order of its silence, the stop and the start: 120 s after it was heard, to the millisecond."""
    clock = FakeClock()
    await lived(tmp_path, clock, silent_s=silent_s)
    clock.advance(away_s)
    async with boot(tmp_path, clock) as server:
        clock.advance(120 - silent_s - away_s)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 1
        clock.advance(0.001)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0


@both_loops
async def test_it_expires_when_it_would_have_after_many_restarts(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock, silent_s=10)
    for _ in range(3):
        clock.advance(20)
        async with boot(tmp_path, clock) as server:
            clock.advance(10)
    async with boot(tmp_path, clock) as server:
        clock.advance(20)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 1
        clock.advance(0.001)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0


@both_loops
async def test_a_broker_that_was_due_meanwhile_is_gone_before_the_first_request(tmp_path):
    clock = FakeClock()
    async with boot(tmp_path, clock) as server, registered(server):
        clock.advance(70)
        other = registration(("T2", "T3"), broker_name="broker-b", broker_addr="10.0.0.9:10911")
        async with connect(f"{LOCAL}:{server.port}") as peer:
            await peer.send(encode_command(other))
            assert (await peer.answer()).code == 0
            await server.stop()
    clock.advance(60)
    async with boot(tmp_path, clock) as server:
        answers = await ask(server, frame(105, topic="T1"), frame(105, topic="T3", opaque=2))
        assert [answer.code for answer in answers] == [17, 0]
        assert server.state.restored.endswith("ago, 1 had expired")
        await server.stop()
    records = await asyncio.to_thread(records_in, tmp_path / "journal")
    assert [record["idle_ms"] for record in records if record.get("reason") == "expired"] == [130_000]


@both_loops
async def test_after_a_stop_longer_than_every_timeout_nothing_is_left(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock)
    clock.advance(120.001)
    async with boot(tmp_path, clock) as server:
        assert server.state.restored == (
            "nothing is restored: every broker has expired: the last record was written 2 min ago"
        )
        assert len(server.state.tables.broker_live_table) == 0
        await server.stop()
    records = await asyncio.to_thread(records_in, tmp_path / "journal")
    assert [record for record in records if record.get("cause") == "restored"] == []


def reboot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the machine."""
    monkeypatch.setattr("namekeeper.app.restoring.machine_boot", lambda: "another")


@both_loops
@pytest.mark.parametrize("mono_ms", [-900_000, 3_600_000])
async def test_after_a_reboot_the_wall_clock_decides(tmp_path, monkeypatch, mono_ms):
    """The monotonic clock begins anew with the machine."""
    clock = Clock()
    await lived(tmp_path, clock)
    clock.step(40_000, mono_ms)
    reboot(monkeypatch)
    async with boot(tmp_path, clock) as server:
        clock.advance(80)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 1
        clock.advance(0.001)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0


@both_loops
async def test_a_clock_that_jumped_back_over_a_reboot_restores_nothing(tmp_path, monkeypatch):
    """How long the server was away is not known, and a dead broker must not be served."""
    clock = Clock()
    await lived(tmp_path, clock)
    clock.step(-MINUTE_MS)
    reboot(monkeypatch)
    async with boot(tmp_path, clock) as server:
        assert "the clock is 1 min before the last record of the journal" in server.state.restored


def passing_over(monkeypatch: pytest.MonkeyPatch, *boots: PassedBoot) -> None:
    """The journal ends with these boots, which crashed before they had recorded a change."""
    read = last_state.read_last_state
    monkeypatch.setattr(
        last_state, "read_last_state", lambda folder, **_: structs.replace(read(folder), passed=boots)
    )


@pytest.fixture
def writes_after_the_stop(monkeypatch):
    """The journal's thread begins to work when the server has already stopped."""
    is_ending, end = threading.Event(), Journal.end

    def delayed_boot() -> str:
        is_ending.wait()
        return machine_boot()

    def ended(journal: Journal, **how: bool) -> None:
        end(journal, **how)
        is_ending.set()

    monkeypatch.setattr("namekeeper.journal.journal.machine_boot", delayed_boot)
    monkeypatch.setattr(Journal, "end", ended)


@both_loops
@pytest.mark.usefixtures("writes_after_the_stop")
async def test_a_stop_right_after_the_start_saves_what_is_missing(tmp_path):
    await killed(tmp_path, Clock())
    found = load_missing(str(tmp_path / "journal"))
    assert [each.broker_addr for each in found.brokers] == ["10.0.0.1:10911"]


@both_loops
@pytest.mark.usefixtures("writes_after_the_stop")
async def test_a_stop_right_after_the_start_notes_the_run_of_the_machine(tmp_path):
    clock = Clock()
    await lived(tmp_path, clock)
    clock.step(-20_000, 130_000)
    async with boot(tmp_path, clock) as server:
        assert "every broker has expired" in server.state.restored


@both_loops
async def test_a_start_that_found_every_broker_expired_counts_for_the_next_one(tmp_path, monkeypatch):
    """Its monotonic clock knew the time; after the reboot only a clock that was set back is left."""
    clock = Clock()
    await lived(tmp_path, clock)
    clock.step(-20_000, 130_000)
    async with boot(tmp_path, clock) as server:
        assert "every broker has expired" in server.state.restored
        async with asyncio.timeout(WITHIN_SECONDS):
            while not await asyncio.to_thread(  # noqa: ASYNC110 - the disk tells nobody
                _is_recorded, tmp_path / "journal"
            ):
                await asyncio.sleep(0.01)
        await asyncio.to_thread(shutil.copytree, tmp_path / "journal", tmp_path / "crashed")
    reboot(monkeypatch)
    clock.step(40_000)
    async with boot(tmp_path, clock, journal_path=str(tmp_path / "crashed")) as server:
        assert "nothing is restored" in server.state.restored


def _is_recorded(folder: Path) -> bool:
    return any(record["kind"] == "server_alive" for record in records_in(folder))


@both_loops
async def test_the_time_of_boots_that_are_passed_over_counts(tmp_path, monkeypatch):
    """The clock was wrong in them, and is right again: by the wall clock alone only 20 s have passed."""
    clock = Clock()
    await lived(tmp_path, clock)
    stopped_ts = clock.now().wall_ms
    clock.step(20_000)
    reboot(monkeypatch)
    passing_over(monkeypatch, PassedBoot(stopped_ts + 40_000, stopped_ts + 10_000, 30_000))
    async with boot(tmp_path, clock) as server:
        assert server.state.restored.endswith("which stopped 1 min 20 s ago")
        clock.advance(40.001)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0


@both_loops
async def test_a_boot_that_began_before_the_last_record_leaves_it_unknown_how_long_it_was(
    tmp_path, monkeypatch
):
    """It restored nothing because of its clock; that the clock is right again says nothing of the time meanwhile."""
    clock = Clock()
    await lived(tmp_path, clock)
    stopped_ts = clock.now().wall_ms
    clock.step(20_000)
    reboot(monkeypatch)
    passing_over(monkeypatch, PassedBoot(stopped_ts - 15_000, stopped_ts - 14_000, 1_000))
    async with boot(tmp_path, clock) as server:
        assert "the clock is 15 s before the last record of the journal" in server.state.restored


@both_loops
@pytest.mark.parametrize("jump_ms", [-3 * MINUTE_MS, -30_000])
async def test_without_a_reboot_a_clock_that_jumped_back_changes_nothing(tmp_path, jump_ms):
    """The monotonic clock went on: by the wall clock alone a dead broker would be served for longer."""
    clock = Clock()
    await lived(tmp_path, clock, silent_s=10)
    clock.step(jump_ms + 50_000, 50_000)
    async with boot(tmp_path, clock) as server:
        clock.advance(60)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 1
        clock.advance(0.001)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0


@both_loops
async def test_a_clock_that_jumped_forward_expires_early(tmp_path):
    clock = Clock()
    await lived(tmp_path, clock)
    clock.step(MINUTE_MS)
    async with boot(tmp_path, clock) as server:
        clock.advance(60.001)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0


@both_loops
async def test_a_broker_expires_if_the_records_do_not_say_when_it_was_heard(tmp_path, monkeypatch):
    """As in the checkpoint of an older version."""
    clock = FakeClock()
    await lived(tmp_path, clock)
    read = last_state.read_last_state
    monkeypatch.setattr(
        last_state, "read_last_state", lambda folder, **_: structs.replace(read(folder), idle_ms={})
    )
    async with boot(tmp_path, clock) as server:
        assert "every broker has expired" in server.state.restored


@both_loops
async def test_a_small_step_back_is_usual(tmp_path, monkeypatch):
    clock = Clock()
    await lived(tmp_path, clock)
    clock.step(-900)
    reboot(monkeypatch)
    async with boot(tmp_path, clock) as server:
        assert len(server.state.tables.broker_live_table) == 1


@both_loops
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"restore_routes": "false"}, "restoreRoutes is off"),
        ({"journal_enable": "false"}, "there is no journal, as journalEnable is off"),
        ({"journal_path": ""}, "the port, and with it the journal's folder, is chosen later"),
        ({"journal_path": "elsewhere"}, "there is no journal yet"),
        (
            {"journal_namesrv_id": "ns-2"},
            "belongs to ns-1, not to ns-2: set journalNamesrvId=ns-1, or journalPath to a folder of its own",
        ),
    ],
)
async def test_why_nothing_is_restored_is_said(tmp_path, monkeypatch, caplog, flags, said):
    clock = FakeClock()
    await lived(tmp_path, clock)
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.INFO):
        async with boot(tmp_path, clock, **flags) as server:
            (answer,) = await ask(server, frame(105, topic="T1"))
            assert answer.code == 17
            assert server.state.restored.startswith("nothing is restored: ")
            assert server.state.restored.endswith(said)
    assert f"routes at the start: {server.state.restored}" in caplog.messages


@both_loops
async def test_a_folder_that_another_process_writes_to_restores_nothing(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock)
    release = await asyncio.to_thread(take_lock, str(tmp_path / "journal"))
    async with boot(tmp_path, clock) as server:
        assert server.state.restored.startswith("nothing is restored: another process writes to ")
    await asyncio.to_thread(release)


@both_loops
async def test_a_journal_that_is_damaged_restores_nothing_and_the_server_starts(tmp_path):
    clock = FakeClock()
    await lived(tmp_path, clock)

    def damage() -> None:
        (segment,) = (tmp_path / "journal").glob("*.gz")
        segment.write_bytes(segment.read_bytes()[:-30])

    await asyncio.to_thread(damage)
    async with boot(tmp_path, clock) as server:
        (answer,) = await ask(server, frame(105, topic="T1"))
        assert answer.code == 17
        assert "records are missing at the end of " in server.state.restored


@both_loops
async def test_a_bug_while_reading_stops_no_start(tmp_path, monkeypatch, caplog):
    clock = FakeClock()
    await lived(tmp_path, clock)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("namekeeper.journal.reading.last_state.read_last_state", broken)
    async with boot(tmp_path, clock) as server:
        assert server.state.restored == "nothing is restored: a bug, see the log: ZeroDivisionError"
    assert "a bug: nothing is restored" in caplog.messages


@both_loops
async def test_a_restored_broker_that_asks_whether_its_version_changed_registers(tmp_path):
    """322 is all that a broker with forceRegister=false sends while nothing has changed."""
    clock = FakeClock()
    await lived(tmp_path, clock)
    head = header()
    fields = {
        "clusterName": head.cluster_name, "brokerAddr": head.broker_addr, "brokerName": head.broker_name,
        "brokerId": "0",
    }  # fmt: skip
    version = json.dumps({"counter": 1, "timestamp": 1_700_000_000_001, "stateVersion": 0}).encode()
    async with boot(tmp_path, clock) as server, connect(f"{LOCAL}:{server.port}") as peer:
        await peer.send(frame(322, version, **fields))
        assert (await peer.answer()).ext_fields["changed"] == "true"
        await peer.send(encode_command(registration()))
        await peer.answer()
        await peer.send(frame(322, version, opaque=3, **fields))
        assert (await peer.answer()).ext_fields["changed"] == "false"


def restoring(
    folder: Path, clock: FakeClock, **flags: str
) -> tuple[Restoring, NameServerState, list[TableChange]]:
    """One without a server; the changes that it has made."""
    started = startup(folder, journal_path=str(folder), **flags)
    state = NameServerState(started.runtime_config, KvConfigStore())
    changes: list[TableChange] = []
    return Restoring(state, changes.append, clock=clock), state, changes


async def test_a_journal_of_a_server_at_another_port_restores_nothing(tmp_path):
    clock, server = FakeClock(), JournalledServer()
    server.ts = clock.now().wall_ms
    broker = Broker("c", "b", 0, "a:1", conn=1, topics={"T1": TopicConfig(), "T2": TopicConfig()})
    server.server.begin(registration_of(broker), 1, 0, lambda answer: None)
    server.server.run_all(0)
    server.stop()
    folder = await asyncio.to_thread(write_journal, tmp_path / "j", server.lines())
    elsewhere, state, changes = restoring(folder, clock, listen_port="9877")
    await elsewhere.read()
    elsewhere.restore()
    assert state.restored.endswith("was written by a name server that listened at port 9876")
    assert changes == []
    same, _, changes = restoring(folder, clock, listen_port="9876")
    await same.read()
    same.restore()
    assert [change.cause for change in changes] == [Cause.RESTORED]
