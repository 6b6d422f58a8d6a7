"""A lent socket takes a second descriptor; connections and files come first."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from namekeeper.wire.codec import encode_command
from tests.process.running import IDLE_SECONDS, PATIENCE_SECONDS, NameServerProcess, holding
from tests.support.server.front import serve_command
from tests.support.system.processes import eventually
from tests.unit.app.parts import frame, registration

pytest.importorskip("namekeeper_front", reason="make native builds it")

DESCRIPTORS = 900
IDLE = 500
"""More than half of the descriptors: two for each are too many."""
KEPT_FOR_FILES = 64
LENT_AT_LEAST = 100
KNOWN = frame(105, topic="T1", opaque=7)
LOOK_UPS = 6
"""Before a connection falls silent; enough for its socket to be lent."""


@contextlib.contextmanager
def serving(folder: Path, **flags: str) -> Iterator[NameServerProcess]:
    """A process of its own with few descriptors and the native front."""
    given = {
        "listen_port": "0", "bind_address": "127.0.0.1", "http_port": "-1", "tls_config_file": "",
        "kv_config_path": str(folder / "kv.json"), "log_root": str(folder / "logs"), "front": "native", **flags,
    }  # fmt: skip
    arguments = [word for field, text in given.items() for word in (f"--{field.replace('_', '-')}", text)]
    limited = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *serve_command(), *arguments)
    with NameServerProcess(folder, command=limited) as server:
        server.started()
        with holding(server.address, encode_command(registration(("T1", "T2")))):
            eventually(
                lambda: server.ask(105, topic="T1").code == 0, within=IDLE_SECONDS, what="the route of T1"
            )
            yield server


def look_up(connection: socket.socket, times: int) -> None:
    for _ in range(times):
        connection.sendall(KNOWN)
        head = connection.recv(4, socket.MSG_WAITALL)
        assert len(head) == 4, "closed"
        size = int.from_bytes(head, "big")
        assert b'"code":0,' in connection.recv(size, socket.MSG_WAITALL)


def descriptors(server: NameServerProcess) -> int:
    return len([*Path(f"/proc/{server.pid}/fd").iterdir()])


def test_idle_connections_that_were_lent_leave_descriptors_for_files_and_for_others(tmp_path):
    with serving(tmp_path) as server, contextlib.ExitStack() as stack:
        host_and_port = "127.0.0.1", int(server.address.rpartition(":")[2])
        before = descriptors(server)
        idle = []
        for _ in range(IDLE):
            connection = socket.create_connection(host_and_port, PATIENCE_SECONDS)
            idle.append(stack.enter_context(connection))
            look_up(connection, LOOK_UPS)
        assert descriptors(server) > before + IDLE + LENT_AT_LEAST
        assert descriptors(server) <= DESCRIPTORS - KEPT_FOR_FILES
        for _ in range(3):
            with socket.create_connection(host_and_port, PATIENCE_SECONDS) as other:
                look_up(other, LOOK_UPS)
        for connection in idle:
            look_up(connection, 1)
