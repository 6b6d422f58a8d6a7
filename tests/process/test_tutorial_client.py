"""The client's tutorial works as it is written."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.topic import TopicConfig
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.loop_thread import loop_thread
from tests.process.running import NameServerProcess, environment
from tests.support.server.builders import header
from tests.support.system.processes import Process, free_port
from tests.support.system.waiting import PATIENCE

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial-client.md"


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    loop_thread().stop()


@contextlib.contextmanager
def broker(addresses: Sequence[str]) -> Iterator[None]:
    """The broker of the other tutorial; it is gone when its connections are."""
    body = RegisterBrokerBody(topics=tuple(TopicConfig(topic, 4, 4) for topic in ("orders", "payments")))
    request = register_broker_request(header(addr="127.0.0.1:10911"), body)

    async def register() -> RemotingClient:
        client = RemotingClient()
        for address in addresses:
            answer = await client.invoke(address, request.code, request.ext_fields, request.body)
            assert answer.code == 0
        return client

    client = loop_thread().run(register(), timeout_seconds=20 * PATIENCE)
    try:
        yield
    finally:
        loop_thread().run(client.close(), timeout_seconds=20 * PATIENCE)


def follow(addresses: Sequence[str], text: str, watching: contextlib.ExitStack, tmp_path: Path) -> Process:
    """Chapters 1 to 3; returns `watch.py`, which goes on."""
    queues_code, blocking_code, watch_code = re.findall(
        r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    env = environment(tmp_path)

    def script(name: str, code: str) -> list[str]:
        for in_text, real in zip(("127.0.0.1:9876", "127.0.0.1:9877"), addresses, strict=True):
            code = code.replace(in_text, real)
        (tmp_path / name).write_text(code)
        return [sys.executable, str(tmp_path / name)]

    def run(name: str, code: str) -> str:
        command = script(name, code)
        done = subprocess.run(
            command, capture_output=True, text=True, env=env, timeout=30 * PATIENCE, check=False
        )
        assert (done.stderr, done.returncode) == ("", 0)
        return done.stdout

    with broker(addresses):
        lines = run("queues.py", queues_code).splitlines()
        assert lines == re.findall(r"^    (broker-a \d .*)$", text, re.MULTILINE)
        assert run("blocking.py", blocking_code).count("broker_name='broker-a'") == 4
        command = script("watch.py", watch_code)
        watch = watching.enter_context(Process("watch", command, output=tmp_path / "w.txt", env=env))
        watch.await_line("SubscribeQueuesChanged - 4 queues to write to", within=20)
    watch.await_line("RouteVanished - 4 queues to write to", within=20)
    with broker(addresses):
        again = r"RouteVanished(.|\n)*RouteAppeared - 4 queues to write to"
        watch.await_line(again, within=20)
    shown = re.findall(r"^    (\w+ - 4 queues to write to)$", text, re.MULTILINE)
    assert re.findall(r"^\w+ - .*$", watch.text(), re.MULTILINE)[: len(shown)] == shown
    return watch


def test_its_programs_print_what_it_says_and_survive_what_it_does(tmp_path):
    text = TUTORIAL.read_text()
    with contextlib.ExitStack() as watching:
        port = str(free_port())
        with (
            NameServerProcess(tmp_path / "first", listen_port=port) as first,
            NameServerProcess(tmp_path / "second") as second,
        ):
            addresses = [server.started().address for server in (first, second)]
            watch = follow(addresses, text, watching, tmp_path)
        watch.await_line("no name server answered.*routes stay in use", within=20)
        with NameServerProcess(tmp_path / "first", listen_port=port) as first:
            first.started()
            watch.await_line("name servers answer again", within=20)
        assert watch.text().count("no name server answered") <= 2  # and not with every poll


def test_the_pages_it_names_are_there():
    for page in re.findall(r"\]\(([\w/-]+\.md)\)", TUTORIAL.read_text()):
        assert (TUTORIAL.parent / page).exists(), page
