"""The server as the SDK's own client sees it, joined in memory: schemas, names as data, errors as results."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from namekeeper.errors import ConfigError
from namekeeper.mcp.answers import Sources
from namekeeper.mcp.server import WAITING_LIMIT, make_server
from namekeeper.mcp.tools import INSTRUCTIONS, TOOLS, schema_of
from tests.support.history.histories import HOUR, MARCH
from tests.support.pipeline.days import MINUTE, Day
from tests.support.system.waiting import eventually
from tests.unit.mcp.days import HOSTILE, broker, day_with_ten_incidents, write
from tests.unit.mcp.test_tools import SINCE, command, sources

MODES = ["legacy", "auto"]
"""The handshake of releases of the protocol up to 2025, and requests of 2026 without one."""


@asynccontextmanager
async def client_of(found: Sources, mode: str = "legacy") -> AsyncIterator[Client]:
    async with Client(make_server(found), mode=mode) as client:
        yield client


def value_of(result: CallToolResult) -> dict[str, Any]:
    """The structured content, which the text repeats."""
    assert not result.is_error, result.content
    (content,) = result.content
    assert content.type == "text"
    assert content.text.isprintable()
    assert json.loads(content.text) == result.structured_content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def problem_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    assert (result.is_error, result.structured_content) == (True, None)
    assert content.text.isprintable()
    return content.text


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_is_listed_with_its_schemas_as_read_only(tmp_path: Path, mode: str):
    async with client_of(sources(tmp_path), mode) as client:
        tools = (await client.list_tools()).tools
        assert client.instructions == INSTRUCTIONS
    assert [tool.name for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool.input_schema == schema_of(TOOLS[tool.name].question)
        assert tool.output_schema == schema_of(TOOLS[tool.name].answer)
        assert tool.annotations is not None
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)


@pytest.mark.parametrize("mode", MODES)
async def test_ten_incidents_come_with_the_facts_of_the_commands(tmp_path: Path, mode: str):
    write(day_with_ten_incidents(), tmp_path)
    wanted = await asyncio.to_thread(command, tmp_path, "incidents", "--since", SINCE)
    async with client_of(sources(tmp_path), mode) as client:
        found = value_of(await client.call_tool("incidents", {"since": SINCE}))
        assert [*found["open"], *found["recent"]] == [*wanted["open"], *wanted["recent"]]
        assert len(found["open"]) + len(found["recent"]) == 11
        for each in wanted["recent"]:
            topic = each["first_topic"]
            if topic is not None:
                asked = {"topic": topic, "at": str(each["from_ts"] + 1_000)}
                why = value_of(await client.call_tool("why", asked))
                assert why["explanations"] == await asyncio.to_thread(
                    command, tmp_path, "why", topic, "--at", asked["at"]
                )


async def test_hostile_names_stay_data(tmp_path: Path):
    day = Day(1)
    for number, name in enumerate(HOSTILE):
        each = broker(name, number + 1, name)
        day.register(1_000 + number, each)
        day.lose(HOUR + number * MINUTE, [each], "expired", 120_000)
    write(day, tmp_path)
    async with client_of(sources(tmp_path)) as client:
        before = await client.list_tools(), client.instructions
        incidents = value_of(await client.call_tool("incidents", {"since": SINCE, "limit": 200}))
        assert {name for each in incidents["open"] for name in each["broker_names"]} == set(HOSTILE)
        assert {each["first_topic"] for each in incidents["open"]} == set(HOSTILE)
        for name in HOSTILE:
            why = value_of(await client.call_tool("why", {"topic": name}))
            assert (why["topic"], why["explanations"][0]["topic"]) == (name, name)
            assert why["explanations"][0]["verdict"] == "broker_gone"
            history = value_of(await client.call_tool("history", {"name": name, "from": SINCE}))
            assert {part for each in history["entries"] for row in each["rows"] for part in row["key"]} >= {
                name
            }
            assert problem_of(await client.call_tool("why", {"topic": "orders", "at": name}))
            search = value_of(await client.call_tool("search", {"text": name, "since": SINCE}))
            topics, brokers, *_ = search["found"]["kinds"]
            assert (topics["names"], brokers["names"]) == ([name], [name])
        early = {"without": [*HOSTILE], "at": str(MARCH + HOUR - MINUTE)}
        (left,) = value_of(await client.call_tool("what_if", early))["results"]
        assert {each["topic"] for each in left["unwritable"]} == set(HOSTILE)
        unknown = [
            problem_of(await client.call_tool("what_if", {"without": [f"no {name}"]})) for name in HOSTILE
        ]
        assert all(text.isprintable() for text in unknown)
        assert (await client.list_tools(), client.instructions) == before
    described = before[0].model_dump_json() + INSTRUCTIONS
    assert not [name for name in HOSTILE if json.dumps(name)[1:-1] in described]


async def test_an_error_is_a_result_of_one_line(tmp_path: Path):
    async with client_of(sources(tmp_path)) as client:
        assert "topic is missing" in problem_of(await client.call_tool("why", {}))
        assert "is not a journal" in problem_of(await client.call_tool("incidents", {}))


async def test_a_bug_is_logged_and_tells_the_client_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def fails() -> list[str]:
        raise ZeroDivisionError("secret")

    async with client_of(msgspec.structs.replace(sources(tmp_path), journals=fails)) as client:
        assert problem_of(await client.call_tool("incidents", {})) == (
            "this question failed; the log of namekeeper mcp says why"
        )
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_does_not_exist_is_an_error_of_the_protocol(tmp_path: Path, mode: str):
    async with client_of(sources(tmp_path), mode) as client:
        with pytest.raises(MCPError, match="there is no such tool; there are status,"):
            await client.call_tool("delete_topic", {"topic": "orders"})


async def test_questions_are_answered_one_after_the_other_and_not_too_many_wait(tmp_path: Path):
    at_once, most, opened = 0, 0, threading.Event()

    def journals() -> list[str]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        opened.wait()
        at_once -= 1
        raise ConfigError("none")

    async with client_of(msgspec.structs.replace(sources(tmp_path), journals=journals)) as client:
        asking = [asyncio.create_task(client.call_tool("status", {})) for _ in range(WAITING_LIMIT + 3)]
        refused: list[str] = []

        def are_refused() -> bool:
            refused[:] = [problem_of(each.result()) for each in asking if each.done()]
            return len(refused) == 3

        await eventually(are_refused)
        opened.set()
        answers = [problem_of(await each) for each in asking]
    assert refused == ["too many questions wait for an answer: ask again in a few seconds"] * 3
    assert (answers.count("none"), most) == (WAITING_LIMIT, 1)
