"""Broker names and their members, spelled as routes show them (protocol.md 2.1)."""

import msgspec
import pytest

from namekeeper.model.broker import DEFAULT_HEARTBEAT_TIMEOUT_MS, MASTER_ID, BrokerData


def test_members_are_named_as_on_the_wire():
    group = BrokerData("c", "a", {0: "10.0.0.1:10911"}, enable_acting_master=True, zone_name="east")
    assert msgspec.to_builtins(group) == {
        "cluster": "c",
        "brokerName": "a",
        "brokerAddrs": {0: "10.0.0.1:10911"},
        "enableActingMaster": True,
        "zoneName": "east",
    }


def test_a_group_is_replaced_and_never_changed():
    group = BrokerData("c", "a")
    with pytest.raises(AttributeError):
        group.zone_name = "east"
    assert BrokerData("c", "a").broker_addrs is not group.broker_addrs


def test_what_the_protocol_fixes():
    assert (MASTER_ID, DEFAULT_HEARTBEAT_TIMEOUT_MS) == (0, 120_000)
