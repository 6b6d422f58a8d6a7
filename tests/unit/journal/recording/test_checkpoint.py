"""A checkpoint: everything, as it was in one turn."""

from collections import Counter

import pytest

from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    CheckpointBegin,
    CheckpointEnd,
    Cluster,
    Config,
    FilterServers,
    Kv,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.recording.checkpoint import checkpoint_records
from namekeeper.journal.recording.snapshot import take_snapshot
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.model.mapping import TopicQueueMappingInfo
from tests.support.server.builders import World, at, body, channel, header, unregister

MAPPING = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T1")


@pytest.fixture
def world() -> World:
    built = World()
    built.register(content=body(filter_servers=("f:1",), mappings={"T1": MAPPING}))
    built.register(header("broker-b", "10.0.0.2:10911"), body([f"T{n}" for n in range(2_001)]), channel(2))
    return built


def records_of(world, **properties):
    kv = KvConfigStore({"n": {"k": "v"}})
    return list(checkpoint_records(take_snapshot(world.tables, kv, properties, now=at(0)), "interval"))


def test_it_holds_every_row(world):
    begin, *rows, end = records_of(world, listenPort="9876")
    assert begin == CheckpointBegin(reason="interval")
    kinds = Counter(type(row) for row in rows)
    assert kinds == {
        BrokerLive: 2, BrokerGroup: 2, Cluster: 1, TopicQueues: 4, TopicMapping: 1, FilterServers: 1, Kv: 1, Config: 1,
    }  # fmt: skip
    assert end == CheckpointEnd(counts=Counter(row.kind for row in rows))
    assert sum(len(row.rows) for row in rows if isinstance(row, TopicQueues)) == 2_003


def test_a_live_row_has_what_a_change_would_say(world):
    (live, _) = (row for row in records_of(world) if isinstance(row, BrokerLive))
    assert (live.broker_addr, live.broker_name, live.broker_id, live.gen) == (
        "10.0.0.1:10911",
        "broker-a",
        0,
        1,
    )
    assert (live.timeout_ms, live.data_version) == (120_000, (0, 1_700_000_000_001, 1))
    assert (live.channel, live.remote_addr, live.new) == (1, "10.9.0.1:5000", False)


def test_what_is_empty_has_no_count():
    begin, end = records_of(World())[0], records_of(World())[-1]
    assert (begin.reason, end.counts) == ("interval", {"kv": 1})


def test_it_is_the_state_of_the_turn_whatever_happens_while_it_is_written(world):
    kv = KvConfigStore({"n": {"k": "v"}})
    snapshot = take_snapshot(world.tables, kv, {"a": "1"}, now=at(0))
    records = checkpoint_records(snapshot, "interval")
    first = next(records)
    world.register(content=body(["T1", "T9"], version=2, filter_servers=()))
    world.do(unregister(channel(2), "broker-b", "10.0.0.2:10911"))
    kv.put("n", "k", "later")
    assert [first, *records] == records_of_fresh()


def records_of_fresh():
    fresh = World()
    fresh.register(content=body(filter_servers=("f:1",), mappings={"T1": MAPPING}))
    fresh.register(header("broker-b", "10.0.0.2:10911"), body([f"T{n}" for n in range(2_001)]), channel(2))
    return records_of(fresh, a="1")


def test_secrets_are_masked(world):
    (config,) = (row for row in records_of(world, aSecretThing="x", b="y") if isinstance(row, Config))
    assert config.properties == {"aSecretThing": "***", "b": "y"}
