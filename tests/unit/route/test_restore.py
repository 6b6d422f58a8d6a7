"""Routes of an earlier boot: all of them at once, each registration as silent as it was."""

import pytest

from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.now import Now
from namekeeper.route.events import BrokerLiveChanged, BrokerLiveGone, Cause, TopicQueuesChanged
from namekeeper.route.removal import EndOfRegistration
from namekeeper.route.restore import NO_CHANNEL, RestoreRoutes
from tests.support.server.builders import CLUSTER, World, at, body, channel, header, unregister

KEY = (CLUSTER, "10.0.0.1:10911")
SLAVE = header(addr="10.0.0.2:10911", broker_id=1)
OTHER = header("broker-b", "10.0.1.1:10911")


def before() -> World:
    """A boot with a master, its slave, another broker name, a mapping and filter servers."""
    world = World()
    mapping = TopicQueueMappingInfo("broker-a", {0: 0}, topic="T1")
    world.register(content=body(mappings={"T1": mapping}, filter_servers=("10.0.0.1:30000",)))
    world.register(SLAVE, body(), over=channel(2))
    world.register(OTHER, body(("T2", "T3")), over=channel(3))
    return world


def restored(source: World | None = None, *, idle_ms: int = 7_000, now: Now | None = None) -> World:
    """The next boot of a name server."""
    world, earlier = World(), (source or before()).tables
    world.now = now or at(1_000)
    world.do(RestoreRoutes(earlier, {live.key: idle_ms for live in earlier.broker_live_table}))
    return world


def test_every_table_is_what_it_was():
    earlier = before()
    now, then = restored(earlier).tables, earlier.tables
    assert now.topic_queue_table == then.topic_queue_table
    assert now.broker_addr_table == then.broker_addr_table
    assert now.cluster_addr_table == then.cluster_addr_table
    assert now.filter_server_table == then.filter_server_table
    assert now.topic_queue_mapping_info_table == then.topic_queue_mapping_info_table
    assert sorted(now.topics()) == ["T1", "T2", "T3"]
    assert {live.key: live.data_version for live in now.broker_live_table} == {
        live.key: live.data_version for live in then.broker_live_table
    }


def test_all_rows_are_one_change():
    world = restored()
    assert len(world.answers) == 1
    kinds = [type(event) for event in world.events]
    assert (kinds.count(BrokerLiveChanged), kinds.count(TopicQueuesChanged)) == (3, 2)


def test_a_restored_registration_begins_a_generation_of_this_boot_and_has_no_connection():
    world = restored()
    registrations = list(world.tables.broker_live_table)
    assert [live.gen for live in registrations] == [1, 2, 3]
    assert world.tables.gen == 3
    assert {live.channel_id for live in registrations} == {NO_CHANNEL}
    assert {live.channel for live in registrations} == {None}
    events = [event for event in world.events if isinstance(event, BrokerLiveChanged)]
    assert all(event.is_new and event.idle_ms == 7_000 for event in events)


def test_one_that_was_heard_at_this_instant_is_still_told_from_one_that_registered():
    event = next(e for e in restored(idle_ms=0).events if isinstance(e, BrokerLiveChanged))
    assert event.idle_ms == 1


@pytest.mark.parametrize("mono_ms", [5, 1_000_000_000])
def test_it_expires_when_it_would_have(mono_ms):
    """Also when the monotonic clock began anew with the machine, and is less than the silence."""
    world = restored(idle_ms=100_000, now=Now(1_700_000_000_000, mono_ms))
    live = world.live()
    assert live is not None
    assert live.last_update_timestamp == 1_700_000_000_000 - 100_000
    world.now = Now(1_700_000_000_000 + 20_000, mono_ms + 20_000)
    world.scan()
    assert world.live() is live
    world.now = Now(1_700_000_000_000 + 20_001, mono_ms + 20_001)
    world.scan()
    assert list(world.tables.broker_live_table) == []
    gone = [event for event in world.events if isinstance(event, BrokerLiveGone)]
    assert [(event.reason, event.idle_ms) for event in gone] == [(Cause.EXPIRED, 120_001)] * 3


def test_a_heartbeat_keeps_it():
    world = restored(idle_ms=100_000)
    world.hear()
    world.now = at(1_000 + 100)
    world.scan()
    assert [live.broker_addr for live in world.tables.broker_live_table] == [KEY[1]]


def test_its_own_registration_takes_the_rows_over():
    world = restored()
    over = channel(1)
    before_it = len(world.events)
    world.register(over=over)
    live = world.live()
    assert live is not None
    assert (live.gen, live.channel) == (4, over)
    changed = [event for event in world.events[before_it:] if isinstance(event, TopicQueuesChanged)]
    assert changed == []
    world.close(over)
    assert world.live() is None


def test_a_104_ends_it():
    world = restored()
    world.do(unregister(channel(9)))
    assert world.live() is None
    assert world.addrs() == {1: SLAVE.broker_addr}


def test_a_late_104_of_an_older_generation_does_not_end_it_once_its_broker_is_back():
    """The old process spoke to this boot, too, before its successor registered."""
    world = restored()
    old, new = channel(1), channel(2)
    old.note_carried(KEY, gen=world.tables.gen)
    world.register(over=new)
    world.do(unregister(old))
    live = world.live()
    assert live is not None
    assert live.channel is new


def test_the_close_of_a_connection_ends_nobody_who_was_restored():
    """Connections are counted anew in each boot: the numbers of the boot before mean nothing."""
    world = restored()
    for number in (1, 2, 3):
        world.close(channel(number))
    assert len(world.tables.broker_live_table) == 3


def test_an_end_of_the_restored_generation_does_not_end_the_next_one():
    world = restored()
    world.register(over=channel(1))
    world.do(EndOfRegistration(KEY, 1, Cause.EXPIRED))
    assert world.live() is not None


def test_a_slave_without_its_master_offers_nothing_to_write_to():
    earlier = World()
    head = header(enable_acting_master=True)
    earlier.register(head)
    earlier.register(header(addr=SLAVE.broker_addr, broker_id=1, enable_acting_master=True), over=channel(2))
    world = World()
    world.now = at(1_000)
    idle = {KEY: 130_000, (CLUSTER, SLAVE.broker_addr): 5}
    world.do(RestoreRoutes(earlier.tables, idle))
    world.scan()
    world.run_turns()
    assert (world.addrs(), world.perm()) == ({1: SLAVE.broker_addr}, 4)
