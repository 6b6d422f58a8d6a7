"""Real sockets: name servers that die, come back empty, fall silent or lie, and what a broker makes of it."""

import asyncio
import contextlib

import pytest

from namekeeper.broker.registrar import BrokerRegistrar
from namekeeper.errors import (
    RemotingClosedError,
    RemotingConnectError,
    RemotingError,
    RemotingTimeoutError,
)
from namekeeper.model.topic import TopicConfig
from tests.support.system.processes import free_port
from tests.support.system.waiting import PATIENCE
from tests.support.wire.proxy import BreakableProxy
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import T1, T2, FakeTime, settings


class Farm:
    """Name servers that keep their port over a restart, and a broker that registers with all of them."""

    def __init__(self, folder):
        self.folder = folder
        self.time = FakeTime()
        self.running = {}
        self._ports = {}

    async def start(self, name):
        opened = contextlib.AsyncExitStack()
        port = self._ports.setdefault(name, free_port())
        folder = self.folder / name
        server = await opened.enter_async_context(
            name_server(folder, listen_port=str(port), restore_routes="false")
        )
        self.running[name] = (server, opened)

    async def kill(self, *names):
        for name in names:
            _, opened = self.running.pop(name)
            await opened.aclose()

    def addr(self, name):
        return f"127.0.0.1:{self._ports[name]}"

    def topics(self, name):
        return set(self.running[name][0].state.tables.topics())

    def broker(self, *addrs, **more):
        return BrokerRegistrar(
            settings(";".join(addrs), **more), (T1, T2), clock=self.time, sleep=self.time.sleep
        )

    async def until(self, fact):
        """Let the broker's periods pass until something is so."""
        async with asyncio.timeout(20 * PATIENCE):
            while not fact():
                await self.time.advance(10)
                await asyncio.sleep(0.005)


@pytest.fixture
async def farm(tmp_path):
    made = Farm(tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        await made.start(name)
    yield made
    await made.kill(*list(made.running))


async def test_each_of_three_is_killed_in_turn_and_then_all_and_all_are_brought_back(farm):
    async with farm.broker(*map(farm.addr, "abc")) as broker:
        for victims in ("a", "b", "c", "abc"):
            await farm.kill(*victims)
            await farm.until(lambda victims=victims: all(failed(broker, farm.addr(name)) for name in victims))
            for name in set("abc") - set(victims):
                assert farm.topics(name) == {"T1", "T2"}
            for name in victims:
                await farm.start(name)
                assert farm.topics(name) == set()
            await farm.until(lambda: all(farm.topics(name) == {"T1", "T2"} for name in "abc"))
    assert all(farm.topics(name) == set() for name in "abc")


async def test_a_change_while_all_are_dead_arrives_when_they_are_back(farm):
    async with farm.broker(*map(farm.addr, "abc")) as broker:
        await farm.kill(*"abc")
        results = await broker.update_topic_config(TopicConfig("T3"))
        assert all(isinstance(result.error, RemotingError) for result in results)
        for name in "abc":
            await farm.start(name)
        await farm.until(lambda: all(farm.topics(name) == {"T1", "T2", "T3"} for name in "abc"))


async def test_one_behind_a_dead_link_delays_nobody(farm):
    async with BreakableProxy(farm.addr("a")) as proxy:
        broker = farm.broker(
            proxy.addr, farm.addr("b"), register_broker_timeout_ms=4_000, unregister_broker_timeout_ms=4_000
        )
        async with broker:
            proxy.hold()
            first, second = await broker.update_topic_config(TopicConfig("T3"))
            assert isinstance(first.error, RemotingTimeoutError)
            assert (second.error, farm.topics("b")) == (None, {"T1", "T2", "T3"})
            proxy.release()
            await farm.until(lambda: farm.topics("a") == {"T1", "T2", "T3"})
            await proxy.cut()
            await farm.until(
                lambda: not failed(broker, proxy.addr) and farm.topics("a") == {"T1", "T2", "T3"}
            )
            proxy.hold()
        assert farm.topics("b") == set()
        proxy.release()


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4, RemotingClosedError),
        (b"\x00\x00\x00", RemotingClosedError),
        (None, RemotingError),
    ],
    ids=["garbage", "half a frame", "closes at once"],
)
async def test_one_that_lies_is_an_error_and_the_others_are_served(farm, says, error):
    async def serve(reader, writer):
        if says is not None:
            await reader.read(1)
            writer.write(says)
            await writer.drain()
        writer.transport.abort() if says is None else writer.close()

    liar = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = liar.sockets[0].getsockname()
    async with liar, farm.broker(f"{host}:{port}", farm.addr("b")) as broker:
        assert isinstance(broker.last_results[f"{host}:{port}"].error, error)
        assert farm.topics("b") == {"T1", "T2"}


async def test_a_name_that_does_not_resolve_is_an_error_of_its_own(farm):
    async with farm.broker("no-such-host.invalid:9876", farm.addr("b")) as broker:
        assert isinstance(broker.last_results["no-such-host.invalid:9876"].error, RemotingConnectError)
        assert farm.topics("b") == {"T1", "T2"}


async def test_a_crash_takes_the_topics_along_at_once(farm):
    async with farm.broker(farm.addr("a")) as broker:
        await broker.abort()
        await farm.until(lambda: farm.topics("a") == set())


def failed(broker, addr):
    result = broker.last_results.get(addr)
    return result is not None and result.error is not None
