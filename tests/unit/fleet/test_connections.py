"""Connections that can be cut one by one, and the limit before each name server."""

import asyncio

import pytest

from namekeeper.errors import RemotingConnectError, RemotingTimeoutError
from namekeeper.fleet.connections import BrokerConnections
from tests.support.system.waiting import eventually
from tests.unit.app.parts import name_server
from tests.unit.broker.parts import settings


async def test_one_that_is_cut_is_gone_until_it_is_healed(tmp_path):
    async with name_server(tmp_path) as server:
        addr = f"127.0.0.1:{server.port}"
        link = BrokerConnections(settings(), [addr], {addr: asyncio.Semaphore(1)})
        assert (await link.invoke(addr, 106)).code == 0
        await link.cut(addr)
        await eventually(lambda: not server.server.connections)
        with pytest.raises(RemotingConnectError, match="cut off by the plan"):
            await link.invoke(addr, 106)
        with pytest.raises(RemotingConnectError):
            await link.invoke_oneway(addr, 904)
        link.heal(addr)
        link.heal(addr)
        await link.invoke_oneway(addr, 904)
        assert (await link.invoke(addr, 106)).code == 0
        link.release(addr)
        await eventually(lambda: not server.server.connections)
        await link.close()


async def test_registrations_wait_at_the_gate_and_not_for_ever(tmp_path):
    async with name_server(tmp_path) as server:
        addr = f"127.0.0.1:{server.port}"
        limit = asyncio.Semaphore(0)
        link = BrokerConnections(settings(), [addr], {addr: limit})
        with pytest.raises(RemotingTimeoutError, match="unanswered"):
            await link.invoke(addr, 103, timeout_ms=10)
        assert (await link.invoke(addr, 106, timeout_ms=100_000)).code == 0
        waiting = asyncio.create_task(link.invoke(addr, 103, timeout_ms=100_000))
        limit.release()
        assert (await waiting).code == 1  # without a header
        await link.close()
