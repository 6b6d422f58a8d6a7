"""A disk that is full, and folders that vanish, under a busy server: routing goes on, and the rest recovers.

The disk is a small one in memory, in a mount namespace of the server's own; needs root.
"""

import contextlib
import json
import shutil
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.attacks.peers import Wire, frame, registration, topics
from tests.process.running import PATIENCE_SECONDS, NameServerProcess
from tests.support.server.front import FRONT_UNDER_TEST, serve_command
from tests.support.system.namespaces import why_no_namespaces
from tests.support.system.processes import eventually, free_port

UNSHARE = ("unshare", "--mount", "--propagation", "private")
QUEUE_BYTES = 4 << 20
GROWTH_MIB = 64
"""More than the queue of the journal and that of the log take."""
VALUE = "v" * 1_000
ROUNDS = 150
LARGE_VALUES = ["l" * 50_000] * 40
"""So every save of the KV configuration needs 2 MB: more than the journal and the log give back."""


@pytest.fixture(scope="module", autouse=True)
def _possible():
    if reason := why_no_namespaces(("unshare",), (*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt")):
        pytest.skip(reason)


class Site:
    """A server whose files are on a disk of 16 MiB, and a peer that makes it write."""

    def __init__(self, folder: Path) -> None:
        self._http_port = free_port()
        disk = folder / "disk"
        disk.mkdir()
        flags = {
            "listen-port": "0", "bind-address": "127.0.0.1", "http-port": str(self._http_port), "tls-config-file": "",
            "kv-config-path": f"{disk}/conf/kv.json", "journal-path": f"{disk}/journal", "log-root": f"{disk}/logs",
            "journal-queue-bytes": str(QUEUE_BYTES), "front": FRONT_UNDER_TEST,
        }  # fmt: skip
        words = [word for name, text in flags.items() for word in (f"--{name}", text)]
        mount = f'mount -t tmpfs -o size=16m tmpfs {disk}; mkdir {disk}/conf; exec "$@"'
        self.server = NameServerProcess(
            folder, command=(*UNSHARE, "sh", "-ec", mount, "sh", *serve_command(), *words)
        )
        self.disk = Path(f"/proc/{self.server.pid}/root{disk}")
        self._counter = 0

    def ready(self) -> dict[str, object]:
        url = f"http://127.0.0.1:{self._http_port}/readyz"
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            found: dict[str, object] = json.load(answer)
        return found

    def log(self) -> str:
        file = self.disk / "logs" / "namesrv.log"
        return file.read_text() if file.exists() else ""

    def logged(self, line: str) -> bool:
        return line in self.log()

    def memory_mib(self) -> float:
        return int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1]) * 4_096 / (1 << 20)

    def says_what_is_not_written(self, wire: Wire) -> bool:
        """Whether the server, which has to write, reports journal, files and log."""
        assert self.changes(wire, 1) == {1}
        reasons = self.ready()["reasons"]
        assert isinstance(reasons, dict)
        return {"journal", "files", "log"} <= reasons.keys()

    def changes(self, wire: Wire, rounds: int) -> set[int]:
        """Change routes and the KV configuration, and look up; the codes of the answers to the latter's changes."""
        codes = set()
        for _ in range(rounds):
            self._counter += 1
            for code in (205, 327):
                assert b'"code":0' in wire.ask(frame(code, {"brokerName": "victim"}))[0]
            assert b'"code":0' in wire.ask(registration("other", topics("O", 3), counter=self._counter))[0]
            assert b'"victim"' in wire.ask(frame(105, {"topic": "T000001"}))[1]
            header, _ = wire.ask(frame(100, {"namespace": "n", "key": f"k{self._counter}", "value": VALUE}))
            codes.add(json.loads(header)["code"])
        return codes


@contextlib.contextmanager
def busy_site(folder: Path) -> Iterator[tuple[Site, Wire]]:
    site = Site(folder)
    with site.server:
        port = int(site.server.started().address.rpartition(":")[2])
        with Wire(port) as wire:
            wire.ask(registration("victim", topics("T", 1_000)))
            eventually(
                lambda: site.ready()["status"] == "ok" and [*site.disk.glob("journal/*.jsonl*")],
                within=PATIENCE_SECONDS,
                what="a server that is ready and writes a journal",
            )
            yield site, wire


@contextlib.contextmanager
def full(disk: Path) -> Iterator[None]:
    """A full disk. What the server deletes gives room back, which is taken again at once."""
    is_over = threading.Event()
    file = (disk / "filler").open("wb", buffering=0)

    def fill() -> None:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4_096))

    def go_on_filling() -> None:
        while not is_over.wait(0.001):
            fill()

    fill()
    filler = threading.Thread(target=go_on_filling)
    filler.start()
    try:
        yield
    finally:
        is_over.set()
        filler.join()
        file.close()


@pytest.mark.parametrize("is_free_again", [True, False])
def test_routing_goes_on_while_the_disk_is_full(tmp_path: Path, is_free_again: bool) -> None:
    with busy_site(tmp_path) as (site, wire):
        for number, value in enumerate(LARGE_VALUES):
            large = {"namespace": "n", "key": f"large{number}", "value": value}
            assert b'"code":0' in wire.ask(frame(100, large))[0]
        before = site.memory_mib()
        with full(site.disk):
            assert site.changes(wire, ROUNDS) == {1}, (
                "a change of the KV configuration that is not on disk says so"
            )
            eventually(
                lambda: site.says_what_is_not_written(wire),
                within=PATIENCE_SECONDS,
                what="a server that says what can't be written",
            )
        assert site.ready()["ready"] is True
        assert site.memory_mib() - before < GROWTH_MIB
        if is_free_again:
            (site.disk / "filler").unlink()
            eventually(
                lambda: site.changes(wire, 1) == {0} and site.ready()["status"] == "ok",
                within=PATIENCE_SECONDS,
                what="a server that has recovered",
            )
            assert VALUE in (site.disk / "conf" / "kv.json").read_text()
            for line in ("can be written again", "log entries were dropped"):
                eventually(partial(site.logged, line), within=PATIENCE_SECONDS, what=line)
            log = site.log()
            assert log.count("log entries were dropped") < ROUNDS / 10
            assert log.count("the change is in memory only") <= 20
        assert site.server.stop() == 0
        assert "Traceback" not in site.server.err
        # What the server deletes gives some room back, so the log may go on for a moment: then two outages follow.
        outages = site.server.err.count("the log can't be written")
        assert 1 <= outages < ROUNDS / 10, "a line for each outage, not for each entry"


@pytest.mark.parametrize("name", ["journal", "conf", "logs"])
def test_a_folder_that_vanishes_is_created_anew(tmp_path: Path, name: str) -> None:
    with busy_site(tmp_path) as (site, wire):
        shutil.rmtree(site.disk / name)
        written = {"journal": "*.jsonl.open", "conf": "kv.json", "logs": "namesrv.log"}[name]

        def is_back() -> bool:
            assert site.changes(wire, 1) == {0}
            return bool([*(site.disk / name).glob(written)])

        eventually(is_back, within=PATIENCE_SECONDS, what=f"{name} with {written}")
        eventually(lambda: site.ready()["status"] == "ok", within=PATIENCE_SECONDS, what="all is well")
        assert site.server.stop() == 0
        assert "Traceback" not in site.server.err + site.log()
