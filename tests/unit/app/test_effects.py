"""Each event is counted, logged and sent to whom it concerns, in one place."""

import logging

import pytest

from namekeeper.app.effects import ENDS, Effects
from namekeeper.route import events
from namekeeper.route.events import (
    BrokerHeard,
    BrokerLiveGone,
    Cause,
    Change,
    ConfigChanged,
    KvChanged,
    MinBrokerIdChanged,
)
from namekeeper.route.removal import EndOfRegistration, UnregisterBroker
from tests.support.server.builders import World, body, channel, header

MIN_ID = MinBrokerIdChanged("broker-a", 1, "10.0.0.1:10911", ("10.0.0.1:10911",))


@pytest.fixture
def received():
    return []


class Recording:
    """Stands for the journal."""

    def __init__(self):
        self.changes = []

    def record(self, change):
        self.changes.append(change)


@pytest.fixture
def effects(received):
    return Effects(Recording(), received.append, lambda properties: received.append(dict(properties)))


def apply(effects, *happened, cause=Cause.REGISTER):
    effects.apply(Change(cause, "10.9.0.1:5000", happened))


def gone(reason):
    return BrokerLiveGone("DefaultCluster", "10.0.0.1:10911", "broker-a", 0, 1, reason, 5, 120_000)


def test_a_registration_counts_once_however_often_it_changes(effects):
    world, over = World(), channel()
    world.register(over=over)
    world.register(content=body(version=2), over=over)
    apply(effects, *world.events)
    assert effects.counters.registrations == 1


@pytest.mark.parametrize("reason", ENDS)
def test_ends_of_registrations_are_counted_by_their_reason(effects, reason):
    apply(effects, gone(reason), cause=reason)
    assert effects.counters.gone == {**dict.fromkeys(ENDS, 0), reason: 1}


def test_every_reason_for_which_the_rules_end_a_registration_is_counted(effects):
    world, first, second = World(), channel(1), channel(2)
    world.register(over=first)
    world.register(header(addr="10.0.0.2:10911"), over=second)  # takes the id: replaced
    world.do(UnregisterBroker("DefaultCluster", "10.0.0.2:10911", "broker-a", second))
    world.register(over=first)
    (live,) = world.tables.broker_live_table
    world.do(EndOfRegistration(live.key, live.gen, Cause.CHANNEL_CLOSED))
    apply(effects, *world.events)
    ended = {reason: count for reason, count in effects.counters.gone.items() if count}
    assert ended == {Cause.REPLACED: 1, Cause.UNREGISTER: 1, Cause.CHANNEL_CLOSED: 1}


def test_heartbeats_are_counted_and_not_logged(effects, caplog):
    with caplog.at_level(logging.DEBUG):
        apply(effects, BrokerHeard("DefaultCluster", "10.0.0.1:10911", 1, 30_000), cause=Cause.HEARTBEAT)
    assert effects.counters.heartbeats == 1
    assert not caplog.records


def test_kv_changes_are_counted_and_logged(effects, caplog):
    with caplog.at_level(logging.INFO):
        apply(effects, KvChanged("a", "b", "c"), KvChanged("a", "b", None), cause=Cause.PUT_KV)
    assert effects.counters.kv_changes == 2
    assert "putKVConfig" in caplog.text
    assert "deleteKVConfig" in caplog.text


def test_a_new_smallest_id_is_told_to_the_group(effects, received):
    apply(effects, MIN_ID)
    assert received == [MIN_ID]


def test_new_properties_are_told(effects, received):
    apply(effects, ConfigChanged({"logLevel": "DEBUG"}), cause=Cause.UPDATE_CONFIG)
    assert received == [{"logLevel": "DEBUG"}]


def test_nobody_need_listen_to_new_properties(caplog):
    journal, change = Recording(), Change(Cause.UPDATE_CONFIG, None, (ConfigChanged({"a": "b"}),))
    Effects(journal, lambda _: None).apply(change)
    assert journal.changes == [change]


def test_every_end_has_a_name_in_the_counters():
    reasons = {Cause.UNREGISTER, Cause.EXPIRED, Cause.CHANNEL_CLOSED, Cause.REPLACED, Cause.STALE}
    assert set(ENDS) == reasons
    assert reasons <= set(events.Cause)


def test_every_change_is_recorded_before_anything_follows_from_it(effects, received):
    received_before = []
    effects.journaling.record = lambda change: received_before.append((change, list(received)))
    change = Change(Cause.REGISTER, "10.9.0.1:5000", (MIN_ID,))
    effects.apply(change)
    assert received_before == [(change, [])]
    assert received == [MIN_ID]
