"""After an upgrade the routes that an earlier version recorded are served: see recorded_journals/README.md."""

import asyncio
import shutil
from pathlib import Path

import pytest

from namekeeper.journal.reading.last_state import read_last_state
from tests.differential.bodies import Broker, TopicConfig
from tests.unit.app.parts import FakeClock, frame
from tests.unit.app.test_restoring import Clock, ask, boot

RECORDED = Path(__file__).with_name("recorded_journals")
MAPPING = {
    "bname": "broker-0", "currIdMap": {"0": 0}, "epoch": 1_700_000_000_002, "scope": "__global__",
    "topic": "orders", "totalQueues": 4, "dirty": False,
}  # fmt: skip
BROKERS = [
    Broker(
        "cluster",
        f"broker-{number}",
        0,
        f"10.0.0.{number + 1}:10911",
        conn=1,
        form="json5",
        acting=False,
        topics={"orders": TopicConfig(4, 4), f"only-{number}": TopicConfig(8, 8)},
        filters=["10.9.9.9:1"],
        mappings={} if number else {"orders": MAPPING},
    )
    for number in range(2)
]
"""The brokers that registered with each of them."""
VERSIONS = sorted(folder.name for folder in RECORDED.iterdir() if folder.is_dir())


def upgraded(version: str, folder: Path, silent_ms: int) -> FakeClock:
    """A copy of the journal in the folder of a server; the clock of a start so much later."""
    shutil.copytree(RECORDED / version, folder / "journal")
    clock = Clock()
    clock.step(read_last_state(str(folder / "journal")).ts + silent_ms - clock.now().wall_ms)
    return clock


def test_every_version_is_here():
    assert VERSIONS == ["before-blocks", "before-checksums", "before-restored-routes"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_routes_that_it_recorded_are_served(version, tmp_path):
    clock = await asyncio.to_thread(upgraded, version, tmp_path, 20_000)
    async with boot(tmp_path, clock, journal_namesrv_id="ns") as server:
        assert server.state.restored.startswith("restored 2 brokers and 3 topics of boot ")
        tables = server.state.tables
        for broker in BROKERS:
            live = tables.broker_live_table.get((broker.cluster, broker.addr))
            assert live is not None
            assert live.data_version.counter == broker.counter
            for topic, queues in broker.topics.items():
                row = tables.topics_of(broker.name)[topic].effective
                assert (row.read_queue_nums, row.write_queue_nums, row.perm) == (queues.read, queues.write, 6)
        assert list(tables.topic_queue_mapping_info_table) == ["orders"]
        assert len(tables.filter_server_table) == len(BROKERS)
        answers = await ask(server, *(frame(105, topic=topic, opaque=1) for topic in ("orders", "only-1")))
        assert [answer.code for answer in answers] == [0, 0]


@pytest.mark.parametrize("version", VERSIONS)
async def test_its_brokers_expire_when_they_would_have(version, tmp_path):
    clock = await asyncio.to_thread(upgraded, version, tmp_path, 118_000)
    async with boot(tmp_path, clock, journal_namesrv_id="ns") as server:
        assert len(server.state.tables.broker_live_table) == len(BROKERS)
        clock.advance(2)
        await server.housekeeping.expire()
        assert len(server.state.tables.broker_live_table) == 0
