"""Heartbeats go to every name server each second, also if one is slow."""

import asyncio

import pytest

from namekeeper.broker.fixed_rate import FixedRate
from namekeeper.broker.registrar import Heartbeats
from namekeeper.broker.registration import BrokerState
from namekeeper.broker.topic_config_table import TopicConfigTable
from namekeeper.errors import RemotingConnectError
from namekeeper.model.version import DataVersion
from tests.support.system.waiting import turns
from tests.unit.broker.parts import FakeClient, FakeTime, settings
from tests.unit.messages.samples import sample


def heartbeats(client, **more):
    state = BrokerState(settings(**more), TopicConfigTable(), DataVersion(3))
    return Heartbeats(client, lambda: list(client.namesrvs), lambda: state)


@pytest.mark.parametrize(("compatible", "code"), [(True, 322), (False, 904)])
async def test_old_name_servers_get_what_they_understand(compatible, code):
    client = FakeClient()
    heartbeats(client, compatible_with_old_name_srv=compatible).beat()
    await turns()
    for namesrv in client.namesrvs.values():
        (request,) = namesrv.requests
        assert (request.code, request.is_oneway) == (code, True)
    if code == 904:
        assert request.ext_fields == sample(10).ext_fields
    else:
        assert request.body == b'{"counter":3,"stateVersion":0,"timestamp":0}'


async def test_one_that_does_not_take_its_heartbeat_delays_nobody():
    client, time = FakeClient("a:1", "b:1", "c:1"), FakeTime()
    client["a:1"].silent = asyncio.Event()
    client["b:1"].error = RemotingConnectError("b:1", "refused")
    task = asyncio.create_task(
        heartbeats(client).run(FixedRate(1_000, first_ms=1_000, clock=time, sleep=time.sleep))
    )
    await time.advance(3)
    assert [len(client[addr].requests) for addr in ("a:1", "b:1", "c:1")] == [1, 0, 3]
    client["a:1"].silent.set()
    await time.advance(1)
    assert len(client["a:1"].requests) == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_what_is_on_its_way_ends_with_the_broker():
    client, time = FakeClient("a:1"), FakeTime()
    client["a:1"].silent = asyncio.Event()
    task = asyncio.create_task(
        heartbeats(client).run(FixedRate(1_000, first_ms=1_000, clock=time, sleep=time.sleep))
    )
    await time.advance(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("heartbeat")] == []
