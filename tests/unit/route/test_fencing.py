"""A 104 that an old process sent must not remove the new one (docs/decisions/0002)."""

import pytest

from namekeeper.route.events import BrokerLiveGone, Cause
from namekeeper.route.removal import EndOfRegistration, UnregisterResult
from tests.support.server.builders import CLUSTER, World, at, body, channel, header, unregister

KEY = (CLUSTER, "10.0.0.1:10911")


@pytest.fixture
def world():
    return World()


def live_entries(world):
    return [(live.broker_addr, live.gen) for live in world.tables.broker_live_table]


def test_the_last_words_of_an_old_process_do_not_end_the_new_one(world):
    """RocketMQ issue 11043: the broker restarts, its old process unregisters after the new one registered."""
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.register(over=new)
    world.do(unregister(old))
    assert live_entries(world) == [(KEY[1], 2)]
    assert world.perm() == 6


def test_the_closing_of_an_old_connection_does_not_end_the_new_registration(world):
    """RocketMQ issue 5374: the broker reconnects, the old connection is found dead later."""
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.register(over=new)
    world.close(old)
    assert live_entries(world) == [(KEY[1], 2)]


def test_an_end_meant_for_an_older_generation_does_nothing(world):
    over = channel()
    world.register(over=over)
    entry = world.live()
    world.register(over=channel(2))
    world.do(EndOfRegistration(KEY, entry.gen, Cause.CHANNEL_CLOSED))
    assert live_entries(world) == [(KEY[1], 2)]


def test_an_end_that_waited_behind_a_newer_registration_does_nothing(world):
    """The old connection closes while the registration over the new one is being built."""
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.begin(over=new)
    world.close(old)
    world.run_turns()
    assert live_entries(world) == [(KEY[1], 2)]


def test_a_104_that_waited_behind_a_newer_registration_is_judged_when_it_is_executed(world):
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.begin(over=new)
    world.submit(unregister(old))
    world.run_turns()
    assert live_entries(world) == [(KEY[1], 2)]


def test_a_stale_104_is_ignored_without_an_error(world):
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.register(over=new)
    count = len(world.events)
    change = unregister(old)
    assert world.do(change) == UnregisterResult()
    assert (len(world.events), change.is_stale(world.tables)) == (count, True)


def test_the_living_broker_may_unregister(world):
    over = channel()
    world.register(over=over)
    world.do(unregister(over))
    assert live_entries(world) == []


def test_a_104_over_a_fresh_connection_is_honoured(world):
    """It may be an administrator's; a broker that runs is back with its next 103."""
    world.register(over=channel(1))
    world.register(over=channel(2))
    world.do(unregister(channel(3)))
    assert live_entries(world) == []


def test_a_104_is_honoured_when_the_living_connection_is_closed(world):
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.register(over=new)
    new.is_open = False
    world.do(unregister(old))
    assert live_entries(world) == []


def test_a_connection_that_spoke_for_the_broker_only_after_the_generation_began_is_no_old_process(world):
    """A heartbeat (904) or a look at the version (322) over another connection, and then a 104."""
    world.register(over=channel(1))
    other = channel(2)
    other.note_carried(KEY, gen=world.tables.gen)
    world.do(unregister(other))
    assert live_entries(world) == []


def test_a_connection_that_spoke_for_the_broker_before_the_generation_began_is_one(world):
    """An old process that never got to register: only its heartbeat came over this connection."""
    other = channel(2)
    world.register(over=channel(1))
    other.note_carried(KEY, gen=world.tables.gen)
    world.register(over=channel(3))
    world.do(unregister(other))
    assert live_entries(world) == [(KEY[1], 2)]


def test_a_registration_that_was_not_applied_counts_as_speaking_for_the_broker(world):
    other = channel(2)
    world.register(over=channel(1), content=body(state_version=5))
    head = header(addr="10.0.0.9:10911")
    assert world.register(head, body(state_version=4), other).outcome == "stale"
    world.register(header(broker_id=1, addr="10.0.0.9:10911"), over=channel(3))
    world.do(unregister(other, addr="10.0.0.9:10911"))
    assert world.live("10.0.0.9:10911") is not None


def test_who_came_back_over_its_first_connection_is_the_living_one(world):
    one, two = channel(1), channel(2)
    for over in (one, two, one):
        world.register(over=over)
    world.do(unregister(two))
    assert live_entries(world) == [(KEY[1], 3)]
    world.do(unregister(one))
    assert live_entries(world) == []


def test_a_refresh_within_a_generation_does_not_make_others_old(world):
    one, two = channel(1), channel(2)
    world.register(over=one)
    two.note_carried(KEY, gen=world.tables.gen)
    world.register(over=one, content=body(version=2))
    world.do(unregister(two))
    assert live_entries(world) == []


def test_speaking_for_one_broker_says_nothing_of_another(world):
    one, two = channel(1), channel(2)
    world.register(header("broker-b", "10.0.0.2:10911"), over=two)
    world.register(over=one)
    world.do(unregister(two))
    assert [addr for addr, _ in live_entries(world)] == ["10.0.0.2:10911"]


def test_a_wrong_cluster_is_not_that_of_the_living_registration(world):
    old, new = channel(1), channel(2)
    world.register(over=old)
    world.register(over=new)
    world.do(unregister(old, cluster="elsewhere"))
    assert live_entries(world) == []


def test_all_brokers_of_a_closed_connection_go(world):
    """Trap T26: Java removes one of them."""
    both = channel(1)
    world.register(over=both)
    world.register(header("broker-b", "10.0.0.2:10911"), over=both)
    world.register(header("broker-c", "10.0.0.3:10911"), over=channel(2))
    world.close(both)
    assert live_entries(world) == [("10.0.0.3:10911", 3)]


def test_only_those_whose_newest_registration_came_over_it_go(world):
    both, new = channel(1), channel(2)
    world.register(over=both)
    world.register(header("broker-b", "10.0.0.2:10911"), over=both)
    world.register(over=new)
    world.close(both)
    assert live_entries(world) == [(KEY[1], 3)]


def test_one_of_several_brokers_of_a_connection_may_unregister(world):
    both = channel(1)
    world.register(over=both)
    world.register(header("broker-b", "10.0.0.2:10911"), over=both)
    world.do(unregister(both))
    assert live_entries(world) == [("10.0.0.2:10911", 2)]


def test_a_generation_that_ended_and_began_anew_is_another_one(world):
    over = channel()
    world.register(over=over)
    first = world.live().gen
    world.do(unregister(over))
    world.register(over=over)
    world.now = at(1_000)
    world.do(EndOfRegistration(KEY, first, Cause.EXPIRED))
    assert live_entries(world) == [(KEY[1], 2)]
    assert [event.gen for event in world.events if isinstance(event, BrokerLiveGone)] == [1]
