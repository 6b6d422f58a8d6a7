"""Name servers of the demo, each in a process of its own, with everything they write below one folder."""

import asyncio
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from namekeeper.errors import NamekeeperError

__all__ = ["BOOT", "DemoServer"]

BOOT = "The Name Server boot success."
STOP_SECONDS = 120.0


class DemoServer:
    """A name server that can be stopped and started again; a context manager that leaves it stopped."""

    def __init__(self, home: Path, namesrv: str) -> None:
        self.namesrv = namesrv
        """The server's id in the journal."""
        self.journal = home / namesrv / "journal"
        self.addr = ""
        """Where it listens, from the first start on."""
        self._home = home / namesrv
        self._home.mkdir(parents=True)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    async def start(self) -> None:
        """Start it, at the port that it had before if there was one.

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
        command = self._command()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith(BOOT):
            raise NamekeeperError(
                f"a name server did not start; run it by hand to see why: {' '.join(command)}"
            )
        self.addr = line.rsplit(" ", 1)[1].strip()

    def _command(self) -> list[str]:
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
        flags = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [sys.executable, "-m", "namekeeper", "serve", *flags]

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        process.wait(STOP_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
