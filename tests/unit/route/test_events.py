"""Events are values that describe what a row is now; the journal and the log use their names and causes."""

from typing import get_args

import pytest
from msgspec import structs

from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import BrokerGroupGone, Cause, Change, Event, KvChanged, TopicRow


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_event_is_a_value_that_says_its_kind(kind):
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.tag == kind.__name__
    assert kind.__doc__


def test_events_compare_by_value():
    assert BrokerGroupGone("a") == BrokerGroupGone("a")
    assert KvChanged("ns", "k", None) != KvChanged("ns", "k", "")


def test_reasons_have_names_that_others_may_store():
    assert {cause.value for cause in Cause} == {
        "register_broker",
        "unregister_broker",
        "heartbeat",
        "expired",
        "channel_closed",
        "replaced",
        "stale_registration",
        "wipe_write_perm",
        "add_write_perm",
        "delete_topic",
        "register_topic",
        "put_kv_config",
        "delete_kv_config",
        "update_namesrv_config",
        "restored",
        "observed",
    }


def test_a_row_keeps_what_was_registered_beside_what_is_in_effect():
    row = TopicRow(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0))
    assert row != structs.replace(row, effective=row.registered)
    assert row == TopicRow(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0))


def test_a_change_is_a_reason_a_peer_and_events_in_order():
    change = Change(Cause.EXPIRED, None, (BrokerGroupGone("a"), BrokerGroupGone("b")))
    assert [event.broker_name for event in change.events] == ["a", "b"]
