"""RocketMQ clients in C++, Go and Node: built once under target/, run as processes of their own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.java.artifacts import REPO, locked
from tests.support.system.processes import ProcessError, scratch_folder

__all__ = ["CLIENTS", "Client"]

_SOURCES = REPO / "tests" / "interop"
_TARGET = REPO / "target" / "clients"


@dataclass(frozen=True, slots=True)
class Client:
    """A client in some language; `build` is idempotent and returns its command line."""

    language: str
    tools: Sequence[str]
    """What must be on the PATH to build and to run it."""
    build: Callable[[Path], list[str]]
    env: Mapping[str, str]

    def missing(self) -> str | None:
        """Return why it can't run here, or None."""
        missing = [tool for tool in self.tools if shutil.which(tool) is None]
        return f"{' and '.join(missing)} not on the PATH" if missing else None

    def command(self) -> list[str]:
        """Return its command line; build it first if need be."""
        with locked(_TARGET / f"{self.language}.lock"):
            return self.build(_TARGET / self.language)

    def exchange(self, namesrv: str, topic: str, group: str, count: int) -> list[dict[str, Any]]:
        """Send messages to a topic that exists, then receive as many."""
        command = self.command()
        with scratch_folder("client-") as home:  # where clients write their logs
            done = subprocess.run(
                [*command, namesrv, topic, group, str(count)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
                cwd=home, env={**os.environ, "HOME": str(home), **self.env},
            )  # fmt: skip
        if done.returncode:
            raise ProcessError(f"{self.language} client: {done.returncode}\n{done.stdout}{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _cpp(folder: Path) -> list[str]:
    python = folder / "venv" / "bin" / "python"
    if not (folder / "complete").exists():
        _run([sys.executable, "-m", "venv", "--clear", str(folder / "venv")])
        _run([str(python), "-m", "pip", "install", "--quiet", "rocketmq==0.4.4"])
        (folder / "complete").touch()
    return [str(python), str(_SOURCES / "cpp" / "peer.py")]


def _go(folder: Path) -> list[str]:
    _run(["go", "build", "-o", str(folder / "peer"), "."], cwd=_SOURCES / "go")
    return [str(folder / "peer")]


def _node(folder: Path) -> list[str]:
    manifest = _SOURCES / "node" / "package.json"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(manifest, folder)
        _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev"], cwd=folder)
        (folder / "complete").touch()
    return ["node", str(_SOURCES / "node" / "peer.js")]


def _run(command: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=cwd
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


CLIENTS = (
    Client("cpp", (), _cpp, {}),
    Client("go", ("go",), _go, {}),
    Client("node", ("node", "npm"), _node, {"NODE_PATH": str(_TARGET / "node" / "node_modules")}),
)
