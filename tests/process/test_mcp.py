"""`namekeeper mcp` as a process: an assistant starts it over stdio, or asks it over HTTP, beside a name server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from namekeeper.cli.group import namekeeper
from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, environment, holding
from tests.support.system.processes import Process, free_port
from tests.unit.app.parts import registration
from tests.unit.mcp.days import day_with_ten_incidents, write
from tests.unit.mcp.test_server import value_of
from tests.unit.mcp.test_tools import SINCE

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
REGISTERS = encode_command(registration(("orders",)))
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def command(*words: str) -> Any:
    """The JSON of a command."""
    done = CliRunner().invoke(namekeeper, [*words, "--json"])
    assert done.exit_code in {0, 1}, done.stderr
    return json.loads(done.stdout)


def started_by_client(*words: str, folder: Path) -> StdioServerParameters:
    program, *options = NAMEKEEPER
    return StdioServerParameters(command=program, args=[*options, "mcp", *words], env=environment(folder))


@pytest.mark.parametrize("mode", ["legacy", pytest.param("auto", marks=pytest.mark.long)])
def test_an_assistant_replays_ten_incidents_over_stdio(tmp_path: Path, mode: str):
    journals = str(write(day_with_ten_incidents(), tmp_path / "journals"))
    wanted = command("incidents", "--since", SINCE, "--journal", journals)
    incidents = [*wanted["open"], *wanted["recent"]]
    topics = [
        (each["first_topic"], str(each["from_ts"] + 1_000)) for each in incidents if each["first_topic"]
    ]
    causes = [command("why", topic, "--at", at, "--journal", journals) for topic, at in topics]

    async def ask() -> None:
        async with Client(started_by_client("--journal", journals, folder=tmp_path), mode=mode) as client:
            found = value_of(await client.call_tool("incidents", {"since": SINCE}))
            assert [*found["open"], *found["recent"]] == incidents
            for (topic, at), cause in zip(topics, causes, strict=True):
                assert (
                    value_of(await client.call_tool("why", {"topic": topic, "at": at}))["explanations"]
                    == cause
                )

    assert (len(incidents), len(topics)) == (11, 9)
    asyncio.run(ask())


def test_it_is_asked_over_http_about_a_running_name_server(tmp_path: Path):
    port = free_port()
    with NameServerProcess(tmp_path / "ns", http_port=str(port), remember_lookups="true") as server:
        server.started()
        output = tmp_path / "mcp.txt"
        words = [*NAMEKEEPER, "mcp", "--port", "0", "--http", f"127.0.0.1:{port}"]
        process = Process("mcp", words, output=output, env=environment(tmp_path))
        try:
            address = process.await_line(r"(?m)^http://127.0.0.1:\d+/mcp$")[0]
            with holding(server.address, REGISTERS) as broker:
                assert broker.recv(1)
                why, status, knows = asyncio.run(_ask(address, "orders"))
        finally:
            process.stop()
    assert [each["verdict"] for each in why["explanations"]] == ["has_route"]
    assert [(each["is_running"], each["brokers"]) for each in status["namesrvs"]] == [(True, 1)]
    assert [each["answer"]["topic"] for each in knows["answers"]] == ["orders"]
    assert process.returncode == 0
    assert 'Z 127.0.0.1 asks why {"topic":"orders"}' in process.text()
    assert "Traceback" not in process.text()


async def _ask(address: str, topic: str) -> list[dict[str, Any]]:
    async with Client(address) as client:
        return [
            value_of(await client.call_tool("why", {"topic": topic})),
            value_of(await client.call_tool("status", {})),
            value_of(await client.call_tool("who_knows", {"topic": topic})),
        ]


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_it_ends_by_a_signal_although_its_input_is_open(tmp_path: Path, number: signal.Signals):
    with subprocess.Popen(
        [*NAMEKEEPER, "mcp", "--journal", str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(tmp_path),
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(HELLO).encode() + b"\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["result"]["serverInfo"]["name"] == "namekeeper"
        os.kill(child.pid, number)
        assert child.wait() == 0


def test_it_ends_with_its_input_and_writes_nothing_but_messages(tmp_path: Path):
    asked = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    done = subprocess.run(
        [*NAMEKEEPER, "mcp", "--journal", str(tmp_path)], input="\n".join(map(json.dumps, asked)) + "\nnoise\n",
        capture_output=True, text=True, check=True, env=environment(tmp_path),
    )  # fmt: skip
    hello, noise = map(json.loads, done.stdout.splitlines())
    assert (hello["id"], noise["id"], noise["error"]["code"]) == (1, None, -32700)
    assert "Traceback" not in done.stderr
