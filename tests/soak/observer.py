"""A long run of an observer beside name servers that are made to disagree, with its page, a scrape and a watcher."""

import contextlib
import http.client
import os
import re
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.process.running import NameServerProcess, environment
from tests.soak.drifts import Scrape, found_in, wrong_reports, wrong_scrapes
from tests.soak.observed import DisagreeingFleet
from tests.soak.verdict import SAMPLES, Sample, complaints, sample_of, table
from tests.support.system.processes import Process

__all__ = ["watch_an_observer"]

NAME_SERVERS = 3
SCRAPE_SECONDS = 15.0
VIEW_SECONDS = 5.0
VIEWS = ("overview", "changes", "drift", "incidents", "topics", "brokers")
LAST_SECONDS = 20.0
"""From the end of the last drift until every observer must have seen it."""
READ_SECONDS = 60.0
VERDICTS = re.compile(r'^namekeeper_drift_verdicts\{kind="(\w+)"\} ([0-9.]+)$', re.MULTILINE)


def watch_an_observer(seconds: float, seed: int) -> int:
    """Run for so many seconds; return the exit status."""
    samples: list[Sample] = []
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="namekeeper-soak-")))
        servers = [
            opened.enter_context(NameServerProcess(folder / f"ns-{number}")) for number in range(NAME_SERVERS)
        ]
        addresses = [server.started().address for server in servers]
        fleet = opened.enter_context(
            DisagreeingFleet({each.replace(":", "_"): each for each in addresses}, seed)
        )
        observer = opened.enter_context(_observing(folder, addresses))
        page = observer.await_line(r"(http://127\.0\.0\.1:[0-9]+)/\n", within=READ_SECONDS)[1]
        for address in addresses:
            observer.await_line(rf"{address.replace(':', '_')}: observed", within=READ_SECONDS)
        before = _cpu_seconds(observer.pid)
        readers = opened.enter_context(_Readers(page, addresses[0].replace(":", "_")))
        fleet.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not fleet.failures:
            time.sleep(seconds / SAMPLES)
            samples.append(sample_of(Path(f"/proc/{observer.pid}")))
        fleet.stop()
        time.sleep(LAST_SECONDS)
        share = (_cpu_seconds(observer.pid) - before) / (seconds + LAST_SECONDS)
        readers.stop()
        observer.terminate()
        status = observer.wait(within=READ_SECONDS)
        found = found_in(folder / "observed")
    print(table({"observer": samples}))
    done = ", ".join(f"{count} x {what}" for what, count in sorted(readers.done.items()))
    print(
        f"done: {len(fleet.made)} x drift, {fleet.harmless} x harmless change, {done}; {share:.1%} of a core"
    )
    wrong = [
        *(f"the fleet failed: {each!r}" for each in fleet.failures),
        *([f"the observer ended with {status}"] if status else []),
        *([] if fleet.made else ["no drift was made: run it for longer"]),
        *complaints({"observer": samples}),
        *wrong_reports(fleet.made, found),
        *wrong_scrapes(fleet.made, readers.scrapes),
    ]
    print(*wrong or ["flat, and every drift reported"], sep="\n")
    return 1 if wrong else 0


@contextlib.contextmanager
def _observing(folder: Path, addresses: list[str]) -> Iterator[Process]:
    words = ("observe", "-n", ";".join(addresses), "--journal", str(folder / "observed"), "--port", "0")
    process = Process(
        "observe",
        [sys.executable, "-m", "namekeeper", *words],
        output=folder / "observe.txt",
        env=environment(folder),
    )
    try:
        yield process
    finally:
        process.kill()


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Readers:
    """An open page, a scrape and a watcher of an observer, as threads until stopped; a context manager."""

    def __init__(self, page: str, namesrv: str) -> None:
        self._page, self._namesrv = page, namesrv
        self._over = threading.Event()
        self.done: dict[str, int] = {}
        """What was read, and how often."""
        self.scrapes: list[Scrape] = []
        works = (self._scrape, self._look, self._watch)
        self._threads = [threading.Thread(target=each, daemon=True) for each in works]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Read nothing more."""
        self._over.set()

    def _scrape(self) -> None:
        while not self._over.wait(SCRAPE_SECONDS):
            before = time.time_ns() // 1_000_000
            text = self._read("/metrics", "scrape")
            kinds = frozenset(kind for kind, count in VERDICTS.findall(text) if float(count))
            self.scrapes.append(Scrape(before, kinds, is_read=bool(text)))

    def _look(self) -> None:
        number = 0
        while not self._over.wait(VIEW_SECONDS):
            self._read(f"/api/{VIEWS[number % len(VIEWS)]}", "view")
            number += 1

    def _watch(self) -> None:
        address = f"{self._page}/watch?topic=soak-0-topic-0&topic=soak-1-topic-0&namesrv={self._namesrv}"
        question = urllib.request.Request(address, headers={"Accept": "text/event-stream"})
        while not self._over.wait(1.0):
            with (
                contextlib.suppress(OSError, http.client.HTTPException),
                urllib.request.urlopen(question, timeout=60) as answer,
            ):
                for line in answer:
                    if line.startswith(b"event:"):
                        self._count("watched " + line.decode().split(":")[1].strip())
                    if self._over.is_set():
                        return

    def _read(self, path: str, what: str) -> str:
        try:
            with urllib.request.urlopen(self._page + path, timeout=60) as answer:
                text: str = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self._count(f"failed {what}")
            return ""
        self._count(what)
        return text

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1
