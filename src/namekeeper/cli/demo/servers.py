"""Processes of the demo: its name servers, and an observer beside one. They write below one folder."""

import asyncio
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from namekeeper.errors import NamekeeperError

__all__ = ["BOOT", "DemoObserver", "DemoServer"]

BOOT = "The Name Server boot success."
STOP_SECONDS = 120.0


class _DemoProcess(ABC):
    """A process that can be stopped and started again; a context manager that leaves it stopped."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    async def start(self) -> None:
        """Start it, and wait until it is up.

        Raises:
            NamekeeperError: it did not start.
        """
        starting = asyncio.get_running_loop().run_in_executor(None, self._start)
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            await starting  # nobody would stop a process that starts later
            raise

    async def stop(self) -> None:
        """Stop it in order: its journal is sealed."""
        await asyncio.to_thread(self._stop)

    def _start(self) -> None:
        command = [sys.executable, "-m", "namekeeper", *self._words()]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        if not any(self._is_up(line) for line in self._process.stdout):
            raise NamekeeperError(f"it did not start; run it by hand to see why: {' '.join(command)}")

    @abstractmethod
    def _words(self) -> list[str]:
        """The subcommand of `namekeeper` and its options."""

    @abstractmethod
    def _is_up(self, line: str) -> bool:
        """Whether a line of its output says that it is up."""

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        process.wait(STOP_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


class DemoServer(_DemoProcess):
    """A name server; from its second start on it listens at the port that it had before."""

    def __init__(self, home: Path, namesrv: str) -> None:
        super().__init__()
        self.namesrv = namesrv
        """The server's id in the journal."""
        self.journal = home / namesrv / "journal"
        self.addr = ""
        """Where it listens, from the first start on."""
        self._home = home / namesrv
        self._home.mkdir(parents=True)

    def _words(self) -> list[str]:
        port = self.addr.rpartition(":")[2] or "0"
        options = {
            "listen-port": port,
            "bind-address": "127.0.0.1",
            "kv-config-path": str(self._home / "kvConfig.json"),
            "log-root": str(self._home / "logs"),
            "journal-path": str(self.journal),
            "journal-namesrv-id": self.namesrv,
            "scan-not-active-broker-interval": "500",
            "http-port": "-1",
        }
        return ["serve", *(word for name, value in options.items() for word in (f"--{name}", value))]

    def _is_up(self, line: str) -> bool:
        self.addr = line.rsplit(" ", 1)[-1].strip()
        return line.startswith(BOOT)


class DemoObserver(_DemoProcess):
    """An observer of one name server, to which it sends read requests only."""

    def __init__(self, home: Path, server: DemoServer) -> None:
        super().__init__()
        self.folder = home / "beside"
        """The folder with its journal."""
        self._server = server

    def _words(self) -> list[str]:
        return ["observe", "-n", self._server.addr, "--journal", str(self.folder), "--port", "-1"]

    def _is_up(self, line: str) -> bool:
        return "observed:" in line
