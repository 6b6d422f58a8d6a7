"""An artifact in an empty environment: its commands start, and a server that runs from it answers a look-up."""

import subprocess
import sys
from pathlib import Path

from tests.process.running import NameServerProcess, environment
from tests.release.artifacts import BuildError

__all__ = ["install", "try_out"]

PATIENCE_SECONDS = 120

REGISTER_AND_LOOK_UP = """
import asyncio, sys
from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.client import ClientConfig, MQClientInstance
from namekeeper.model.topic import TopicConfig

async def main(namesrv):
    settings = BrokerSettings(
        broker_name="broker-a", broker_addr="127.0.0.1:10911", ha_server_addr="127.0.0.1:10912",
        namesrv_addr=namesrv,
    )
    async with BrokerRegistrar(settings, [TopicConfig("orders", 4, 4)]):
        async with MQClientInstance(ClientConfig(namesrv_addr=namesrv)) as client:
            route = await client.topic_route("orders")
            print(route.broker_datas[0].broker_addrs[0])

asyncio.run(main(sys.argv[1]))
"""
"""What a program of a user does; run by the Python of the environment."""


def install(artifact: Path, folder: Path, constraints: Path, *others: Path) -> Path:
    """Install artifacts and what they need, and nothing else; returns the folder of their commands."""
    run([sys.executable, "-m", "venv", str(folder)])
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, "--constraint", str(constraints), str(artifact), *map(str, others)])
    return folder / "bin"


def try_out(commands: Path, home: Path, version: str, *options: str) -> None:
    """Use what is installed, as its users do.

    Args:
        commands: The folder of its commands.
        home: A folder for the files of a server.
        version: Of the server.
        options: More options for it.

    Raises:
        BuildError: Something does not do what it has to.
    """
    _expect(run([str(commands / "namekeeper"), "--version"], home), version)
    link = home / "mqnamesrv of a guide"
    link.symlink_to(commands / "mqnamesrv")
    for words in ([], ["sh"], ["bash"], [str(commands / "python")]):
        for command in (commands / "mqnamesrv", link):
            _expect(run([*words, str(command), "-h"], home), "usage: mqnamesrv")
    _expect(run(["sh", str(commands / "mqadmin")], home), "commands are")
    serve = (
        str(commands / "namekeeper"), "serve", "--listen-port", "0", "--bind-address", "127.0.0.1",
        "--http-port", "-1", "--kv-config-path", str(home / "kv.json"), "--log-root", str(home / "logs"),
        *options,
    )  # fmt: skip
    with NameServerProcess(home, command=serve) as server:
        server.started()
        looked_up = run([str(commands / "python"), "-c", REGISTER_AND_LOOK_UP, server.address], home)
        _expect(looked_up, "127.0.0.1:10911")
        clusters = run([str(commands / "mqadmin"), "clusterList", "-n", server.address], home)
        _expect(clusters, "#Cluster Name")
        if status := server.stop():
            raise BuildError(f"the server ended with {status}: {server.err}")


def run(command: list[str], home: Path | None = None) -> str:
    """Run a command, which must end with 0; returns what it printed."""
    done = subprocess.run(
        command, cwd=home, env=environment(home) if home else None, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE_SECONDS * 5, check=False,
    )  # fmt: skip
    if done.returncode:
        raise BuildError(f"{' '.join(command[:4])} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _expect(printed: str, text: str) -> None:
    if text not in printed:
        raise BuildError(f"{text!r} is not in what was printed:\n{printed}")
