"""Live registrations: generations, refreshes, and the bodies that need not be decoded again."""

import pytest
from msgspec import structs

from namekeeper.model.now import Now
from namekeeper.model.version import DataVersion
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged
from namekeeper.route.live import MAX_APPLIED_BODIES, AppliedAs, AppliedBodies, BrokerLiveTable
from tests.support.server.builders import at, channel

AS = AppliedAs(0, False, None, False, 513, 0, True, False)
KEY = ("c", "10.0.0.1:10911")


def began(gen=1, *, name="a", broker_id=0, channel_id=1, addr=KEY[1], **more):
    return BrokerLiveChanged(
        **{
            "cluster_name": "c",
            "broker_addr": addr,
            "broker_name": name,
            "broker_id": broker_id,
            "ha_server_addr": "ha",
            "heartbeat_timeout_ms": 10_000,
            "data_version": DataVersion(1),
            "channel_id": channel_id,
            "remote_addr": "peer",
            "gen": gen,
            "is_new": True,
            **more,
        }
    )


@pytest.fixture
def table():
    return BrokerLiveTable()


@pytest.fixture
def live(table):
    return table.put(began(), channel(), at(0))


# bodies


def test_a_body_counts_as_applied_only_under_the_circumstances_it_was_applied_in():
    bodies = AppliedBodies()
    bodies.remember(b"digest", AS)
    assert (b"digest", AS) in bodies
    assert (b"other", AS) not in bodies


@pytest.mark.parametrize(
    "differs",
    [
        {"broker_id": 1},
        {"enable_acting_master": None},
        {"enable_acting_master": True},
        {"zone_name": "east"},
        {"compressed": True},
        {"version": 473},
        {"body_crc32": 1},
        {"contributes": False},
        {"deletes_missing": True},
    ],
    ids="-".join,
)
def test_each_circumstance_counts(differs):
    bodies = AppliedBodies()
    bodies.remember(b"digest", AS)
    assert (b"digest", structs.replace(AS, **differs)) not in bodies


def test_the_last_64_bodies_are_remembered():
    bodies = AppliedBodies()
    for number in range(MAX_APPLIED_BODIES + 2):
        bodies.remember(b"%d" % number, AS)
    assert MAX_APPLIED_BODIES == 64
    assert [(b"%d" % number, AS) in bodies for number in (0, 1, 2, 65)] == [False, False, True, True]


def test_bodies_are_forgotten_together():
    bodies = AppliedBodies()
    bodies.remember(b"1", AS)
    bodies.clear()
    assert (b"1", AS) not in bodies


# refreshes


def test_a_refresh_records_how_long_it_was_silent(table, live):
    assert live.heard(at(7)) == BrokerHeard("c", KEY[1], 1, 7_000)
    assert live.idle_ms(at(7)) == 7_000
    table.hear(live.heard(at(7)), at(7))
    assert live.heard(at(9)).gap_ms == 2_000
    assert live.last_update_timestamp == at(7).wall_ms


def test_an_arrival_refreshes_and_its_silence_is_recorded_later(table, live):
    table.note_arrival(KEY, at(7))
    assert live.idle_ms(at(8)) == 1_000
    assert live.heard(at(8)).gap_ms == 7_000
    table.hear(live.heard(at(8)), at(8))
    assert live.heard(at(10)).gap_ms == 2_000


def test_it_expires_when_silent_for_longer_than_its_timeout(table, live):
    assert not live.is_overdue(at(10))
    assert live.is_overdue(at(10.001))
    table.hear(live.heard(at(10)), at(10))
    assert not live.is_overdue(at(20))


def test_a_wall_clock_that_jumps_expires_nobody(table, live):
    a_year = 365 * 86_400_000
    now = at(5)
    assert not live.is_overdue(Now(now.wall_ms + a_year, now.mono_ms))
    table.hear(live.heard(now), Now(now.wall_ms - a_year, now.mono_ms))
    assert not live.is_overdue(now)
    assert live.is_overdue(Now(now.wall_ms - a_year, now.mono_ms + 10_001))


def test_who_is_not_read_from_can_not_be_heard_and_does_not_expire(live):
    live.channel.pause()
    assert not live.is_overdue(at(1_000))
    live.channel.resume()
    assert not live.is_overdue(at(1_000))
    live.channel.is_spared = False
    assert live.is_overdue(at(1_000))


def test_a_copy_without_connections_expires_too(table):
    info = table.put(began(), None, at(0))
    assert info.is_overdue(at(11))


# the table


def test_a_registration_is_found_by_key_name_and_connection(table, live):
    assert (table.get(KEY), table.of_name("a"), table.over_channel(1)) == (live, [live], [live])
    assert (table.get(("d", KEY[1])), table.of_name("b"), table.over_channel(2)) == (None, [], [])
    assert (len(table), list(table), live.key) == (1, [live], KEY)


def test_one_connection_may_carry_several_brokers(table, live):
    other = table.put(began(2, name="b", addr="10.0.0.2:10911"), live.channel)
    assert table.over_channel(1) == [live, other]
    table.remove(KEY)
    assert (table.over_channel(1), table.of_name("a")) == ([other], [])


def test_a_new_generation_begins_with_nothing_remembered(table, live):
    live.applied_bodies.remember(b"1", AS)
    newer = table.put(began(2, name="b", channel_id=2), channel(2))
    assert (newer.gen, newer is live, (b"1", AS) in newer.applied_bodies) == (2, False, False)
    assert (table.of_name("a"), table.over_channel(1)) == ([], [])
    assert (table.of_name("b"), table.over_channel(2), len(table)) == ([newer], [newer], 1)


def test_a_change_within_a_generation_keeps_the_row(table, live):
    again = table.put(began(is_new=False, ha_server_addr="ha2", heartbeat_timeout_ms=5), channel(9))
    assert again is live
    assert (live.ha_server_addr, live.heartbeat_timeout_ms, live.channel.channel_id) == ("ha2", 5, 1)


def test_another_data_version_forgets_bodies_and_the_same_one_does_not(table, live):
    live.applied_bodies.remember(b"1", AS)
    table.put(began(is_new=False, ha_server_addr="ha2"), None)
    assert (b"1", AS) in live.applied_bodies
    table.put(began(is_new=False, data_version=DataVersion(2)), None)
    assert (b"1", AS) not in live.applied_bodies
    assert live.data_version == DataVersion(2)


def test_a_change_of_an_unknown_row_makes_it(table):
    assert table.put(began(is_new=False), None).gen == 1


def test_removing_what_is_not_there_is_no_error(table):
    assert table.remove(KEY) is None
    table.put(began(), channel())
    assert table.remove(KEY).key == KEY
    assert (len(table), table.over_channel(1)) == (0, [])
