"""The page at `/` of the operators' port: who gets it, and the console beside that answers it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from namekeeper.access.peer import Peer
from namekeeper.console import views
from namekeeper.http import console_page
from namekeeper.http.console_process import ConsoleProcess
from namekeeper.http.health import HealthState, Phase
from namekeeper.http.page_files import PAGE_FILES, PAGE_HEADERS
from namekeeper.http.server import OperatorHttpServer, PageAccess, PageSources
from namekeeper.http.stats import NameServerStats
from tests.support.system.waiting import eventually
from tests.unit.http.test_console_process import FAKE
from tests.unit.http.test_server import who_knows
from tests.unit.http.watching import Watching

HTML = {"Accept": "text/html,*/*"}


class Page:
    """An operators' port with a page, and a client."""

    def __init__(
        self, command=FAKE, refuse=lambda _host, _token: None, *, remembers: bool = True, **more: Any
    ) -> None:
        self.process = ConsoleProcess(lambda: command)
        self.server = OperatorHttpServer(
            "127.0.0.1", 0, PageSources(metrics=lambda: NameServerStats(version="1", start_time_seconds=1.0),
            health=lambda: HealthState(phase=Phase.SERVING), nsaddr=lambda: "", watch=Watching(),
            who_knows=who_knows if remembers else None, console=self.process), PageAccess(refuse=refuse, **more),
        )  # fmt: skip

    async def ask(self, path: str, method: str = "GET", **more: Any) -> tuple[int, str, dict[str, str]]:
        address = f"http://127.0.0.1:{self.server.port}{path}"
        async with aiohttp.ClientSession() as session, session.request(method, address, **more) as answer:
            return answer.status, await answer.text(), dict(answer.headers)

    async def json(self, path: str, **more: Any) -> dict[str, Any]:
        address = f"http://127.0.0.1:{self.server.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(address, **more) as answer:
            found: dict[str, Any] = await answer.json()
            return found


@asynccontextmanager
async def running(*words: Any, **more: Any) -> AsyncIterator[Page]:
    page = Page(*words, **more)
    async with page.server:
        yield page


async def test_a_browser_gets_the_page_and_a_terminal_the_list_of_pages():
    async with running() as page:
        status, text, headers = await page.ask("/", headers=HTML)
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/html")
        assert text.startswith("<!DOCTYPE html>")
        assert {name: headers[name] for name in PAGE_HEADERS} == PAGE_HEADERS
        status, text, _ = await page.ask("/")
        assert "/metrics" in text
        for path in PAGE_FILES.keys() - {"/"}:
            assert (await page.ask(path))[0] == 200


async def test_what_the_page_asks_is_answered_by_one_console_with_a_token_of_its_own():
    async with running() as page:
        answers = await asyncio.gather(*(page.json(f"/api/topics?at={at}") for at in (1, 2)))
        assert [answer["path"] for answer in answers] == ["/api/topics?at=1", "/api/topics?at=2"]
        assert len({answer["pid"] for answer in answers}) == 1
        assert len(answers[0]["token"]) > len("Bearer ") + 20
        status, text, headers = await page.ask("/api/wrong")
        assert (status, headers["Content-Security-Policy"]) == (400, PAGE_HEADERS["Content-Security-Policy"])
        assert "wrong" in text


async def test_a_stream_is_passed_on():
    async with running() as page:
        status, text, headers = await page.ask("/api/events")
        assert (status, headers["Content-Type"]) == (200, "text/event-stream")
        assert text == "data: 1\n\ndata: 2\n\n"


async def test_who_has_asked_is_said_by_the_name_server_itself():
    async with running() as page:
        (row,) = (await page.json("/api/who_knows?name=T"))["rows"]
        assert (row["answer"]["topic"], row["answer"]["since"], row["problem"]) == ("T", ["a:1"], "")
        assert (await page.ask("/api/who_knows"))[0] == 400
    async with running(remembers=False) as page:
        (row,) = (await page.json("/api/who_knows?name=T"))["rows"]
        assert row["answer"] is None
        assert "rememberLookups" in row["problem"]


@pytest.mark.parametrize("path", ["/api/overview", "/api/who_knows?name=T", "/api/login"])
async def test_a_page_of_a_stranger_gets_nothing_through_a_name_of_its_own(path: str):
    async with running() as page:
        method = "POST" if "login" in path else "GET"
        status, text, _ = await page.ask(path, method, headers={"Host": "evil.example.com"})
        assert status == 421
        assert "open it by the address of this host" in text
        assert page.process.is_running is False


async def test_where_rules_want_a_token_the_page_asks_for_it_and_keeps_it_in_a_cookie():
    def refuse(_client: Peer, token: str | None) -> str | None:
        return None if token == "secret" else "no token"

    async with running(refuse=refuse) as page:
        assert (await page.ask("/", headers=HTML))[0] == 200
        assert (await page.ask("/"))[0] == 403
        for path in ("/api/overview", "/api/events", "/api/who_knows?name=T"):
            status, text, _ = await page.ask(path)
            assert (status, text) == (401, '{"problem":"no token"}')
        assert page.process.is_running is False
        assert (await page.ask("/api/login", "POST", data="other"))[0] == 401
        status, _, headers = await page.ask("/api/login", "POST", data="secret\n")
        cookie = headers["Set-Cookie"]
        assert status == 204
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert (await page.ask("/api/overview", headers={"Cookie": cookie.partition(";")[0]}))[0] == 200
        assert (await page.ask("/api/overview", headers={"Authorization": "Bearer secret"}))[0] == 200


async def test_the_page_is_read_only():
    async with running() as page:
        assert (await page.ask("/api/overview", "POST"))[0] == 405


async def test_a_console_that_does_not_start_is_told():
    async with running((sys.executable, "-c", "pass")) as page:
        status, text, _ = await page.ask("/api/overview")
        assert (status, "did not start" in text) == (503, True)


async def test_a_console_that_died_is_started_again():
    async with running() as page:
        first = (await page.json("/api/topics"))["pid"]
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: not page.process.is_running)
        assert (await page.json("/api/topics"))["pid"] != first


async def test_it_ends_with_the_operators_port():
    async with running() as page:
        await page.json("/api/topics")
        assert page.process.is_running
    assert page.process.is_running is False


async def test_only_so_many_pages_listen():
    async with running() as page:
        page.server._console_page.lasting.limit = 0
        status, text, _ = await page.ask("/api/events")
        assert (status, "too many requests" in text) == (503, True)
        assert (await page.ask("/api/topics"))[0] == 200


@pytest.mark.parametrize(
    ("path", "turns"),
    [("/api/topics", "_turns"), ("/api/topics?at=1", "_past_turns"), ("/api/why?name=T", "_why_turns")],
)
async def test_a_host_whose_view_takes_long_keeps_no_other_host_waiting(path: str, turns: str):
    other = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
    async with running() as page, aiohttp.ClientSession(connector=other) as session:
        async with getattr(page.server._console_page, turns).of("127.0.0.1"):
            waiting = asyncio.create_task(page.ask(path))
            async with session.get(f"http://127.0.0.1:{page.server.port}{path}") as answer:
                assert answer.status == 200
            assert not waiting.done()
        assert (await waiting)[0] == 200


@pytest.mark.parametrize(
    "query", ["topics?at=1", "compare?a_at=1&b_at=2", "changes?to=1", "topic?name=T&older=1", "why?name=T"]
)
async def test_views_of_other_times_and_causes_keep_no_view_of_the_present_waiting(query: str):
    async with running() as page:
        console = page.server._console_page
        async with console._past_turns.of("127.0.0.1"), console._why_turns.of("127.0.0.1"):
            waiting = asyncio.create_task(page.ask(f"/api/{query}"))
            assert (await page.ask("/api/topics"))[0] == 200
            assert not waiting.done()
        await waiting


def test_every_parameter_with_a_time_is_one_of_other_times():
    assert {name for names in views._TIMES.values() for name in names} | {"older"} == console_page._PAST
