"""The tools over HTTP: who may ask, by which names, how much; what the log says of it."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import msgspec
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from namekeeper.access.policy import AccessPolicy
from namekeeper.access.rules_file import parse_access_file
from namekeeper.errors import ConfigError
from namekeeper.http.doors import Doors
from namekeeper.http.page_files import PAGE_HEADERS
from namekeeper.mcp import pages as module
from namekeeper.mcp.pages import MESSAGE_BYTES, PATH, AssistantPages
from namekeeper.mcp.server import make_server
from namekeeper.mcp.tools import TOOLS
from namekeeper.remoting import log_limit
from tests.support.system.waiting import eventually
from tests.unit.mcp.days import day_with_ten_incidents, write
from tests.unit.mcp.test_server import MODES, value_of
from tests.unit.mcp.test_tools import SINCE, ask, sources

KEY = "0123456789abcdef"
STATUS = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status", "arguments": {}},
}  # fmt: skip
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def served(folder: Path, doors: Doors | None = None) -> AsyncIterator[str]:
    async with AssistantPages(
        "127.0.0.1", 0, doors or Doors("127.0.0.1"), make_server(sources(folder))
    ) as pages:
        yield f"http://127.0.0.1:{pages.port}{PATH}"


@asynccontextmanager
async def client_at(address: str, token: str = "", mode: str = "legacy") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, trust_env=False))
        transport = streamable_http_client(address, http_client=http)
        yield await stack.enter_async_context(Client(transport, mode=mode))


async def post(
    address: str, body: Any = None, method: str = "POST", **headers: str
) -> tuple[int, str, dict[str, str]]:
    data = {"data": body} if isinstance(body, bytes) else {"json": body or PING}
    if method == "GET":
        data = {}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, address, headers={**ACCEPT, **headers}, **data) as answer,
    ):
        return answer.status, await answer.text(), dict(answer.headers)


def policy_of(user: str) -> AccessPolicy:
    """Rules by which one user may read the pages; each user has the same key."""
    rules = (
        f'mode = "enforce"\nkeys = "k"\n[[rule]]\nname = "readers"\nrequests = ["http"]\nusers = ["{user}"]\n'
    )
    return AccessPolicy(parse_access_file(rules, source="rules").rules, {"ada": (KEY,)})


@pytest.mark.parametrize("mode", MODES)
async def test_the_answers_are_those_of_the_tools(tmp_path: Path, mode: str):
    write(day_with_ten_incidents(), tmp_path)
    async with served(tmp_path) as address, client_at(address, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
        found = value_of(await client.call_tool("incidents", {"since": SINCE}))
        assert found == await asyncio.to_thread(ask, tmp_path, "incidents", since=SINCE)
        assert (await client.call_tool("why", {})).is_error


async def test_a_page_of_another_server_is_refused(tmp_path: Path):
    async with served(tmp_path) as address:
        assert (await post(address))[0] == 200
        assert (await post(address, Host="evil.example"))[0] == 421
        assert (await post(address, Origin="http://evil.example"))[0] == 403
        assert (await post(address, **{"Sec-Fetch-Site": "cross-site"}))[0] == 403


async def test_only_messages_are_taken_and_only_here(tmp_path: Path):
    async with served(tmp_path) as address:
        status, _, headers = await post(address, method="GET")
        assert (status, headers["Allow"]) == (405, "OPTIONS, POST")
        assert (await post(address, method="GET", Origin="http://evil.example"))[0] == 405
        assert (await post(address.removesuffix(PATH) + "/other"))[0] == 400  # it takes no body
        assert (await post(address.removesuffix(PATH) + "/other", method="GET"))[0] == 404
        assert (await post(address, b"{", **{"Content-Type": "application/json"}))[0] == 400
        assert (await post(address, b"x" * (MESSAGE_BYTES + 1)))[0] == 413


async def test_every_answer_has_the_headers_of_the_page(tmp_path: Path):
    async with served(tmp_path) as address:
        _, _, headers = await post(address)
        assert headers.items() >= PAGE_HEADERS.items()
        assert headers["Content-Type"] == "application/json"
        assert "Mcp-Session-Id" not in headers


async def test_who_has_no_token_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    doors = Doors("127.0.0.1", token="s3cr3t-t0ken", credential_place="ask the operator")
    async with served(tmp_path, doors) as address:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cr3t-t0ken"}):
            status, text, answered = await post(address, **headers)
            assert (status, answered["WWW-Authenticate"]) == (401, "Bearer")
            assert "ask the operator" in text
        with pytest.raises(BaseExceptionGroup):
            async with client_at(address, "wrong"):
                pass
        async with client_at(address, "s3cr3t-t0ken") as client:
            assert len((await client.list_tools()).tools) == len(TOOLS)
    assert "127.0.0.1 is refused: a token is needed: ask the operator" in caplog.text
    assert "s3cr3t" not in caplog.text


async def test_access_rules_decide_by_the_key_of_a_user_and_the_log_names_who_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "namekeeper.mcp")
    async with served(tmp_path, Doors("127.0.0.1", policy=lambda: policy_of("ada"))) as address:
        status, text, _ = await post(address)
        assert (status, "access rules refuse the page" in text) == (401, True)
        async with client_at(address, KEY) as client:
            assert (await client.call_tool("why", {"topic": "a\x1b[2J"})).is_error
    assert '127.0.0.1, user ada asks why {"topic":"a\\u001b[2J"}' in caplog.text
    assert "127.0.0.1 is refused: access rules refuse the page" in caplog.text
    assert KEY not in caplog.text


async def test_log_lines_that_a_client_causes_are_limited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    caplog.set_level(logging.INFO, "namekeeper.mcp")
    monkeypatch.setattr(log_limit, "LINES", 2)
    async with served(tmp_path) as address:
        for _ in range(4):
            status, _, _ = await post(address, STATUS)
            assert status == 200
    assert caplog.text.count("127.0.0.1 asks status {}") == 2


async def test_rules_that_change_hold_at_once(tmp_path: Path):
    """Each message is checked: there is no session that an old rule let in."""
    allowed = ["ada", "bob"]
    doors = Doors("127.0.0.1", policy=lambda: policy_of(allowed[0]))
    key = {"Authorization": f"Bearer {KEY}"}
    async with served(tmp_path, doors) as address:
        assert (await post(address, **key))[0] == 200
        allowed.pop(0)
        assert (await post(address, **key))[0] == 401


async def test_no_more_messages_wait_than_allowed_and_one_whose_client_left_waits_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "CONNECTIONS_OF_HOST", 1)
    is_asked, goes_on = threading.Event(), threading.Event()

    def journals() -> list[str]:
        is_asked.set()
        goes_on.wait()
        raise ConfigError("none")

    slow = msgspec.structs.replace(sources(tmp_path), journals=journals)
    async with AssistantPages("127.0.0.1", 0, Doors("127.0.0.1"), make_server(slow)) as pages:
        address = f"http://127.0.0.1:{pages.port}{PATH}"
        first = asyncio.create_task(post(address, STATUS))
        await eventually(is_asked.is_set)
        status, _, headers = await post(address)
        assert (status, headers["Retry-After"]) == (503, "1")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        goes_on.set()
        status, text, _ = await post(address, STATUS)
        while status == 503:  # the server has not seen yet that the first one left
            status, text, _ = await post(address, STATUS)
        assert (status, '"isError":true' in text) == (200, True)


async def test_a_port_that_is_taken_is_one_line(tmp_path: Path):
    async with served(tmp_path) as address:
        port = int(address.removesuffix(PATH).rpartition(":")[2])
        with pytest.raises(ConfigError, match=f"can't listen at 127.0.0.1:{port}: .*; give another --port"):
            async with AssistantPages("127.0.0.1", port, Doors("127.0.0.1"), make_server(sources(tmp_path))):
                pass
