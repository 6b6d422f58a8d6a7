"""One broker of a fleet; what name servers show of it is in test_deeds."""

import asyncio

from namekeeper.broker.topic_config_manager import TopicConfigManager
from namekeeper.fleet.simulated_broker import SimulatedBroker
from namekeeper.model.topic import TopicConfig
from tests.unit.broker.parts import T1, T2, settings

NOWHERE = "127.0.0.1:1"


def make_broker(seen):
    limits = {NOWHERE: asyncio.Semaphore(1)}
    return SimulatedBroker(settings(NOWHERE), TopicConfigManager((T1, T2)), [NOWHERE], limits, seen.append)


async def test_it_starts_once_and_ends_once():
    seen = []
    broker = make_broker(seen)
    await broker.start()
    first = broker.registrar
    await broker.start()
    assert broker.registrar is first
    await broker.stop()
    await broker.stop()
    await broker.die()
    assert broker.registrar is None
    assert len(seen) == 1


async def test_what_it_is_told_while_it_is_down_it_knows_when_it_is_back():
    broker = make_broker([])
    await broker.create_topic(TopicConfig("new"))
    await broker.change_role(2, 9)
    await broker.cut_from(NOWHERE)
    await broker.heal(NOWHERE, at_once=True)
    await broker.start()
    assert "new" in broker.registrar.topics.table
    assert (broker.registrar.settings.broker_id, broker.topics.data_version.state_version) == (2, 9)
    await broker.die()
