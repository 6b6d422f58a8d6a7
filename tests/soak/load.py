"""The steady load of a long run: brokers that come and go, lookups, watchers, scrapes, an open page."""

import contextlib
import http.client
import itertools
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Self

from tests.attacks.peers import Wire, frame, registration, topics

__all__ = ["Load"]

WATCHERS = 40
NAMES = 50_000
"""Topics that come and go, each again after so many others."""
BROKERS = 4
AT_ONCE = 20
"""Topics of a broker that comes."""
VIEWS = ("overview", "changes", "topics", "brokers", "search?q=Soak")


class Load:
    """Threads that use a server until they are stopped; a context manager.

    Args:
        port: of the server.
        http_port: of its pages.
    """

    def __init__(self, port: int, http_port: int) -> None:
        self._port, self._http_port = port, http_port
        self._over = threading.Event()
        self.done: dict[str, int] = {}
        """What was done, and how often."""
        works: Sequence[Callable[[], None]] = (
            *(lambda number=number: self._churn(number) for number in range(BROKERS)),
            *(lambda number=number: self._watch(number) for number in range(WATCHERS)),
            lambda: self._get("scrape", ["/metrics", "/healthz", "/readyz", "/status"], 0.5),
            lambda: self._get("view", [f"/api/{view}" for view in VIEWS], 1.0),
            lambda: self._get("cause", ["/api/why?name=Soak000001"], 20.0),
        )
        self._threads = [threading.Thread(target=self._again, args=(work,), daemon=True) for work in works]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _again(self, work: Callable[[], None]) -> None:
        while not self._over.wait(0.1):
            with contextlib.suppress(OSError, http.client.HTTPException, struct.error):
                work()

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1

    def _churn(self, number: int) -> None:
        """A broker comes with topics, which are looked up, changed and deleted; then it goes."""
        name, addr = f"soak-{number}", f"10.9.0.{number}:10911"
        identity = {"clusterName": "AttackCluster", "brokerAddr": addr, "brokerName": name, "brokerId": "0"}
        for turn in itertools.count(number * 10_000):
            if self._over.is_set():
                return
            with Wire(self._port) as wire:
                begin = turn * AT_ONCE % NAMES
                rows = topics("Soak", begin + AT_ONCE)[begin:]
                wire.ask(registration(name, rows, addr=addr, counter=turn + 1, compressed=True))
                for row in rows:
                    wire.ask(frame(105, {"topic": row.topic_name}))
                    wire.ask(frame(105, {"topic": f"{row.topic_name}-unknown"}))
                for code in (205, 327):
                    wire.ask(frame(code, {"brokerName": name}))
                wire.ask(frame(216, {"topic": rows[0].topic_name}))
                if turn % 2:  # else its connection just closes
                    wire.ask(frame(104, identity))
            self._count("broker")
            self._over.wait(0.5)

    def _watch(self, number: int) -> None:
        """Watch some topics for a while, as a stream or as a poll."""
        names = "&topic=".join(f"Soak{(number * 50 + n) % 500:06}" for n in range(20))
        headers = {"Accept": "text/event-stream"} if number % 2 else {}
        with self._connected() as connection:
            connection.request("GET", f"/watch?topic={names}", headers=headers)
            response = connection.getresponse()
            for _ in range(20):
                if self._over.is_set() or not response.readline():
                    break
        self._count("watcher")

    def _get(self, what: str, paths: Sequence[str], pause: float) -> None:
        for path in itertools.cycle(paths):
            if self._over.wait(pause):
                return
            with contextlib.suppress(OSError, http.client.HTTPException), self._connected() as connection:
                connection.request("GET", path)
                connection.getresponse().read()
                self._count(what)

    def _connected(self) -> contextlib.closing[http.client.HTTPConnection]:
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._http_port, timeout=60))
