"""Look-ups and changes over many connections: what clients see is one history (decisions 6 and 21).

Every look-up that is sent after a change was answered shows the change, and no look-up shows less than one that
was answered before it was sent; with the native front, too, where it is installed.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from namekeeper import __version__
from namekeeper.remoting import lending
from tests.support.server.histories import READS_BESIDE_A_WRITE, TOPICS, WRITES, Histories
from tests.support.server.linearizability import Operation, violations
from tests.unit.app.parts import name_server

LATE_CHANGES = WRITES
"""Later than any socket stays with the server: each is lent after some look-ups, and then sees what is old."""
HAS_NATIVE = find_spec("namekeeper_front") is not None
native: Any = import_module("namekeeper_front") if HAS_NATIVE else None
FRONTS = ["python", *(["native"] if HAS_NATIVE else [])]


async def seen(folder: Path, front: str) -> Histories:
    """What clients of a server saw."""
    async with name_server(folder, front=front) as server:
        lent = server.server.front
        histories = Histories(f"127.0.0.1:{server.port}", lambda: lent is None or len(lent) > 0)
        await histories.run()
        assert server.state.lookup_cache.found > WRITES
        assert (server.operators.stats().front_loans > 0) == (front == "native")
    return histories


@pytest.mark.parametrize("front", FRONTS)
async def test_what_clients_see_is_one_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, front: str):
    monkeypatch.setattr(lending, "MAX_READS_BETWEEN", lending.MIN_LOOKUP_READS)
    histories = await seen(tmp_path, front)
    for topic in TOPICS:
        assert len(histories.reads[topic]) >= WRITES * READS_BESIDE_A_WRITE
    assert histories.violations() == []


class Broken:
    """The native front with a bug between the server and it."""

    def __init__(self, bug: str, head: bytes, tail: bytes, threads: int) -> None:
        self._bug = bug
        self._front = native.Front(head, tail, threads)
        self._last: dict[str, bytes] = {}
        self._late: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._front, name)

    def forget(self, topics: list[str]) -> bytes:
        forgotten = topics
        if self._bug == "forgets some changes too late":
            self._late.append(topics)
            forgotten = self._late.pop(0) if len(self._late) > LATE_CHANGES else []
        self._front.forget(forgotten[1:] if self._bug == "forgets too few" else forgotten)
        return b"\1" * len(topics)

    def learn(self, topic: str, standard: bool, counter: int, body: bytes) -> None:
        if any(topic in topics for topics in self._late):  # it still has an answer
            return
        old = self._last.get(topic, body)
        self._last[topic] = body
        self._front.learn(topic, standard, counter, old if self._bug == "learns what is old" else body)


@pytest.mark.skipif(not HAS_NATIVE, reason="make native builds it")
@pytest.mark.parametrize(
    "bug",
    ["none", "forgets some changes too late", "forgets too few", "learns what is old"],
)
async def test_a_bug_of_the_front_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str):
    broken = SimpleNamespace(__version__=__version__, Front=lambda *parts: Broken(bug, *parts))
    monkeypatch.setattr(lending, "MAX_READS_BETWEEN", lending.MIN_LOOKUP_READS)
    monkeypatch.setitem(sys.modules, "namekeeper_front", broken)
    try:
        found: object = (await seen(tmp_path, "native")).violations()
    except* AssertionError as failures:
        found = failures
    assert bool(found) == (bug != "none")


WROTE = (Operation(0, 1, 1), Operation(2, 4, 2), Operation(6, 8, 3))


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([Operation(-2, -1, 0), Operation(1.5, 3, 1), Operation(4.5, 5, 2)], 0),
        ([Operation(2.5, 3.5, 2), Operation(2.6, 2.9, 1)], 0),
        ([Operation(1.5, 3, 0)], 1),
        ([Operation(4.5, 5, 1)], 1),
        ([Operation(4.5, 5, 3)], 1),
        ([Operation(4.5, 5, 7)], 1),
        ([Operation(2.1, 2.2, 2), Operation(2.3, 2.4, 1)], 1),
    ],
    ids=["plain", "while it changes", "never seen", "old", "early", "never written", "back and forth"],
)
def test_what_cannot_be_is_found(reads, expected):
    assert len(violations(WROTE, reads)) == expected
