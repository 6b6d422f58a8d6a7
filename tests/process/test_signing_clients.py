"""Our own programs and libraries sign what they send, with keys of options, the environment, or Java's file of tools."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from namekeeper.access.signature import sign
from namekeeper.broker import BrokerRegistrar, BrokerSettings, TopicConfigManager
from namekeeper.client import ClientConfig, MQClientInstance
from namekeeper.model.topic import TopicConfig
from tests.process.running import NameServerProcess, environment, holding
from tests.support.documents.commands import Typist
from tests.support.wire.ask import ask
from tests.unit.app.parts import frame, registration

RULES = 'mode = "enforce"\nkeys = "keys.toml"\n[[rule]]\nname = "who signs"\nrequests = ["any"]\nusers = ["ops"]\n'
KEY = "the key of ops"
REFUSED = "is refused: no rule"
WHAT_IF = "namekeeper what-if -n {} --without broker-a"
"""Ends with 1: topics would suffer."""
IN_PROCESS = (
    "mqadmin updateKvConfig -n {} -s n -k k -v v",
    "namekeeper admin topicList -n {}",
    "namekeeper compare {0} {0}",
    WHAT_IF,
    "namekeeper fleet -n {} --brokers 1 --duration 1s --speed fast --churn none",
)
COMMANDS = ("mqadmin clusterList -n {}", *IN_PROCESS)
"""Only the first one is a process, because all of them find their keys in the same way."""


@contextlib.contextmanager
def strict(folder: Path) -> Iterator[NameServerProcess]:
    """A name server that answers only who signs, and has a broker."""
    (folder / "access.toml").write_text(RULES)
    (folder / "keys.toml").write_text(f'[users]\nops = "{KEY}"\n')
    (folder / "keys.toml").chmod(0o600)
    with NameServerProcess(folder, access_file=str(folder / "access.toml")) as server:
        asked = registration()
        signed = sign(asked.ext_fields, asked.body, access_key="ops", secret_key=KEY)
        with holding(server.started().address, frame(103, asked.body, **signed)) as broker:
            assert broker.recv(1)
            yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServerProcess]:
    with strict(tmp_path_factory.mktemp("strict")) as server:
        yield server


def by_environment(_: Path) -> Mapping[str, str]:
    return {"ROCKETMQ_ACCESS_KEY": "ops", "ROCKETMQ_SECRET_KEY": KEY}


def by_file(folder: Path) -> Mapping[str, str]:
    (folder / "conf").mkdir()
    (folder / "conf" / "tools.yml").write_text(f"accessKey: ops\nsecretKey: {KEY}\n")
    return {"ROCKETMQ_HOME": str(folder)}


def by_flag(_: Path) -> Mapping[str, str]:
    return {"ROCKETMQ_SECRET_KEY": KEY}


def by_two_flags(_: Path) -> Mapping[str, str]:
    return {}


def wrongly(_: Path) -> Mapping[str, str]:
    return {"ROCKETMQ_ACCESS_KEY": "ops", "ROCKETMQ_SECRET_KEY": "guessed"}


@pytest.mark.parametrize(
    "given",
    [by_flag, by_two_flags, by_environment, by_file, wrongly, None],
    ids=lambda each: getattr(each, "__name__", "no"),
)
def test_every_command_signs(server, tmp_path, given):
    is_right = given not in (wrongly, None)
    flag = {by_flag: " --access-key ops", by_two_flags: f" --access-key ops --secret-key '{KEY}'"}.get(
        given, ""
    )
    env = {**environment(tmp_path), **(given(tmp_path) if given else {})}
    typist = Typist(env, tmp_path, {})
    for command in COMMANDS:
        types = typist.types_in_process if command in IN_PROCESS else typist.types
        done = types(command.format(server.address) + flag)
        said = done.stdout + done.stderr
        assert (done.returncode == (command == WHAT_IF)) == is_right, (command, said)
        assert (REFUSED in said) == (not is_right), (command, said)
        assert KEY not in said


@pytest.mark.parametrize("given", [None, by_environment, by_file], ids=["setting", "environment", "file"])
async def test_registrar_and_client_sign(tmp_path, given):
    with strict(tmp_path) as server:
        keys = {} if given else {"access_key": "ops", "secret_key": KEY}
        environ = given(tmp_path) if given else {}
        settings = BrokerSettings(
            broker_name="b", broker_addr="127.0.0.1:10911", namesrv_addr=server.address, **keys
        )
        config = ClientConfig(namesrv_addr=server.address, **keys)
        settings, config = await asyncio.to_thread(
            lambda: (settings.with_keys_from(environ), config.with_keys_from(environ))
        )
        topics = await TopicConfigManager.open(str(tmp_path / "topics.json"), [TopicConfig("T", 4, 4)])
        async with BrokerRegistrar(settings, topics) as registrar, MQClientInstance(config) as client:
            assert [result.error for result in registrar.last_results.values()] == [None]
            assert await client.update_topic_route_info_from_name_server("T")
        assert ask(server.address, 105, topic="T").code == 16
