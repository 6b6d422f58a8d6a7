"""Each command that an alert names works as it is written, against name servers that run."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from namekeeper.app.name_server import NameServer
from namekeeper.cli.group import namekeeper
from namekeeper.wire.codec import encode_command
from tests.deploy.prometheus import RULES
from tests.support.system.waiting import eventually
from tests.support.wire.peer import connect
from tests.unit.app.parts import name_server, registration

COMMANDS = sorted(
    {
        command
        for group in yaml.safe_load(RULES.read_text())["groups"]
        for rule in group["rules"]
        for text in rule["annotations"].values()
        for command in re.findall(r"`([^`]+)`", text)
    }
)
AGREES = 0


def is_written(server: NameServer) -> bool:
    stats = server.operators.stats().journal
    return stats is not None and 0 < stats.last_seq == stats.durable_seq


def test_alerts_name_commands():
    assert len(COMMANDS) >= 4
    assert all(command.startswith("namekeeper ") for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_of_an_alert_works_as_it_is_written(tmp_path: Path, monkeypatch, command: str):
    monkeypatch.setenv("HOME", str(tmp_path))
    journals = tmp_path / "namesrv" / "journal"
    async with (
        name_server(tmp_path / "a", journal_path=str(journals / "1")) as one,
        name_server(tmp_path / "b", journal_path=str(journals / "2")) as other,
    ):
        for server in (one, other):
            async with connect(f"127.0.0.1:{server.port}") as peer:
                await peer.send(encode_command(registration()))
                assert (await peer.answer()).code == 0
            await eventually(lambda server=server: server.state.missing.brokers)
            await eventually(lambda server=server: is_written(server))
        values = {
            "TOPIC": "T1", "A": f"127.0.0.1:{one.port}", "B": f"127.0.0.1:{other.port}",
            "CLUSTER": "DefaultCluster", "NAME": "broker-a", "ADDRESS": "10.0.0.1:10911",
        }  # fmt: skip
        _, *words = [values.get(word, word) for word in shlex.split(command)]
        done = await asyncio.to_thread(CliRunner().invoke, namekeeper, words)
    assert done.exit_code == AGREES, done.output
    assert done.stdout.strip()
