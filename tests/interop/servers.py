"""The name server under test: ours, or Java's own to prove that a test asks for nothing more than Java gives."""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.java.servers import JavaNameServer, write_properties
from tests.support.server.front import FRONT_UNDER_TEST, serve_command
from tests.support.system.processes import Process, eventually, free_port, scratch_folder
from tests.support.wire.ask import ask

__all__ = ["JAVA_UNDER_TEST", "NameServer", "Namekeeper", "name_server_under_test", "observe_command"]

JAVA_UNDER_TEST = os.environ.get("NAMEKEEPER_INTEROP_SERVER", "").startswith("java")
"""NAMEKEEPER_INTEROP_SERVER=java (that is, java-5.5.0) or java-4.8.0 puts Java's name server in our place."""

BOOT_LINE = r"The Name Server boot success\. serializeType=JSON, address (127\.0\.0\.1:\d+)"


class Namekeeper:
    """Our name server as a process on a free port; leaving it stops it, and it must end with status 0."""

    def __init__(
        self, properties: Mapping[str, object] | None = None, *, port: int = 0, tls: bool = False
    ) -> None:
        self.properties = dict(properties or {})
        self.port = port
        self.tls = tls
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            self.home = opened.enter_context(scratch_folder("namekeeper-"))
            self.port = self.port or free_port()  # held for it until it starts again
            self._start(self.home)
            opened.callback(self.process.kill)
            self.address = self.process.await_line(BOOT_LINE, within=20)[1]
            eventually(lambda: ask(self.address, 106, tls=self.tls), within=10, what="an answer to 106")
            self._resources = opened.pop_all()
        return self

    def restart(self, *, kill: bool = False) -> None:
        """Stop it in an orderly way, or kill it, and start it again at the same port with the same files."""
        if kill:
            self.process.kill()
        else:
            self.stop()
        self.process.output.unlink()  # or the line of the boot before would be found in it
        self._start(self.home)
        self._resources.callback(self.process.kill)
        self.process.await_line(BOOT_LINE, within=20)

    def _start(self, home: Path) -> None:
        values = {
            "listenPort": self.port,
            "bindAddress": "127.0.0.1",
            "rocketmqHome": home,
            "kvConfigPath": home / "kvConfig.json",
            "logRoot": home / "logs",
            "httpPort": 0,
            "allowConfigUpdate": "true",  # Java allows changes without being asked
            "front": FRONT_UNDER_TEST,
            **self.properties,
        }
        file = write_properties(home / "namesrv.properties", values)
        self.process = Process(
            "namekeeper", [*serve_command(), "-c", str(file)],
            output=home / "stdout.txt", env={"HOME": str(home), "ROCKETMQ_HOME": str(home)}, logs=home, cwd=home,
        )  # fmt: skip

    def stop(self) -> None:
        """Stop it in an orderly way and insist on exit status 0; may be called twice."""
        if self.process.returncode is None:
            self.process.terminate()
        status = self.process.wait(within=20)
        assert status == 0, f"ended with {status}:\n{self.process.report()}"

    def __exit__(self, *_: object) -> None:
        with self._resources:
            self.stop()


NameServer = Namekeeper | JavaNameServer


def name_server_under_test(
    properties: Mapping[str, object] | None = None, *, tls_mode: str = "permissive"
) -> NameServer:
    """Return the name server that this run of the tests is about, not started yet."""
    tls = tls_mode == "enforcing"
    if not JAVA_UNDER_TEST:
        return Namekeeper({**(properties or {}), "tls.server.mode": tls_mode}, tls=tls)
    version = os.environ["NAMEKEEPER_INTEROP_SERVER"].removeprefix("java").removeprefix("-") or "5.5.0"
    return JavaNameServer(version, properties, jvm=(f"-Dtls.server.mode={tls_mode}",), tls=tls)


def observe_command(addr: str, folder: Path, *more: str) -> list[str]:
    """The command that keeps the journal of a name server, below `observed` in a folder.

    Args:
        addr: of the name server.
        folder: where its journal is kept.
        more: further options.
    """
    journal = ["--journal", str(folder / "observed")]
    words = ["observe", "-n", addr, *journal, "--budget", "5", "--port", "0", *more]
    return [sys.executable, "-m", "namekeeper", *words]
