"""A broker with everything around it under the test's control: name servers that are values, time that is set by hand."""

import asyncio
from collections import deque
from typing import Any

from namekeeper.broker.settings import BrokerSettings
from namekeeper.errors import RemotingConnectError
from namekeeper.messages.bodies import encode_data_version
from namekeeper.messages.body_checksum import check_crc32
from namekeeper.messages.registration import decode_register_broker_header
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.now import Now
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import RemotingCommand
from tests.support.server.builders import CLUSTER, at
from tests.support.system.waiting import turns
from tests.unit.messages.samples import finish

__all__ = ["T1", "T2", "FakeClient", "FakeNamesrv", "FakeTime", "settings"]

T1, T2 = TopicConfig("T1", 4, 4), TopicConfig("T2", 4, 4)


def settings(namesrv_addr: str = "a:1;b:1", **more: Any) -> BrokerSettings:
    fields: dict[str, Any] = {
        "broker_name": "broker-a",
        "broker_addr": "10.0.0.1:10911",
        "cluster_name": CLUSTER,
        "ha_server_addr": "10.0.0.1:10912",
        "namesrv_addr": namesrv_addr,
        **more,
    }
    return BrokerSettings(**fields)


class FakeTime:
    """A clock, and a sleep that ends when the clock has been put forward."""

    def __init__(self) -> None:
        self._now = at(0)
        self._sleepers: list[tuple[int, asyncio.Event]] = []

    def now(self) -> Now:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleepers.append((self._now.mono_ms + int(seconds * 1000), woken))
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Let time pass in steps that nobody can miss, and everybody do what is due."""
        await turns(20)
        end = self._now.mono_ms + int(seconds * 1000)
        while due := sorted(
            (sleeper for sleeper in self._sleepers if sleeper[0] <= end), key=lambda sleeper: sleeper[0]
        ):
            self._put(due[0][0])
            self._sleepers.remove(due[0])
            due[0][1].set()
            await turns(20)
        self._put(end)

    def _put(self, mono_ms: int) -> None:
        passed = max(0, mono_ms - self._now.mono_ms)
        self._now = Now(self._now.wall_ms + passed, self._now.mono_ms + passed)


class FakeNamesrv:
    """Remembers what it was told; answers as a Java one of 5.x would, unless told otherwise."""

    def __init__(self) -> None:
        self.requests: list[RemotingCommand] = []
        self.topics: dict[str, object] = {}
        self.data_version: DataVersion | None = None
        self.error: Exception | None = None
        self.silent: asyncio.Event | None = None
        """Answers wait for it."""
        self.answer = RemotingCommand()
        """To registrations."""
        self.planned: deque[RemotingCommand] = deque()
        """Answers that come first, to whatever is asked."""
        self.refuses_one_topic = True

    def codes(self) -> list[int]:
        return [request.code for request in self.requests]

    def forget(self) -> None:
        self.topics, self.data_version = {}, None

    async def take(self, request: RemotingCommand) -> RemotingCommand:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.requests.append(request)
        if self.silent is not None:
            await self.silent.wait()
        if self.planned:
            return self.planned.popleft()
        if request.code == 103:
            return self._register(request)
        if request.code == 322:
            return self._query(request)
        if request.code == 104:
            self.forget()
        return RemotingCommand()

    def _register(self, request: RemotingCommand) -> RemotingCommand:
        header = decode_register_broker_header(request.ext_fields)
        finish(check_crc32(header.body_crc32, request.body))
        body = finish(decode_registration_body(request.body, version=513, compressed=header.compressed))
        if self.refuses_one_topic and self.data_version is None and body.topic_count == 1:
            return RemotingCommand(code=1, remark="register broker failed")
        self.data_version = body.data_version
        self.topics.update(body.topics)
        return self.answer

    def _query(self, request: RemotingCommand) -> RemotingCommand:
        held = self.data_version
        changed = held is None or encode_data_version(held) != request.body
        body = b"" if held is None else encode_data_version(held)
        return RemotingCommand(ext_fields={"changed": "true" if changed else "false"}, body=body)


class FakeClient:
    """Carries requests to name servers that are values."""

    def __init__(self, *addrs: str) -> None:
        self.namesrvs = {addr: FakeNamesrv() for addr in addrs or ("a:1", "b:1")}
        self.is_closed = False
        self.released: list[str] = []

    def __getitem__(self, addr: str) -> FakeNamesrv:
        return self.namesrvs[addr]

    async def invoke(
        self,
        addr: str,
        code: int,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = 3000,
    ) -> RemotingCommand:
        namesrv = self._namesrv(addr)
        request = RemotingCommand(code=code, ext_fields=ext_fields, body=body)
        return await asyncio.wait_for(namesrv.take(request), timeout_ms / 1000)

    async def invoke_oneway(
        self,
        addr: str,
        code: int,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = 3000,
    ) -> None:
        request = RemotingCommand(code=code, ext_fields=ext_fields, body=body, flag=2)
        await self._namesrv(addr).take(request)

    def release(self, addr: str) -> None:
        self.released.append(addr)

    async def close(self) -> None:
        self.is_closed = True

    def _namesrv(self, addr: str) -> FakeNamesrv:
        if addr not in self.namesrvs or self.is_closed:
            raise RemotingConnectError(addr, "refused")
        return self.namesrvs[addr]
