"""The servers under comparison, as processes."""

import contextlib
from collections.abc import Iterator
from typing import Self

from tests.differential.peers import Peer
from tests.support.java.servers import JavaNameServer, write_properties
from tests.support.java_model.tables import Rules
from tests.support.server.front import FRONT_UNDER_TEST, serve_command
from tests.support.system.processes import Process, free_port, scratch_folder

__all__ = ["JAVA_PROPERTIES", "OURS", "start"]

OURS = "namekeeper"

_SCAN_MS = 50
"""Expiry is awaited often, so it must come soon."""

JAVA_PROPERTIES = {
    "scanNotActiveBrokerInterval": _SCAN_MS,
    "defaultThreadPoolNums": 1,  # so that what is sent over one connection is handled in this order
    "clientRequestThreadPoolNums": 1,
    "serverWorkerThreads": 1,
}


@contextlib.contextmanager
def start(release: str, *, shared: bool) -> Iterator[Peer]:
    """Start namekeeper, or Java's name server of a release; `shared` for what 4.x and 5.x do alike."""
    if release == OURS:
        with _Namekeeper() as ours:
            peer = Peer(
                OURS, ours.address, Rules.ours(), release, ours.restart, shared=shared, report=ours.report
            )  # fmt: skip
            with contextlib.closing(peer):
                yield peer
    else:
        with JavaNameServer(release, JAVA_PROPERTIES, jvm=("-Xmx256m",)) as java:
            peer = Peer(
                f"Java {release}", java.address, Rules(), release, lambda _: java.restart(), shared=shared,
                report=java.report,
            )  # fmt: skip
            with contextlib.closing(peer):
                yield peer


class _Namekeeper:
    """Ours; its port and its files stay over restarts."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            self._home = opened.enter_context(scratch_folder("namekeeper-"))
            port = free_port()
            self.address = f"127.0.0.1:{port}"
            values = {
                "listenPort": port, "bindAddress": "127.0.0.1", "front": FRONT_UNDER_TEST, "httpPort": -1,
                "scanNotActiveBrokerInterval": _SCAN_MS, "allowConfigUpdate": "true",
                "kvConfigPath": self._home / "kv.json", "logRoot": self._home / "logs",
                "journalPath": self._home / "journal",
            }  # fmt: skip
            self._properties = write_properties(self._home / "namesrv.properties", values)
            self._start(restore_routes=True)
            opened.callback(self._kill)
            self._resources = opened.pop_all()
        return self

    def restart(self, restore_routes: bool) -> None:
        """Stop it, which must end with status 0, and start it again with a value of that property."""
        self._process.terminate()
        status = self._process.wait(within=30)
        assert status == 0, f"ended with {status}:\n{self._process.report()}"
        self._process.output.unlink()  # or the line of the boot before would be found in it
        self._process.kill()  # it has ended; this is no longer among the processes that run
        self._start(restore_routes=restore_routes)

    def report(self) -> str:
        """Return the end of its output and of its log files."""
        return self._process.report()

    def _kill(self) -> None:
        self._process.kill()

    def _start(self, *, restore_routes: bool) -> None:
        command = [
            *serve_command(), "-c", str(self._properties), "--restore-routes", str(restore_routes).lower(),
        ]  # fmt: skip
        self._process = Process(
            "namekeeper", command, output=self._home / "stdout.txt", logs=self._home / "logs", cwd=self._home
        )
        self._process.await_line(r"boot success", within=30)

    def __exit__(self, *_: object) -> None:
        self._resources.close()
