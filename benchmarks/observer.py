"""What an observer costs the name servers and its own host: `python -m benchmarks.observer`.

Parts, by default all of them, in about half an hour; tables go to stdout:

* `server`: a Java name server with 20,000 topics of 4 brokers. Its observer, with the default budget, is
  stopped for every other sample. CPU is that of the name server without clients; 16 connections look up.
* `memory`: an observer of three name servers, with two sizes of their tables, without a page.
* `page`: an observer of three name servers with 20,000 topics of 4 brokers, with the default budget:
  without a page, with one, and with one that a browser has open and that Prometheus scrapes every 15 s.
"""

import argparse
import contextlib
import os
import re
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from benchmarks.load.fleet import registered
from benchmarks.load.generator import Generator
from benchmarks.load.payload import BASE_BROKERS, base_topic, registration
from benchmarks.load.servers import JAVA_JVM, JAVA_VERSION
from benchmarks.load.steady import ROUTE_BYTES
from tests.process.running import NameServerProcess, environment
from tests.support.java.servers import JavaNameServer
from tests.support.system.processes import Process

__all__: list[str] = []

TOPICS = 20_000
SIZES = (1_000, TOPICS)
NAME_SERVERS = 3
BUDGET, FAST = "1", "50"
"""The default in per cent, and one with which all topics are soon read."""
WITHIN = 1_800.0
WARM_UP_SECONDS = 10.0
REST_SECONDS = 20.0
"""After the last topic was read, and after the observer goes on."""
REFRESH_SECONDS = 30.0
"""A name server closes a connection that is silent for two minutes."""
SCRAPE_SECONDS, VIEW_SECONDS = 15.0, 5.0
VIEWS = ("/api/overview", "/api/incidents", "/api/drift", "/api/changes")


class Observer:
    """An observer of some name servers, as a process; a context manager.

    Args:
        folder: for its journals and its output.
        addresses: of the name servers.
        budget: in per cent.
        has_page: whether it serves the page.
    """

    def __init__(self, folder: Path, addresses: Sequence[str], budget: str, *, has_page: bool) -> None:
        self._addresses, self._has_page = addresses, has_page
        words = (
            "observe",
            "-n",
            ";".join(addresses),
            "--journal",
            str(folder / "observed"),
            "--budget",
            budget,
        )
        command = [sys.executable, "-m", "namekeeper", *words, "--port", "0" if has_page else "-1"]
        self._process = Process("observe", command, output=folder / "observe.txt", env=environment(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    def reads_all(self) -> Self:
        """Wait until every topic was read, and a while longer."""
        for each in self._addresses:
            self._process.await_line(rf"{each.replace(':', '_')}: observed:", within=WITHIN)
        time.sleep(REST_SECONDS)
        return self

    def pauses(self, *, does: bool) -> None:
        """Stop the process, or let it go on."""
        os.kill(self._process.pid, signal.SIGSTOP if does else signal.SIGCONT)

    def cpu_percent(self, seconds: float) -> float:
        """What it takes of a core in the next seconds."""
        return _cpu_percent(self._process.pid, seconds)

    def memory_mib(self) -> float:
        """Resident memory now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024

    @contextlib.contextmanager
    def is_looked_at(self) -> Iterator[None]:
        """Read its page as a browser does, and its metrics as Prometheus does."""
        page = self._process.await_line(r"(http://\S+)/\n", within=WITHIN)[1]
        over = threading.Event()

        def read(paths: Sequence[str], pause: float) -> None:
            while not over.is_set():
                for path in paths:
                    with urllib.request.urlopen(page + path, timeout=60) as answer:
                        answer.read()
                    over.wait(pause)

        works = (["/metrics"], SCRAPE_SECONDS), (VIEWS, VIEW_SECONDS)
        threads = [threading.Thread(target=read, args=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()


def main() -> None:
    """Run."""
    parts: dict[str, Callable[[float, int], None]] = {"server": _server, "memory": _memory, "page": _page}
    parser = argparse.ArgumentParser("python -m benchmarks.observer", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)}; by default all")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each sample of CPU (default: 60)")
    parser.add_argument("--rounds", type=int, default=5, help="of samples of `server` (default: 5)")
    arguments = parser.parse_args()
    for name in arguments.parts or parts:
        parts[name](arguments.seconds, arguments.rounds)


def _server(seconds: float, rounds: int) -> None:
    samples: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(
            JavaNameServer(JAVA_VERSION, base_jvm=(*JAVA_JVM, "-Dtls.server.mode=disabled"))
        )
        opened.enter_context(_brokers(server.port or 0, TOPICS))
        generator = Generator()
        _lookups(generator, server.port or 0, WARM_UP_SECONDS)
        observer = opened.enter_context(Observer(_scratch(opened), [server.address], BUDGET, has_page=False))
        for _ in range(rounds):
            for is_observed in (False, True):
                observer.pauses(does=not is_observed)
                time.sleep(REST_SECONDS)
                cpu = _cpu_percent(server.process.pid, seconds)
                samples[is_observed].append((cpu, *_lookups(generator, server.port or 0, seconds)))
    print(
        f"| Java {JAVA_VERSION}, {TOPICS:,} topics x {len(BASE_BROKERS)} brokers | not observed | observed |"
    )
    print("| --- | --- | --- |")
    for number, what in enumerate(("CPU without clients, % of a core", "lookups/s", "p99 of a lookup, ms")):
        cells = [f"{statistics.median(each[number] for each in samples[how]):,.2f}" for how in (False, True)]
        ratio = statistics.median(
            after[number] / before[number]
            for before, after in zip(samples[False], samples[True], strict=True)
        )
        print(f"| {what} | {' | '.join(cells)}, ratio {ratio:.2f} |", flush=True)


def _memory(_seconds: float, _rounds: int) -> None:
    found = {}
    for topics in SIZES:
        with _name_servers(topics) as addresses, contextlib.ExitStack() as opened:
            observer = opened.enter_context(Observer(_scratch(opened), addresses, FAST, has_page=False))
            found[topics] = observer.reads_all().memory_mib()
            print(
                f"{NAME_SERVERS} x {topics:,} topics x {len(BASE_BROKERS)} brokers: {found[topics]:.0f} MiB",
                flush=True,
            )
    (fewer, less), (more, most) = found.items()
    a_row = (most - less) / ((more - fewer) * len(BASE_BROKERS) * NAME_SERVERS)
    base = less - a_row * fewer * len(BASE_BROKERS) * NAME_SERVERS
    print(f"{base:.0f} MiB and {a_row * (1 << 20):.0f} bytes for each row of a topic on a broker", flush=True)


def _page(seconds: float, _rounds: int) -> None:
    what = f"{NAME_SERVERS} name servers, {TOPICS:,} topics x {len(BASE_BROKERS)} brokers"
    print(f"| {what} | CPU, % of a core | memory, MiB |")
    print("| --- | --- | --- |")
    with _name_servers(TOPICS) as addresses:
        for has_page in (False, True):
            with contextlib.ExitStack() as opened:
                observer = opened.enter_context(
                    Observer(_scratch(opened), addresses, BUDGET, has_page=has_page)
                )
                observer.reads_all()
                _show(f"{'with' if has_page else 'without'} a page", observer, seconds)
                if has_page:
                    opened.enter_context(observer.is_looked_at())
                    time.sleep(REST_SECONDS)
                    _show("one that is open, and scrapes", observer, seconds)


def _show(what: str, observer: Observer, seconds: float) -> None:
    print(f"| {what} | {observer.cpu_percent(seconds):.1f} | {observer.memory_mib():.0f} |", flush=True)


@contextlib.contextmanager
def _name_servers(topics: int) -> Iterator[list[str]]:
    """Addresses of name servers of ours that have so many topics; an observer can't tell whose they are."""
    with contextlib.ExitStack() as opened:
        servers = [opened.enter_context(NameServerProcess(_scratch(opened))) for _ in range(NAME_SERVERS)]
        addresses = [server.started().address for server in servers]
        for each in addresses:
            opened.enter_context(_brokers(int(each.rpartition(":")[2]), topics))
        yield addresses


@contextlib.contextmanager
def _brokers(port: int, topics: int) -> Iterator[None]:
    """Brokers that are registered, each with so many topics."""
    rows = [base_topic(index) for index in range(topics)]
    frames = [registration(broker, rows, compressed=True) for broker in BASE_BROKERS]
    over = threading.Event()
    with registered(port, BASE_BROKERS, frames) as fleet:

        def keep_alive() -> None:
            while not over.wait(REFRESH_SECONDS):
                fleet.refresh()

        thread = threading.Thread(target=keep_alive, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _scratch(opened: contextlib.ExitStack) -> Path:
    return Path(
        opened.enter_context(
            tempfile.TemporaryDirectory(prefix="namekeeper-bench-", ignore_cleanup_errors=True)
        )
    )


def _lookups(generator: Generator, port: int, seconds: float) -> tuple[float, float]:
    """Lookups a second, and p99 in ms."""
    found = generator.lookups(
        port,
        seconds=seconds,
        connections=16,
        topics=TOPICS,
        topic_prefix="BenchTopic",
        body_bytes=ROUTE_BYTES,
    ).result()
    return found["per_second"], found["p99_us"] / 1000


def _cpu_percent(pid: int, seconds: float) -> float:
    """User and system time of a process in the next seconds, as a share of a core."""
    clock = (~pid << 3) | 2
    began, before = time.monotonic(), time.clock_gettime(clock)
    time.sleep(seconds)
    return (time.clock_gettime(clock) - before) / (time.monotonic() - began) * 100


if __name__ == "__main__":
    main()
