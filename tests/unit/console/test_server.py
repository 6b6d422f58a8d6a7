"""The server of the page: its files, its values, who may ask, and how it tells of changes."""

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from typing import Any

import aiohttp
import pytest
import uvloop

from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules_file import parse_access_file
from namekeeper.console import present_incidents, reading, server
from namekeeper.console import views as views_module
from namekeeper.console.histories import EarlierQuery, FollowedHistory, Histories, HistoryLock
from namekeeper.console.server import ConsoleServer, opening_rest
from namekeeper.console.views import ConsoleViews
from namekeeper.errors import ConfigError
from namekeeper.history.sources.journal import JournalSource
from namekeeper.http.doors import COOKIE, Doors
from namekeeper.http.page_files import PAGE_FILES, PAGE_HEADERS
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.journal.folder import write_journal
from tests.support.server.secrets import Untouchable, comparisons
from tests.support.system.waiting import PATIENCE, eventually, turns
from tests.unit.answers.story import Story
from tests.unit.console.test_histories import Clock

READING = 30


class Site:
    """A console over the journal of one story, and a client."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.story = Story()
        self.story.registers()
        self.write()
        self.histories = Histories([JournalSource([FoundJournal(str(folder))], Clock(self.story.now))])
        self.views = ConsoleViews(self.histories, None, Clock(self.story.now))
        self.server = self.server_with(Doors("127.0.0.1"))

    def server_with(self, doors: Doors, port: int = 0) -> ConsoleServer:
        return ConsoleServer("127.0.0.1", port, doors, self.histories, self.views)

    def write(self) -> None:
        write_journal(self.folder, self.story.journal.lines())

    async def get(self, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
        return await self.ask("GET", path, headers=headers)

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, str, dict[str, str]]:
        address = f"http://127.0.0.1:{self.server.port}{path}"
        async with aiohttp.ClientSession() as session, session.request(method, address, **more) as answer:
            return answer.status, await answer.text(), dict(answer.headers)

    async def read(self) -> None:
        """Wait until the journal was read: first its end is shown, then all of it."""
        await eventually(lambda: self.histories.revision > 1, within_seconds=READING)


@pytest.fixture
def site(tmp_path) -> Site:
    """Made outside of the loop, as the command makes it."""
    return Site(tmp_path / "j")


@asynccontextmanager
async def running(site: Site) -> AsyncIterator[Site]:
    async with site.server:
        await site.read()
        yield site


async def test_the_files_are_there_with_their_types(site):
    async with running(site):
        for path, (_, _, content_type) in PAGE_FILES.items():
            status, text, headers = await site.get(path)
            assert (status, headers["Content-Type"].partition(";")[0]) == (200, content_type)
            assert text


async def test_prometheus_gets_the_drift_with_a_token(site):
    site.server = site.server_with(Doors("127.0.0.1", token="secret"))
    async with running(site):
        assert (await site.get("/metrics"))[0] == 403
        status, text, headers = await site.get("/metrics", Authorization="Bearer secret")
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
        assert 'namekeeper_drift_name_servers{state="alone"} 1.0' in text


def test_every_file_of_the_page_is_served():
    there = {each.name for each in (files("namekeeper.console") / "static").iterdir()}
    served = {
        name.rpartition("/")[2] for package, name, _ in PAGE_FILES.values() if package == "namekeeper.console"
    }
    assert there - served == {"preact.LICENSE"}


async def test_every_answer_forbids_scripts_of_strangers(site):
    async with running(site):
        for path in ("/", "/app.js", "/api/overview", "/api/topic", "/nowhere"):
            _, _, headers = await site.get(path)
            assert {name: headers[name] for name in PAGE_HEADERS} == PAGE_HEADERS
        policy = PAGE_HEADERS["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        page = (await site.get("/"))[1]
        assert "onclick" not in page
        assert page.count("<script") == page.count('<script type="module" src=')


async def test_a_page_is_told_of_all_its_modules_at_once(site):
    """A browser that finds one only in another asks for it later."""
    async with running(site):
        page = (await site.get("/"))[1]
        modules = {path for path, (_, _, kind) in PAGE_FILES.items() if kind == "text/javascript"}
        assert {path for path in modules if f'"{path[1:]}"' not in page} == set()


async def test_what_a_journal_held_last_is_there_while_it_is_not_read_yet(site, monkeypatch):
    may_read, read = threading.Event(), FollowedHistory.read

    def late(history: FollowedHistory, lock: HistoryLock) -> bool:
        may_read.wait(READING)
        return read(history, lock)

    monkeypatch.setattr(FollowedHistory, "read", late)
    async with site.server:
        try:
            await eventually(lambda: site.histories.revision == 1, within_seconds=READING)
            assert "T" in [row["topic"] for row in json.loads((await site.get("/api/topics"))[1])["rows"]]
        finally:
            may_read.set()


@pytest.mark.parametrize(
    "path", ["overview?at=1", "changes?to=1", "topic?name=T&older=1", "broker?name=b0&older=1"]
)
async def test_what_is_read_again_keeps_no_other_view_waiting(site, monkeypatch, path):
    """Many requests are read one after the other, in threads; what is in memory is answered meanwhile."""
    may_end, readings = threading.Event(), []

    def read_slowly(_history: FollowedHistory, query: EarlierQuery) -> None:
        readings.append(query)
        may_end.wait(READING)

    def needs(_history: FollowedHistory, query: EarlierQuery) -> bool:
        return query.subject is not None or query.changes_until == 1 or 1 in query.instants

    monkeypatch.setattr(FollowedHistory, "needs", needs)
    monkeypatch.setattr(FollowedHistory, "read_earlier", read_slowly)
    async with running(site):
        older = [asyncio.create_task(site.get(f"/api/{path}")) for _ in range(20)]
        try:
            await eventually(lambda: readings, within_seconds=READING)
            for other in ("overview", "changes", "topic?name=T", "broker?name=b0"):
                assert (await site.get(f"/api/{other}"))[0] == 200
            assert (len(readings), any(each.done() for each in older)) == (1, False)
        finally:
            may_end.set()
        assert {(await each)[0] for each in older} == {200}


@pytest.mark.parametrize("path", ["api/incidents", "api/drift", "api/drift?at=1", "metrics"])
async def test_incidents_and_drift_that_take_long_keep_no_other_view_waiting(site, monkeypatch, path):
    """Other requests, also of the same host, waited until all incidents were found."""
    may_end, begun = threading.Event(), []
    where, name = {
        "api/incidents": (present_incidents, "_found_in"),
        "api/drift?at=1": (views_module, "find_drift"),
    }.get(path, (present_incidents, "present_drift"))
    find = getattr(where, name)

    def find_slowly(*args: object) -> object:
        begun.append(args)
        may_end.wait(READING)
        return find(*args)

    monkeypatch.setattr(where, name, find_slowly)
    async with running(site):
        slow = [asyncio.create_task(site.get(f"/{path}")) for _ in range(5)]
        try:
            await eventually(lambda: begun, within_seconds=READING)
            for other in ("overview", "changes", "topic?name=T", "broker?name=b0"):
                assert (await site.get(f"/api/{other}"))[0] == 200
            assert (len(begun), any(each.done() for each in slow)) == (1, False)
        finally:
            may_end.set()
        assert {(await each)[0] for each in slow} == {200}
        assert len(begun) == 1


async def test_a_relative_time_is_one_instant_for_a_whole_request(site, monkeypatch):
    asked = []
    earlier = site.views.earlier
    monkeypatch.setattr(
        site.views, "earlier", lambda view, query: asked.append(query) or earlier(view, query)
    )
    async with running(site):
        assert (await site.get("/api/changes?to=5m&from=10m"))[0] == 200
    assert asked
    for query in asked:
        assert (query["to"].isdecimal(), query["from"].isdecimal()) == (True, True)


@contextmanager
def late_end(monkeypatch) -> Iterator[threading.Event]:
    """The end of a journal is not found before the event."""
    may_begin, begin = threading.Event(), FollowedHistory.begin

    def late(history: FollowedHistory, lock: HistoryLock) -> bool:
        may_begin.wait(READING)
        return begin(history, lock)

    monkeypatch.setattr(FollowedHistory, "begin", late)
    try:
        yield may_begin
    finally:
        may_begin.set()


def test_a_stop_before_the_end_of_a_journal_is_found_logs_no_error(site, monkeypatch, caplog):
    async def stop_early() -> None:
        async with site.server:
            await eventually(lambda: site.server._reading is not None)
            await turns()

    with late_end(monkeypatch):
        asyncio.run(stop_early())
    del site.server  # nobody asks for its results any more
    gc.collect()
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize("loop_factory", [asyncio.SelectorEventLoop, uvloop.Loop])
@pytest.mark.parametrize("busy", ["begin", "read", "view"])
def test_a_stop_waits_for_no_thread_that_reads_a_journal(site, monkeypatch, busy, loop_factory):
    is_reading, may_end = threading.Event(), threading.Event()

    def read_on(*_: object) -> None:
        is_reading.set()
        may_end.wait()

    if busy == "view":
        read_on.__name__ = "why"
        monkeypatch.setattr(site.views.journals, "why", read_on)
    else:
        monkeypatch.setattr(FollowedHistory, busy, read_on)
    site.server = site.server_with(Doors("127.0.0.1"))

    async def stop_while_it_reads() -> None:
        async with site.server:
            asking = asyncio.create_task(site.get("/api/why?name=T"))
            await eventually(is_reading.is_set)
        await asyncio.gather(asking, return_exceptions=True)

    def run() -> None:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(stop_while_it_reads())

    ended = threading.Thread(target=run, daemon=True)
    ended.start()
    try:
        ended.join(READING * PATIENCE)
        assert not ended.is_alive()
    finally:
        may_end.set()


async def test_who_asks_before_the_end_of_a_journal_is_found_is_answered_with_it(site, monkeypatch):
    monkeypatch.setattr(reading, "BEGIN_SECONDS", READING)
    with late_end(monkeypatch) as may_begin:
        async with site.server:
            early = asyncio.create_task(site.get("/api/topics"))
            await site.get("/api/why?name=T")  # needs no history, and comes later: the early one has arrived
            may_begin.set()
            assert "T" in [row["topic"] for row in json.loads((await early)[1])["rows"]]


async def test_who_asks_is_answered_with_what_there_is_if_the_end_of_a_journal_is_not_found_soon(
    site, monkeypatch
):
    monkeypatch.setattr(reading, "BEGIN_SECONDS", 0)
    with late_end(monkeypatch):
        async with site.server:
            status, text, _ = await site.get("/api/overview")
            assert (status, json.loads(text)["last"]) == (200, None)


def test_the_reading_waits_for_a_page_that_is_being_opened():
    seconds = server.POLL_SECONDS
    assert opening_rest(10, begun_at=10, asked_at=10) == seconds
    assert opening_rest(10 + seconds, begun_at=10, asked_at=10) == 0
    assert opening_rest(10 + seconds, begun_at=10, asked_at=10 + seconds / 2) == seconds / 2
    last = 10 + server.OPENING_SECONDS
    assert opening_rest(last, begun_at=10, asked_at=last) == 0, "one that asks for ever holds nothing up"


async def test_views_are_json(site):
    async with running(site):
        status, text, headers = await site.get("/api/topic?name=T")
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert json.loads(text)["routes"][0]["route"]["queueDatas"][0]["brokerName"] == "b0"


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/topic", 400, "say which: name="),
        ("/api/overview?at=soon", 400, "is not a time"),
        ("/api/why?name=T", 400, "start the console with --journal DIR"),
        ("/nowhere", 404, "/ is the page"),
        ("/api/login", 405, "these pages are read only"),
    ],
)
async def test_a_wrong_request_is_told_what_to_do(site, path, status, says):
    async with running(site):
        found, text, _ = await site.get(path)
        assert (found, says in json.loads(text)["problem"]) == (status, True)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_nothing_can_be_changed(site, method):
    async with running(site):
        for path in ("/", "/api/overview", "/api/topic?name=T"):
            assert (await site.ask(method, path))[0] == 405


async def test_a_view_that_fails_is_logged_and_says_so(site, caplog, monkeypatch):

    def broken(_query):
        raise RuntimeError("a bug")

    broken.__name__ = "search"
    monkeypatch.setattr(site.views, "search", broken)
    async with running(site):
        status, text, _ = await site.get("/api/search?q=a")
    assert (status, json.loads(text)["problem"]) == (500, "this page failed; the log says why")
    assert "a bug" in caplog.text


async def test_another_name_of_the_host_is_refused(site):
    async with running(site):
        for path in ("/", "/api/overview", "/api/events"):
            status, text, headers = await site.get(path, Host="evil.example.com")
            assert (status, "--allow-host" in text) == (421, True)
            assert headers["Content-Security-Policy"]


async def test_without_the_token_there_is_the_page_and_nothing_else(site):
    site.server = site.server_with(Doors("127.0.0.1", token="secret"))
    async with site.server:
        assert (await site.get("/"))[0] == 200
        for path in ("/api/overview", "/api/events", "/api/why?name=T"):
            assert (await site.get(path))[0] == 401
        assert (await site.get("/api/overview", Authorization="Bearer wrong"))[0] == 401
        assert (await site.get("/api/overview", Authorization="Bearer secret"))[0] == 200
        assert (await site.get("/api/overview", Cookie=f"{COOKIE}=secret"))[0] == 200


TOKEN_WAYS = {
    "header": lambda site, token: site.get("/api/overview", Authorization=f"Bearer {token}"),
    "cookie": lambda site, token: site.get("/api/overview", Cookie=f"{COOKIE}={token}"),
    "login": lambda site, token: site.ask("POST", "/api/login", data=token),
}


@pytest.mark.parametrize("way", TOKEN_WAYS)
@pytest.mark.parametrize("wrong", ["xxxxxx", "secrex", "secrets"])
async def test_a_wrong_token_is_compared_as_a_whole_whichever_way_it_comes(site, way, wrong):
    site.server = site.server_with(Doors("127.0.0.1", token=Untouchable("secret")))
    async with site.server:
        with comparisons() as compared:
            assert (await TOKEN_WAYS[way](site, wrong))[0] == 401
    assert compared == [(b"secret", wrong.encode())]


async def test_a_post_of_the_token_sets_a_cookie_that_scripts_do_not_see(site):
    site.server = site.server_with(Doors("127.0.0.1", token="secret"))
    async with site.server:
        assert (await site.ask("POST", "/api/login", data="wrong"))[0] == 401
        status, _, headers = await site.ask("POST", "/api/login", data="secret")
        assert status == 204
        assert headers["Set-Cookie"] == f"{COOKIE}=secret; HttpOnly; SameSite=Strict"


async def test_a_change_is_told_to_who_listens(site):
    async with running(site):
        address = f"http://127.0.0.1:{site.server.port}/api/events"
        async with (
            asyncio.timeout(READING),
            aiohttp.ClientSession() as session,
            session.get(address) as stream,
        ):
            assert stream.headers["Content-Type"] == "text/event-stream"
            assert await stream.content.readuntil(b"\n\n") == b"data: 2\n\n"
            site.story.wiped()
            site.write()
            assert await stream.content.readuntil(b"\n\n") == b"data: 3\n\n"


async def test_it_ends_while_somebody_listens(site):
    async with asyncio.timeout(READING), aiohttp.ClientSession() as session:
        async with running(site):
            stream = await session.get(f"http://127.0.0.1:{site.server.port}/api/events")
            await stream.content.readuntil(b"\n\n")
        assert await stream.content.read() in {b"", b"data: 2\n\n"}
        stream.close()


async def test_an_address_that_is_taken_is_refused(site):
    async with running(site):
        other = site.server_with(Doors("127.0.0.1"), site.server.port)
        with pytest.raises(ConfigError, match="give another --port"):
            async with other:
                pass


async def test_pages_that_listen_have_a_limit(site):
    site.server.lasting.limit = 1
    async with asyncio.timeout(READING), aiohttp.ClientSession() as session, running(site):
        address = f"http://127.0.0.1:{site.server.port}/api/events"
        async with session.get(address) as stream:
            await stream.content.readuntil(b"\n\n")
            status, text, _ = await site.get("/api/events")
            assert (status, "too many requests" in text) == (503, True)
            assert (await site.get("/api/overview"))[0] == 200


async def test_access_rules_close_the_page_to_who_shows_no_key(site: Site):
    file = parse_access_file(
        'mode = "enforce"\nkeys = "k"\n[[rule]]\nname = "ops"\nrequests = ["http"]\nusers = ["ops"]\n',
        source="a",
    )
    policy = AccessPolicy(file.rules, {"ops": ("the-key",)})
    site.server = site.server_with(Doors("127.0.0.1", policy=lambda: policy))
    async with running(site):
        assert (await site.get("/"))[0] == 200
        status, text, _ = await site.get("/api/now")
        assert (status, "access rules refuse the page" in text) == (401, True)
        assert (await site.get("/api/now", Authorization="Bearer the-key"))[0] != 401
        assert (await site.ask("POST", "/api/login", data="guess"))[0] == 401
        status, _, headers = await site.ask("POST", "/api/login", data="the-key")
        assert status == 204
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert (await site.get("/api/now", Cookie=cookie))[0] != 401


@pytest.mark.parametrize(("view", "turns"), [("overview", "_turns"), ("why?name=T", "_long_turns")])
async def test_a_host_has_one_view_at_a_time(site: Site, view: str, turns: str):
    async with running(site):
        async with getattr(site.server, turns).of("127.0.0.1"):
            waiting = asyncio.create_task(site.get(f"/api/{view}"))
            connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
            address = f"http://127.0.0.1:{site.server.port}/api/{view}"
            async with aiohttp.ClientSession(connector=connector) as session, session.get(address) as answer:
                await answer.read()
            assert not waiting.done()
        await waiting


async def test_a_view_with_too_long_an_answer_says_what_to_do(site: Site, monkeypatch):
    monkeypatch.setattr("namekeeper.console.server.ANSWER_BYTES", 100)
    async with running(site):
        status, text, _ = await site.get("/api/topics")
        assert (status, "narrow it down" in text) == (400, True)
        assert (await site.get("/api/beside"))[0] == 200
