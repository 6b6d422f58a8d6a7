"""Killed at any instant while it writes, a name server leaves the KV file whole, old or new, and starts again."""

import json
import os
import random
import threading

from tests.process.running import NameServerProcess
from tests.support.system.processes import eventually
from tests.support.wire.ask import ask

KILLS = int(os.environ.get("NAMEKEEPER_KILLS", "8"))
SIZE = 64 * 1024
"""Characters of a value: large enough for a write to take a while."""


class Writer:
    """Puts ever larger numbers until the server is gone; knows which one was confirmed last."""

    def __init__(self, address: str, first: int) -> None:
        self._address = address
        self.sent = self.confirmed = first
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        try:
            while True:
                self.sent += 1
                fields = {"namespace": "ns", "key": "number", "value": f"{self.sent}{'x' * SIZE}"}
                assert ask(self._address, 100, **fields).code == 0
                self.confirmed = self.sent
        except OSError:
            pass  # it was killed

    def join(self) -> None:
        self._thread.join()


def number_in(text: str) -> int:
    return int(json.loads(text)["configTable"]["ns"]["number"].rstrip("x"))


def test_kill_9_while_the_kv_file_is_written(tmp_path):
    chance = random.Random(9)
    number = 0
    for _ in range(KILLS):
        with NameServerProcess(tmp_path) as server:
            server.started()
            writer = Writer(server.address, number)
            wanted = number + chance.randint(1, 4)
            eventually(
                lambda writer=writer, wanted=wanted: writer.confirmed >= wanted, within=20, what="writes"
            )
            server.kill()
            writer.join()
        number = number_in(server.kv_file.read_text())
        assert writer.confirmed <= number <= writer.sent
        backup = tmp_path / "kv.json.bak"
        assert number_in(backup.read_text()) in {number, number - 1}
    with NameServerProcess(tmp_path) as server:
        value = server.started().ask(101, namespace="ns", key="number").fields["value"]
        assert int(value.rstrip("x")) == number
