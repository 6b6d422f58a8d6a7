"""`/watch` of the page: the changes of routes in followed journals, as the server itself gives them."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from namekeeper.console import watching as module
from namekeeper.console.watching import FollowedRoutes
from namekeeper.http.watchers import WatchRefusal
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.journal.reading.recent import recent_part
from namekeeper.processor.recent_changes import Revision
from namekeeper.remoting.scheduler import Scheduler
from tests.support.system.waiting import eventually
from tests.unit.answers.story import Story
from tests.unit.console.test_companion import made, running
from tests.unit.console.test_histories import Clock

LATER = Revision(2**60, 0)


@pytest.fixture
def story() -> Story:
    story = Story("a_1")
    story.registers()
    return story


@asynccontextmanager
async def watching(folder: str):
    routes = FollowedRoutes(FoundJournal(folder), clock=Clock(0), scheduler=Scheduler())
    async with asyncio.timeout(60):
        yield routes
    await routes.close()


async def test_a_watcher_gets_what_the_server_gives_after_a_restart(story, tmp_path):
    """The server reads the same journal by itself; each change has the topics and the revision that it gives."""
    story.registers("b1", "a1:1", topics=("U",))
    story.wiped("b1")
    story.unregisters("a1:1")
    folder = story.folder(tmp_path / "a_1")
    part = await asyncio.to_thread(recent_part, folder, LATER, lambda: None)
    async with watching(folder) as routes:
        watcher = await routes.watch(frozenset({"T", "U"}), str(part.floor))
        found = watcher.take()
        assert [(each.revision, each.topics, each.cause, each.peer) for each in found] == [
            (str(each.revision), topics, each.cause, each.peer)
            for each in part.changes if (topics := each.shown_in({"T", "U"}))
        ]  # fmt: skip
        assert [each.topics for each in found] == [["T"], ["U"], ["U"], ["U"]]
        assert watcher.revision() == routes.revision() == found[-1].revision


async def test_a_change_comes_once_it_is_in_the_journal(story, tmp_path):
    folder = story.folder(tmp_path / "a_1")
    async with watching(folder) as routes:
        watcher = await routes.watch(frozenset({"U"}), None)
        before = watcher.revision()
        story.registers("b1", "a1:1", topics=("U",))
        story.folder(tmp_path / "a_1")
        await watcher.wait(60)
        (change,) = watcher.take()
        assert (change.topics, change.cause, change.revision == before) == (["U"], "register_broker", False)


async def test_a_journal_that_nobody_watches_is_not_read(story, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    async with watching(story.folder(tmp_path / "a_1")) as routes:
        assert (routes.is_reading, routes.revision()) == (False, None)
        watcher = await routes.watch(frozenset({"T"}), None)
        revision = watcher.revision()
        assert routes.is_reading
        watcher.close()
        await eventually(lambda: not routes.is_reading)
        again = await routes.watch(frozenset({"T"}), revision)
        assert (again.take(), again.revision()) == ([], revision)


async def test_a_new_boot_makes_watchers_read_their_routes_again(story, tmp_path):
    folder = story.folder(tmp_path / "a_1")
    async with watching(folder) as routes:
        watcher = await routes.watch(frozenset({"T"}), None)
        story.restarts()
        story.folder(tmp_path / "a_1")
        await watcher.wait(60)
        assert watcher.take() is None


async def test_a_client_asks_again_where_the_journal_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIRST_READ_SECONDS", 0.05)
    async with watching(str(tmp_path / "not there")) as routes:
        assert await routes.watch(frozenset({"T"}), None) is WatchRefusal.NOT_READY


async def test_nobody_waits_for_a_reading_that_has_ended(story, tmp_path, monkeypatch):
    """A reading that ends by a bug ends its watchers, and the next client begins it again."""

    def fails(journal):
        raise RuntimeError("a bug")

    shown = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: shown.append(str(context["exception"]))
    )
    async with watching(story.folder(tmp_path / "a_1")) as routes:
        watcher = await routes.watch(frozenset({"T"}), None)
        with monkeypatch.context() as broken:
            broken.setattr(module._WatchedJournal, "new_changes", fails)
            await watcher.wait(60)
            assert watcher.is_closed
            assert await routes.watch(frozenset({"T"}), None) is WatchRefusal.NOT_READY
            assert set(shown) == {"a bug"}
        assert not isinstance(await routes.watch(frozenset({"T"}), None), WatchRefusal)


async def test_the_page_of_the_companion_watches_each_name_server_that_it_follows(tmp_path):
    beside = await made(tmp_path)
    async with running(beside):
        await eventually(lambda: beside.lines)
        status, text = await beside.get("/watch?topic=T")
        assert (status, list(json.loads(text))) == (200, ["revision", "changes", "gone"])
        await asyncio.to_thread(beside.write, "b_1")
        await eventually(lambda: beside.names == ["a_1", "b_1"])
        assert await beside.get("/watch?topic=T") == (
            400, "say which name server: /watch?topic=A&namesrv=ID of a_1, b_1\n",
        )  # fmt: skip
        assert (await beside.get("/watch?topic=T&namesrv=c_1"))[0] == 404
        revision = json.loads((await beside.get("/watch?topic=T&namesrv=b_1"))[1])["revision"]
        floor = f"{revision.partition('-')[0]}-1"
        changes = json.loads((await beside.get(f"/watch?topic=T&namesrv=b_1&after={floor}"))[1])["changes"]
        assert [each["topics"] for each in changes] == [["T"]]
