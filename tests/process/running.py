"""The real process, started as a user would start it: output and log apart, ended by its own id."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.server.front import FRONT_UNDER_TEST, serve_command
from tests.support.system.processes import eventually
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import Answer, ask

__all__ = ["BIN", "BOOT", "PATIENCE_SECONDS", "NameServerProcess", "environment", "holding"]

BIN = Path(sys.executable).parent
BOOT = re.compile(r"^The Name Server boot success\. serializeType=JSON, address (\S+:\d+)$", re.MULTILINE)
IDLE_SECONDS = 20.0
"""What an idle machine needs for anything here, many times over."""

PATIENCE_SECONDS = IDLE_SECONDS * PATIENCE


class NameServerProcess:
    """`namekeeper serve` with everything below one folder; a context manager that always ends it.

    Arguments are flags of `serve` by field name; `command` starts something else, without them, and `serve_as`
    another program with them.
    """

    def __init__(
        self,
        folder: Path,
        *more: str,
        command: tuple[str, ...] = (),
        serve_as: tuple[str, ...] = (),
        **flags: str,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.kv_file = folder / "kv.json"
        self.log_root = folder / "logs"
        given = {
            "listen_port": "0", "bind_address": "127.0.0.1", "http_port": "-1", "tls_config_file": "",
            "kv_config_path": str(self.kv_file), "log_root": str(self.log_root), "front": FRONT_UNDER_TEST, **flags,
        }  # fmt: skip
        arguments = [word for field, text in given.items() for word in (f"--{field.replace('_', '-')}", text)]
        words = command or (*(serve_as or serve_command()), *arguments)
        self._files = folder / "stdout.txt", folder / "stderr.txt"
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            self._child = subprocess.Popen(
                [*words, *more], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment(folder)
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def out(self) -> str:
        return self._files[0].read_text()

    @property
    def err(self) -> str:
        return self._files[1].read_text()

    @property
    def log(self) -> str:
        file = self.log_root / "namesrv.log"
        return file.read_text() if file.exists() else ""

    def started(self) -> Self:
        """Wait for the line that scripts wait for."""

        def seen() -> bool:
            ended = self._child.poll()  # first, since it may end while its output is read
            found = BOOT.search(self.out) is not None
            if ended is not None and not found:
                raise RuntimeError(f"ended with {ended}: {self.out}{self.err}")
            return found

        eventually(seen, within=IDLE_SECONDS, what="the boot line")
        return self

    @property
    def address(self) -> str:
        found = BOOT.search(self.out)
        assert found is not None, self.out
        return found[1]

    def ask(self, code: int, body: bytes = b"", **fields: str) -> Answer:
        return ask(self.address, code, body, timeout=PATIENCE_SECONDS, **fields)  # type: ignore[arg-type] # they are strings

    def logged(self, text: str) -> None:
        """Wait until a text is in the log."""
        eventually(lambda: text in self.log, within=IDLE_SECONDS, what=f"{text!r} in the log")

    def records_to(self, journal: Path) -> None:
        """Wait until its journal has a file: recording begins after the boot line."""
        eventually(
            lambda: [*journal.glob("*.jsonl*")], within=PATIENCE_SECONDS, what=f"a journal in {journal}"
        )

    def signal(self, number: int) -> None:
        self._child.send_signal(number)

    def ended(self, *, within: float = PATIENCE_SECONDS) -> int:
        """Wait for its end, for so many seconds at most; its exit status."""
        return self._child.wait(within)

    def stop(self) -> int:
        """Stop it in order; its exit status."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child.poll() is None:
            self.kill()
        if error is not None:
            print(f"--- stdout\n{self.out}\n--- stderr\n{self.err}\n--- log\n{self.log}")


def environment(home: Path) -> dict[str, str]:
    """Ours without what would change a server's settings."""
    ours = ("NAMEKEEPER_", "ROCKETMQ_", "NAMESRV_", "PYTEST_", "COVERAGE_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    return {**kept, "HOME": str(home)}


@contextlib.contextmanager
def holding(address: str, *frames: bytes, source: str = "") -> Iterator[socket.socket]:
    """A connection that sent some frames and stays; from an address of this host, if one is given."""
    host, _, port = address.rpartition(":")
    local = (source, 0) if source else None
    with socket.create_connection((host.strip("[]"), int(port)), PATIENCE_SECONDS, local) as connection:
        connection.sendall(b"".join(frames))
        yield connection
