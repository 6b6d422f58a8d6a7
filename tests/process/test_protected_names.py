"""protectBrokerNames over kill -9 and a restart: a stranger does not take the place of a broker that is not back yet."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, holding
from tests.support.system.processes import eventually, free_port
from tests.unit.app.parts import registration

OWNER, STRANGER = "127.0.0.1", "127.0.0.2"


def answer_to(connection: socket.socket, **fields: str) -> bytes:
    connection.sendall(encode_command(registration(**fields)))
    return connection.recv(65_536)


@contextmanager
def server(folder: Path, port: int) -> Iterator[NameServerProcess]:
    flags = {
        "listen_port": str(port), "protect_broker_names": "true", "journal_path": str(folder / "journal"),
        "journal_enable": "true", "restore_routes": "true",
    }  # fmt: skip
    with NameServerProcess(folder, **flags) as running:
        yield running.started()


def has_recorded(folder: Path) -> bool:
    return any(b"broker-a" in file.read_bytes() for file in (folder / "journal").glob("*.jsonl*"))


def test_a_stranger_does_not_take_the_place_of_a_restored_broker(tmp_path):
    port = free_port()
    with server(tmp_path, port) as first, holding(first.address, source=OWNER) as broker:
        assert b'"code":0' in answer_to(broker)
        eventually(lambda: has_recorded(tmp_path), within=20, what="the record")
        first.kill()
    for _ in range(2):  # the second restart finds a row that was restored before
        with server(tmp_path, port) as again:
            with holding(again.address, source=STRANGER) as stranger:
                assert b'"code":16' in answer_to(stranger)
            again.kill()
    with server(tmp_path, port) as last:
        with holding(last.address, source=STRANGER) as stranger:
            assert b'"code":16' in answer_to(stranger)
        with holding(last.address, source=OWNER) as broker:
            assert b'"code":0' in answer_to(broker)
