"""The companion: its parts run together, a part that fails ends none of the others, and its state is told."""

import asyncio
import json
import shutil
from contextlib import asynccontextmanager

import aiohttp
import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from namekeeper.clock import SystemClock
from namekeeper.console import companion as module
from namekeeper.console.companion import Companion, CompanionMessages, PageSettings
from namekeeper.console.histories import Histories
from namekeeper.console.journal_folders import JournalFolders
from namekeeper.console.views import ConsoleViews
from namekeeper.errors import ConfigError
from namekeeper.http.doors import Doors
from namekeeper.notifications import outbox as notifications
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome
from namekeeper.notifications.service import NotificationService
from tests.support.system.waiting import eventually
from tests.unit.answers.story import Story
from tests.unit.console.test_histories import Clock
from tests.unit.notifications.seen import receiver, settings_of


class Beside:
    """A companion over a folder in which journals appear, and the lines that it prints."""

    def __init__(
        self, folder, port: int = 0, *, is_needed: bool = True, may_move: bool = False, token: str = "",
        send=None, label: str = "",
    ) -> None:  # fmt: skip
        self.folder, self.lines, self.reasons, self.label = folder, [], {}, label
        self.write("a_1", is_broken=send is not None)
        self.folders = JournalFolders([str(folder)])
        self.histories = Histories(self.folders.look())
        page = PageSettings(
            host="127.0.0.1", port=port, doors=Doors("127.0.0.1", token=token), address_of="port {}".format,
            is_needed=is_needed, may_move=may_move,
        )  # fmt: skip
        self.companion = Companion(
            self.histories, views=ConsoleViews(self.histories, None, Clock(0)), page=page, folders=self.folders,
            messages=None if send is None else CompanionMessages(self.service(send)),
            reasons=lambda: self.reasons, collect=lambda: [OwnMetric()], announce=self.lines.append,
        )  # fmt: skip

    def service(self, send) -> NotificationService:
        settings = settings_of(receiver(grace_ms=0))
        return NotificationService(
            settings,
            notifications.Outbox(),
            Outbox(),
            send=send,
            clock=SystemClock(),
            announce=self.lines.append,
        )

    def write(self, namesrv: str, *, is_broken: bool = False) -> None:
        story = Story(namesrv, self.label)
        story.registers()
        if is_broken:
            story.later(60_000)
            story.connection_breaks("a0:1")
            story.later(10_000)
            story.alive()
        story.folder(self.folder / namesrv)

    @property
    def names(self) -> list[str]:
        return [each.namesrv for each in self.histories.all]

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        port = next(int(line[5:]) for line in self.lines if line.removeprefix("port ").isdigit())
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}{path}", headers=headers) as answer,
        ):
            return answer.status, await answer.text()


class OwnMetric(Collector):
    def collect(self):
        yield GaugeMetricFamily("told", "A metric of the command.", value=7)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.02)


@asynccontextmanager
async def running(beside: Beside):
    task = asyncio.create_task(beside.companion.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def made(folder, *more, **settings) -> Beside:
    return await asyncio.to_thread(lambda: Beside(folder, *more, **settings))


async def test_a_journal_that_appears_is_shown_without_a_restart(tmp_path):
    beside = await made(tmp_path)
    async with running(beside):
        await eventually(lambda: beside.lines)
        await asyncio.to_thread(beside.write, "b_1")
        await eventually(lambda: beside.names == ["a_1", "b_1"])
        assert '"b_1"' in (await beside.get("/api/overview"))[1]


async def test_a_name_server_that_is_gone_is_not_shown_and_is_no_problem(tmp_path):
    beside = await made(tmp_path)
    await asyncio.to_thread(beside.write, "b_1")
    async with running(beside):
        await eventually(lambda: beside.names == ["a_1", "b_1"])
        await asyncio.to_thread(shutil.rmtree, tmp_path / "b_1")
        await eventually(lambda: beside.names == ["a_1"])
        assert (await beside.get("/readyz?strict=1"))[0] == 200
        assert "b_1" not in (await beside.get("/api/overview"))[1]
        await asyncio.to_thread(beside.write, "b_1")
        await eventually(lambda: beside.names == ["a_1", "b_1"])


async def test_probes_need_no_token_and_metrics_do(tmp_path):
    beside = await made(tmp_path, token="secret")
    async with running(beside):
        await eventually(lambda: beside.lines)
        assert await beside.get("/healthz") == (200, '{"status":"ok"}')
        assert await beside.get("/readyz") == (200, '{"status":"ok","ready":true,"reasons":{}}')
        assert (await beside.get("/metrics"))[0] == 403
        status, text = await beside.get("/metrics", Authorization="Bearer secret")
        assert status == 200
        assert "told 7.0" in text
        assert "namekeeper_drift_unsettled 0.0" in text


async def test_a_problem_is_degraded_and_still_ready(tmp_path):
    beside = await made(tmp_path)
    async with running(beside):
        await eventually(lambda: beside.lines)
        beside.reasons = {"recording": "the disk is full"}
        await asyncio.to_thread((tmp_path / "broken").mkdir)
        await asyncio.to_thread((tmp_path / "broken" / "identity.json").write_text, "{}")
        await eventually(lambda: len(beside.lines) > 1)
        assert "not followed" in beside.lines[1]
        status, text = await beside.get("/readyz")
        assert (status, '"status":"degraded"' in text, "the disk is full" in text) == (200, True, True)
        assert str(tmp_path / "broken") in text
        assert (await beside.get("/readyz?strict=1"))[0] == 503


class Outbox:
    """Keeps nothing."""

    def save(self, _outbox: bytes) -> None:
        raise OSError(28, "No space left on device", "outbox")


async def test_messages_are_sent_of_what_the_same_process_follows(tmp_path):
    sent = []

    async def send(_receiver, message):
        sent.append(message)
        return AttemptOutcome(AttemptEnd.FAILED, "no connection")

    beside = await made(tmp_path, send=send, label="east")
    async with running(beside):
        await eventually(lambda: sent)
        assert [each.facts.subject for each in sent[0].events] == ["b0"]
        degraded = json.loads((await beside.get("/readyz"))[1])["reasons"]
        assert degraded == {"outbox": "No space left on device", "receivers": "ops: no connection"}
        text = (await beside.get("/metrics"))[1]
        assert 'namekeeper_messages_waiting{receiver="ops"} 1.0' in text
        assert 'namekeeper_incidents_open{cluster="east",kind="broker_away"} 1.0' in text


async def test_a_page_that_can_not_listen_ends_the_process_only_if_it_is_needed(tmp_path):
    async with asyncio.timeout(60), await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as taken:
        port = taken.sockets[0].getsockname()[1]
        with pytest.raises(ConfigError, match="can't listen"):
            await (await made(tmp_path, port)).companion.run()
        beside = await made(tmp_path, port, is_needed=False)
        async with running(beside):
            await eventually(lambda: beside.lines)
            assert "no page: can't listen at" in beside.lines[0]
            await asyncio.to_thread(beside.write, "b_1")
            await eventually(lambda: beside.names == ["a_1", "b_1"])


async def test_a_page_at_the_default_port_moves_if_another_process_has_it(tmp_path):
    async with asyncio.timeout(60), await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as taken:
        port = taken.sockets[0].getsockname()[1]
        beside = await made(tmp_path, port, may_move=True)
        async with running(beside):
            await eventually(lambda: len(beside.lines) == 2)
            said, address = beside.lines
            assert said == f"port {port} is taken, so the page is at another one; --port chooses"
            assert address not in (f"port {port}", "port 0")
            assert (await beside.get("/healthz"))[0] == 200


async def test_a_bug_in_one_part_is_logged_and_ends_nothing(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "AFTER_A_BUG_SECONDS", 0.01)
    beside = await made(tmp_path)
    look, bugs = beside.folders.look, [ValueError("a bug")]

    def breaks_once():
        if bugs:
            raise bugs.pop()
        return look()

    beside.folders.look = breaks_once
    async with running(beside):
        await asyncio.to_thread(beside.write, "b_1")
        await eventually(lambda: beside.names == ["a_1", "b_1"])
    assert "a bug in the companion" in caplog.text


class Watched:
    """Access rules of which it is seen that their files are watched."""

    def __init__(self) -> None:
        self.is_watched = asyncio.Event()

    async def watch(self, _) -> None:
        self.is_watched.set()
        await asyncio.Event().wait()


async def test_the_access_rules_of_the_page_are_watched_while_it_is_served():
    histories, rules = Histories([]), Watched()
    page = PageSettings(
        host="127.0.0.1", port=0, doors=Doors("127.0.0.1"), address_of=str, rules=rules
    )  # fmt: skip
    views = ConsoleViews(histories, None, Clock(0))
    task = asyncio.create_task(Companion(histories, views=views, page=page, announce=str).run())
    await eventually(rules.is_watched.is_set)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_without_a_page_and_folders_the_histories_are_read(tmp_path):
    beside = await made(tmp_path)
    companion = Companion(beside.histories, announce=beside.lines.append)
    assert companion.health().degraded == {}
    assert companion._reread(0, is_whole=False) == []
    task = asyncio.create_task(companion.run())
    await eventually(lambda: beside.histories.all[0].followed.history.knows_up_to)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert beside.lines == []


def test_journals_that_are_followed_are_read_again_from_a_time_on(tmp_path):
    beside = Beside(tmp_path)
    (found,) = beside.companion._reread(0, is_whole=True)
    assert found.history.namesrv == "a_1"
