"""The servers under comparison, as processes."""

import contextlib
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.differential.peers import Peer
from tests.support.java.servers import JavaNameServer
from tests.support.java_model.tables import Rules
from tests.support.server.front import FRONT_UNDER_TEST, serve_command
from tests.support.system.processes import Process

__all__ = ["JAVA_PROPERTIES", "OURS", "start"]

OURS = "namekeeper"

_SCAN_MS = 50
"""Expiry is awaited often, so it must come soon."""

_RESTORE_ROUTES = itertools.cycle(("true", "false"))
"""Every other server of ours: it makes no difference to one that starts without a journal."""

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
        with _namekeeper() as address:
            peer = Peer(OURS, address, Rules.ours(), release, shared=shared)
            with contextlib.closing(peer):
                yield peer
    else:
        with JavaNameServer(release, JAVA_PROPERTIES, jvm=("-Xmx256m",)) as server:
            peer = Peer(f"Java {release}", server.address, Rules(), release, shared=shared)
            with contextlib.closing(peer):
                yield peer


@contextlib.contextmanager
def _namekeeper() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="namekeeper-") as folder:
        home = Path(folder)
        command = [
            *serve_command(), "--listen-port", "0", "--bind-address", "127.0.0.1", "--front", FRONT_UNDER_TEST,
            "--http-port", "-1", "--scan-not-active-broker-interval", str(_SCAN_MS), "--allow-config-update",
            "--kv-config-path", str(home / "kv.json"), "--config-store-path", str(home / "namesrv.properties"),
            "--log-root", str(home / "logs"), "--journal-path", str(home / "journal"),
            "--restore-routes", next(_RESTORE_ROUTES),
        ]  # fmt: skip
        with Process(
            "namekeeper", command, output=home / "stdout.txt", logs=home / "logs", cwd=home
        ) as process:
            line = process.await_line(r"boot success.*address ([\d.]+:\d+)", within=30)
            yield line[1]
