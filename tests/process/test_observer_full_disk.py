"""A full disk of an observer stops recording and says so: page, messages and our own name servers go on.

The disk is a small one in memory, in a mount namespace of the observer's own; needs root.
"""

import contextlib
import json
import socket
import sys
import urllib.request
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from namekeeper.wire.codec import encode_command
from tests.process.running import PATIENCE_SECONDS, NameServerProcess, environment, holding
from tests.support.server.webhook import WebhookServer
from tests.support.system.namespaces import why_no_namespaces
from tests.support.system.processes import Process, eventually
from tests.unit.app.parts import registration

UNSHARE = ("unshare", "--mount", "--propagation", "private")
WITHIN = 60.0
MESSAGES = 'outbox = "outbox"\n[receivers.ops]\ntype = "webhook"\nurl_file = "url"\ngrace = "0s"\n'


@pytest.fixture(scope="module", autouse=True)
def _possible():
    if reason := why_no_namespaces(("unshare",), (*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt")):
        pytest.skip(reason)


class Observer:
    """An observer of one name server whose journals are on a small disk, beside a journal on another disk."""

    def __init__(self, folder: Path, address: str, own: Path) -> None:
        disk = folder / "disk"
        disk.mkdir()
        (folder / "messages.toml").write_text(MESSAGES)
        words = (
            sys.executable, "-m", "namekeeper", "observe", "-n", address, "--journal", str(disk / "observed"),
            "--with-journal", str(own), "--messages", str(folder / "messages.toml"), "--budget", "10", "--port", "0",
        )  # fmt: skip
        mount = f'mount -t tmpfs -o size=2m tmpfs {disk}; exec "$@"'
        self.process = Process(
            "observe", [*UNSHARE, "sh", "-ec", mount, "sh", *words], output=folder / "observe.txt",
            env=environment(folder),
        )  # fmt: skip
        self.disk = Path(f"/proc/{self.process.pid}/root{disk}")

    def get(self, path: str) -> str:
        page = self.process.await_line(r"(http://127\.0\.0\.1:[0-9]+)/\n", within=WITHIN)[1]
        with urllib.request.urlopen(f"{page}{path}", timeout=PATIENCE_SECONDS) as answer:
            text: str = answer.read().decode()
            return text

    def fill(self) -> None:
        with contextlib.suppress(OSError), (self.disk / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4_096)

    def says(self, line: str) -> bool:
        return line in self.process.text()


@contextlib.contextmanager
def observer_of(folder: Path, address: str, own: Path) -> Iterator[Observer]:
    observer = Observer(folder, address, own)
    try:
        yield observer
    finally:
        observer.process.kill()


def test_a_full_disk_of_the_observer_stops_recording_and_says_so_and_the_rest_goes_on(tmp_path: Path) -> None:
    own = tmp_path / "own"
    with (
        WebhookServer() as hook,
        NameServerProcess(tmp_path / "observed").started() as observed,
        NameServerProcess(tmp_path / "server", journal_path=str(own)).started() as ours,
        holding(observed.address, encode_command(registration(("T",)))) as broker,
    ):
        ours.records_to(own)
        (tmp_path / "url").write_text(hook.url("/ops"))
        with observer_of(tmp_path, observed.address, own) as observer:
            observer.process.await_line("observed: 1 broker, 1 topic", within=WITHIN)
            observer.fill()
            numbers = count()
            eventually(
                lambda: changes(broker, next(numbers)) and observer.says(": not recording: "),
                within=WITHIN, what="the line about the disk",
            )  # fmt: skip
            assert observer.says("No space left on device")
            health = json.loads(observer.get("/readyz"))
            assert (health["ready"], list(health["reasons"])) == (True, ["recording"])
            metrics = observer.get("/metrics")
            assert "namekeeper_observe_not_recording 1.0" in metrics
            assert 'namekeeper_observe_name_servers{state="observed"} 1.0' in metrics
            with holding(ours.address, encode_command(registration(("T",), broker_name="b-own"))):
                eventually(lambda: "b-own" in observer.get("/api/brokers"), within=WITHIN, what="our broker")
            eventually(lambda: hook.events, within=WITHIN, what="a message about our name server")
            assert hook.documents[0]["events"][0]["facts"]["subject"] == "b-own"
            (observer.disk / "filler").unlink()
            eventually(
                lambda: changes(broker, next(numbers)) and observer.says(": recording again"),
                within=WITHIN, what="the line that it is recorded again",
            )  # fmt: skip
            eventually(
                lambda: not json.loads(observer.get("/readyz"))["reasons"],
                within=WITHIN, what="no problem any more",
            )  # fmt: skip


def changes(broker: socket.socket, number: int) -> bool:
    """Have a broker register other topics, so that there is something to record."""
    broker.sendall(encode_command(registration(tuple(f"T{number}-{each}" for each in range(20)))))
    return True
