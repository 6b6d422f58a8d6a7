"""Journals as an observer writes them: each change has a window, and no cause."""

from dataclasses import replace
from typing import Any

from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, History, NameServer

__all__ = ["BEGIN", "BROKER", "FIRST", "MINUTE", "ORDINARY", "SECOND", "ObservedServer", "observed"]

BEGIN = MARCH + HOUR
MINUTE = 60_000
ORDINARY = (4, 4, READ | WRITE, 0)
BROKER = Broker("c", "b0", 0, "10.0.0.1:10911", False, None, {"orders": ORDINARY}, {})
FIRST, SECOND = "ns-1_9876", "ns-2_9876"


_NOT_SEEN = {"reason", "idle_ms", "closed_by"}
"""How a broker ended: no answer of a name server shows it."""


class ObservedServer(NameServer):
    """A name server whose journal an observer writes: each change has a window."""

    window_ms = 0

    def write(
        self, now: int, rows: list[dict[str, Any]], *, cause: str = "", peer: str = "", begin: int = 0
    ) -> None:
        if cause:
            rows = [{name: value for name, value in row.items() if name not in _NOT_SEEN} for row in rows]
            rows = [{**row, "window_ms": self.window_ms} if self.window_ms else row for row in rows]
            cause, peer = "observed", ""
        super().write(now, rows, cause=cause, peer=peer, begin=begin)

    def come(self, at: int, window_ms: int, broker: Broker = BROKER) -> None:
        self.window_ms = window_ms
        self.register(BEGIN + at, broker)

    def go(self, at: int, window_ms: int, broker: Broker = BROKER) -> None:
        self.window_ms = window_ms
        self.lose(BEGIN + at, broker, "expired", 0)

    def change_topics(self, at: int, window_ms: int, **topics: tuple[int, int, int, int]) -> None:
        self.window_ms = window_ms
        self.register(BEGIN + at, replace(BROKER, topics=topics))

    def end(self, at: int) -> None:
        self.write(BEGIN + at, [{"kind": "server_alive", "connections": 0}])


class Chance:
    """No clock is off, and nothing is left to chance."""

    def choice(self, values: Any) -> Any:
        return values[0]

    def getrandbits(self, bits: int) -> int:
        return bits

    def random(self) -> float:
        return 0.0

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"left to chance: {name}")


def observed(*names: str) -> tuple[History, list[ObservedServer]]:
    history = History("observed")
    servers = [ObservedServer(name, Chance(), history) for name in names]  # type: ignore[arg-type]
    for server in servers:
        server.start(BEGIN)
    return history, servers
