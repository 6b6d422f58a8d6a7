"""A name server in memory behind a network with delays, in virtual time; and the journal of its observer as records."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from namekeeper.errors import RemotingClosedError, RemotingConnectError, RemotingTimeoutError
from namekeeper.journal.contract.encode import Stamp, encode_change, encode_record
from namekeeper.journal.recording.checkpoint import checkpoint_records
from namekeeper.model.now import Now
from namekeeper.observe.journal import JournalStatus
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.server.in_memory import InMemoryNameServer

__all__ = ["ADDR", "Exchange", "LoopClock", "MemoryJournal", "SimulatedNetwork", "registration_body"]

ADDR = "10.9.9.9:9876"
BEGIN_MS = 1_700_000_000_000


class LoopClock:
    """The time of the running loop, as wall and monotonic time."""

    def now(self) -> Now:
        ms = int(asyncio.get_running_loop().time() * 1_000)
        return Now(BEGIN_MS + ms, ms)


@dataclass
class Exchange:
    """A request that was answered."""

    code: int
    fields: Mapping[str, str]
    sent: int
    received: int
    response: Response


@dataclass
class SimulatedNetwork:
    """Sends requests to a name server that answers at one instant between sending and receiving."""

    chance: Random
    delays: tuple[float, float] = (0.001, 0.03)
    """Seconds of each way."""
    server: InMemoryNameServer = field(default_factory=InMemoryNameServer)
    exchanges: list[Exchange] = field(default_factory=list)
    connections_made: int = 0
    released: int = 0
    is_open: bool = False
    is_reachable: bool = True
    hangs: bool = False
    respond: Any = None
    """Makes the answer in place of the server: a function of the request's code and fields."""

    async def invoke(
        self, addr: str, code: int, ext_fields: Mapping[str, str] | None = None, body: bytes = b"", *,
        timeout_ms: int = 3_000,
    ) -> RemotingCommand:  # fmt: skip
        assert code in {105, 106, 206, 219, 319}, "an observer sends nothing else"
        sent = LoopClock().now().mono_ms
        if not self.is_reachable:
            raise RemotingConnectError(addr, "can't connect")
        if not self.is_open:
            self.is_open = True
            self.connections_made += 1
        there, back = (self.chance.uniform(*self.delays) for _ in range(2))
        if self.hangs or there + back > timeout_ms / 1_000:
            await asyncio.sleep(timeout_ms / 1_000)
            raise RemotingTimeoutError(addr, "no answer")
        connection = self.connections_made
        await asyncio.sleep(there)
        answer = self.ask(code, dict(ext_fields or {}))
        await asyncio.sleep(back)
        if connection != self.connections_made or not self.is_open:
            raise RemotingClosedError(addr, "closed")
        self.exchanges.append(Exchange(code, ext_fields or {}, sent, LoopClock().now().mono_ms, answer))
        return RemotingCommand(code=answer.code, remark=answer.remark, body=answer.body, flag=1)

    def ask(self, code: int, fields: dict[str, str]) -> Response:
        """What a second client is answered at this instant."""
        if self.respond is not None:
            response: Response = self.respond(code, fields)
            return response
        return self.server.ask(code, fields)

    def close(self) -> None:
        """The connection is closed; the next request makes another."""
        self.is_open = False

    def release(self, addr: str) -> None:
        self.released += 1
        self.is_open = False

    def restart(self) -> None:
        """The name server forgets everything."""
        self.close()
        self.server = InMemoryNameServer()


class MemoryJournal:
    """The records of one period of observation."""

    def __init__(self, periods: list["MemoryJournal"], restart: str, take_snapshot: Any, now: Now) -> None:
        self.restart, self.began, self.seq, self.ended = restart, now, 0, False
        self.answered_at = now
        self.is_paused = False
        self.rows = [
            self._json(encode_record(one, self._stamp(now, 1)))
            for one in checkpoint_records(take_snapshot(), "start")
        ]
        self.records: list[dict[str, Any]] = []
        periods.append(self)

    def answered(self, now: Now, changes: Any) -> None:
        assert not self.ended
        assert now.mono_ms >= self.answered_at.mono_ms
        self.answered_at = now
        for change in changes:
            for line in encode_change(change, self._stamp(now)):
                self.records.append(self._json(line))

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = False

    async def leave(self) -> None:
        assert not self.is_paused
        self.ended = True

    def status(self) -> JournalStatus:
        return JournalStatus("", 1, self.seq, "", 0)

    def _stamp(self, now: Now, records: int = 1) -> Stamp:
        self.seq += records
        return Stamp("ns_9876", BEGIN_MS, self.seq, now.wall_ms, now.mono_ms)

    def _json(self, line: bytes) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(line)
        return record


def registration_body(topics: Mapping[str, int], counter: int, perm: int = 6) -> bytes:
    """The body of a registration: topic -> number of its queues."""
    table = {
        topic: {"topicName": topic, "readQueueNums": queues, "writeQueueNums": queues, "perm": perm}
        for topic, queues in topics.items()
    }
    version = {"counter": counter, "stateVersion": 0, "timestamp": 1}
    wrapper = {"topicConfigTable": table, "dataVersion": version}
    return json.dumps({"topicConfigSerializeWrapper": wrapper, "filterServerList": []}).encode()
