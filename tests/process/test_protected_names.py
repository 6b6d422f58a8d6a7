"""protectBrokerNames over kill -9 and a restart: a stranger does not take the place of a broker that is not back yet."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, holding
from tests.support.system.processes import eventually, free_port
from tests.unit.app.parts import registration

OWNER, STRANGER = "127.0.0.1", "127.0.0.2"


def answer_to(connection: socket.socket, **fields: str) -> bytes:
    connection.sendall(encode_command(registration(**fields)))
    return connection.recv(65_536)


@contextlib.contextmanager
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


class InsistentStranger(threading.Thread):
    """Registers the name of the owner as fast as it can, whether or not a server is there."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._address = f"127.0.0.1:{port}"
        self._is_over = threading.Event()
        self.answers: list[bytes] = []

    def run(self) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(OSError), holding(self._address, source=STRANGER) as connection:
                while not self._is_over.is_set():
                    answer = answer_to(connection, addr="10.9.9.9:10911")
                    if not answer:
                        break
                    self.answers.append(answer)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()


def test_a_stranger_that_never_stops_is_refused_each_time_and_the_owner_is_back_at_once(tmp_path):
    port = free_port()
    with server(tmp_path, port) as first, holding(first.address, source=OWNER) as broker:
        assert b'"code":0' in answer_to(broker)
        eventually(lambda: has_recorded(tmp_path), within=20, what="the record")
        with InsistentStranger(port) as stranger:
            eventually(lambda: stranger.answers, within=20, what="refusals before the kill")
            first.kill()
            before = len(stranger.answers)
            with server(tmp_path, port) as again:
                eventually(lambda: len(stranger.answers) > before + 100, within=20, what="refusals after it")
                with holding(again.address, source=OWNER) as back:
                    assert b'"code":0' in answer_to(back)
                    seen = len(stranger.answers)
                    eventually(
                        lambda: len(stranger.answers) > seen + 100, within=20, what="refusals beside it"
                    )
    assert [answer for answer in stranger.answers if b'"code":16' not in answer] == []
