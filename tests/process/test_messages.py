"""`namekeeper messages run` as a process, beside a name server as a process and a receiver on loopback."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from namekeeper.notifications.message import schema
from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, environment, holding
from tests.support.server.webhook import Reply, WebhookServer
from tests.support.system.processes import Process, eventually
from tests.unit.app.parts import registration

pytestmark = pytest.mark.waits

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
WITHIN = 30.0
REGISTERS = encode_command(registration(("orders",)))
TOKEN = "t0p-s3cr3t-t0ken"
FILE = """
outbox = "outbox"
page = "http://console.example:9888/"

[receivers.ops]
type = "webhook"
url_env = "OPS_URL"
token_file = "token"
grace = "1s"
within = "60s"
"""


class World:
    """A name server with a journal, and a file for `messages`."""

    def __init__(self, folder: Path, server: NameServerProcess, hook: WebhookServer) -> None:
        self.folder, self.server, self.hook = folder, server, hook
        (folder / "messages.toml").write_text(FILE)
        (folder / "token").write_text(TOKEN + "\n")

    @property
    def words(self) -> list[str]:
        journal = str(self.folder / "journal")
        return ["messages", "run", "-c", str(self.folder / "messages.toml"), "--journal", journal]

    @property
    def environment(self) -> dict[str, str]:
        return {**environment(self.folder), "OPS_URL": self.hook.url("/s3cr3t-path")}

    @contextlib.contextmanager
    def sending(self) -> Iterator[Process]:
        output = self.folder / "messages.txt"
        process = Process("messages", [*NAMEKEEPER, *self.words], output=output, env=self.environment)
        try:
            yield process
        finally:
            process.kill()

    def gets(self, count: int) -> None:
        eventually(lambda: len(self.hook.events) >= count, within=WITHIN, what=f"{count} events")


@contextlib.contextmanager
def world_in(folder: Path) -> Iterator[World]:
    with (
        WebhookServer() as hook,
        NameServerProcess(folder / "server", journal_path=str(folder / "journal")) as server,
    ):
        yield World(folder, server.started(), hook)


def await_later_millisecond() -> None:
    """A broker that goes in the millisecond in which it came was never there."""
    came = time.time_ns()
    eventually(lambda: time.time_ns() > came + 2_000_000, within=WITHIN, what="a later millisecond")


def lose_broker(world: World) -> None:
    with holding(world.server.address, REGISTERS):
        await_later_millisecond()


def test_a_broker_that_goes_and_comes_back_is_two_messages(tmp_path: Path) -> None:
    with world_in(tmp_path) as world, world.sending() as process:
        process.await_line("following .*; 1 receiver", within=WITHIN)
        lose_broker(world)
        world.gets(1)
        with holding(world.server.address, REGISTERS):
            world.gets(2)
            process.await_line("ops: sent: .over.", within=WITHIN)
        process.terminate()
        assert process.wait(within=WITHIN) == 0
        (opened, closed) = world.hook.documents
        for document in (opened, closed):
            jsonschema.validate(document, json.loads(schema()))
        incident = opened["events"][0]["incident"]
        assert world.hook.events[:2] == [("opened", incident, 1), ("closed", incident, 2)]
        assert opened["events"][0]["facts"]["cause"] == "channel_closed"
        assert opened["events"][0]["severity"] == "critical"
        assert opened["page"] == "http://console.example:9888/"
        headers = world.hook.requests[0][1]
        assert headers["Authorization"] == f"Bearer {TOKEN}"
        assert headers["Idempotency-Key"] == opened["message"]
        said = process.text() + (tmp_path / "outbox" / "outbox.json").read_text()
        assert TOKEN not in said
        assert "s3cr3t-path" not in said


def test_a_message_that_was_sent_but_not_acknowledged_when_the_process_was_killed_is_repeated_once(
    tmp_path: Path,
) -> None:
    with world_in(tmp_path) as world:
        world.hook.reply = lambda number: Reply(0 if number == 0 else 204)
        with world.sending() as process:
            process.await_line("following .*; 1 receiver", within=WITHIN)
            lose_broker(world)
            world.gets(1)
            os.kill(process.pid, signal.SIGKILL)
            process.wait(within=WITHIN)
        with world.sending() as process:
            process.await_line("ops: sent: .critical.", within=WITHIN)
            with holding(world.server.address, REGISTERS):
                world.gets(3)
        first, again, closed = world.hook.documents
        assert again == first
        assert closed["events"][0]["sequence"] == 2


def test_sixty_brokers_that_go_at_once_are_one_message(tmp_path: Path) -> None:
    with world_in(tmp_path) as world, world.sending() as process:
        process.await_line("following .*; 1 receiver", within=WITHIN)
        with contextlib.ExitStack() as brokers:
            for number in range(60):
                one = registration(
                    (f"T{number}",), broker_name=f"b{number:02}", broker_addr=f"10.0.0.{number}:10911"
                )
                brokers.enter_context(holding(world.server.address, encode_command(one)))
            eventually(
                lambda: len(world.server.ask(106).json()["brokerAddrTable"]) == 60,
                within=WITHIN,
                what="60 brokers",
            )
            await_later_millisecond()
        world.gets(1)
        process.await_line("ops: sent: .critical. 60 brokers went together", within=WITHIN)
        process.terminate()
        assert process.wait(within=WITHIN) == 0
        ((event,),) = (document["events"] for document in world.hook.documents)
        assert (event["facts"]["kind"], event["facts"]["brokers"]) == ("mass_disconnect", 60)
        assert (event["facts"]["topics"], event["severity"]) == (60, "critical")


def test_a_second_process_ends_with_one_line(tmp_path: Path) -> None:
    with world_in(tmp_path) as world, world.sending() as process:
        process.await_line("following .*; 1 receiver", within=WITHIN)
        second = subprocess.run(
            [*NAMEKEEPER, *world.words],
            env={**os.environ, **world.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2
        assert second.stdout == ""
        assert second.stderr == (
            f"namekeeper: {tmp_path}/outbox is in use by process {process.pid}: stop it, or name another outbox\n"
        )


def asked(world: World, *words: str) -> str:
    """What a command prints, in this process: a process of its own takes a quarter of a second of a processor."""
    done = CliRunner().invoke(namekeeper, [*words, *expecting(world)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def expecting(world: World) -> list[str]:
    return ["--expect", str(world.folder / "expected.toml")]


def test_a_deviation_is_sent_once_its_maintenance_window_is_over(tmp_path: Path) -> None:
    file, outbox = tmp_path / "expected.toml", tmp_path / "outbox" / "outbox.json"
    with world_in(tmp_path) as world, holding(world.server.address, REGISTERS):
        journal = ["--journal", str(tmp_path / "journal")]

        def has_learned() -> bool:
            asked(world, "expect", "learn", "--force", *journal)
            return '"orders"' in file.read_text()

        eventually(has_learned, within=WITHIN, what="the broker in the journal")
        asked(world, "expect", "learn", "--force", *journal)
        assert "nothing deviates" in asked(world, "expect", "check", *journal)
        lines = file.read_text().replace(
            '"orders"', '"payments" = { read = 1, write = 1, perm = "RW-" }\n"orders"'
        )
        file.write_text(lines)
        words = ("--from", "1 hour ago", "--for", "2h", "--topic", "payments")
        window = asked(world, "maintenance", "start", *words).partition(":")[0]
        eventually(
            lambda: f"planned: window {window}" in asked(world, "expect", "check", *journal),
            within=WITHIN,
            what="a deviation that is settled",
        )
        assert f"planned: window {window}" in asked(world, "expect", "check", *journal)
        (tmp_path / "messages.toml").write_text(f'expect = "expected.toml"\n{FILE}')
        with world.sending() as process:
            process.await_line("following .*; 1 receiver", within=WITHIN)
            eventually(
                lambda: outbox.exists() and f'"planned":"{window}"' in outbox.read_text(),
                within=WITHIN,
                what="the deviation in the outbox",
            )
            assert world.hook.events == []
            asked(world, "maintenance", "end", window)
            world.gets(1)
        (event,) = world.hook.documents[0]["events"]
        assert (event["event"], event["severity"]) == ("opened", "warning")
        assert event["facts"]["deviation"] == "topic_missing"
        jsonschema.validate(world.hook.documents[0], json.loads(schema()))
