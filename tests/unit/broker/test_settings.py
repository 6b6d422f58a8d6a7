"""Settings of a broker: bounds, and what registrations contain."""

import pickle

import pytest

from namekeeper.broker.settings import BrokerSettings
from namekeeper.errors import ConfigError
from tests.unit.broker.parts import settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"broker_name": " "},
        {"cluster_name": ""},
        {"broker_addr": "nonsense"},
        {"broker_id": -1},
        {"register_broker_timeout_ms": 0},
        {"broker_heartbeat_interval_ms": 0},
        {"split_registration_size": 1},
        {"enable_split_registration": True, "version": 373},
        {"access_key": "me"},
    ],
)
def test_what_can_not_work_is_refused_and_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong)) if "broker_addr" not in wrong else "nonsense"):
        settings(**wrong)


@pytest.mark.parametrize(
    ("version", "acting", "in_header"),
    [(513, False, False), (513, True, True), (373, False, None), (373, True, None)],
)
def test_acting_masters_have_three_states(version, acting, in_header):
    header = settings(version=version, enable_slave_acting_master=acting).header()
    assert header.enable_acting_master is in_header
    assert header.heartbeat_timeout_ms == (10_000 if in_header else 120_000)


def test_they_travel_to_other_processes():
    there = settings(broker_id=3, filter_servers=("f:1",))
    assert pickle.loads(pickle.dumps(there)) == there


def test_defaults_are_java_s():
    given = BrokerSettings(broker_name="b", broker_addr="h:1")
    assert (given.cluster_name, given.period_ms, given.force_register) == ("DefaultCluster", 30_000, True)
    assert (given.compressed_register, given.broker_permission, given.register_broker_timeout_ms) == (
        False,
        6,
        24_000,
    )


def test_a_secret_key_is_never_shown():
    shown = repr(settings(access_key="me", secret_key="S3CRET"))
    assert "S3CRET" not in shown
    assert ", signed)" in shown
