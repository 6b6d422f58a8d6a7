"""A broker that is not where brokers are expected is noticed, and handled as usual."""

from ipaddress import ip_network

import pytest
from msgspec import structs

from namekeeper.app.effects import Effects, unknown_network_alarm
from namekeeper.broker import BrokerRegistrar
from namekeeper.route.events import BrokerLiveChanged
from tests.unit.app.parts import Parts, name_server
from tests.unit.broker.parts import settings

NETWORKS = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))
EVENT = BrokerLiveChanged(
    cluster_name="c", broker_addr="10.1.0.1:10911", broker_name="b", broker_id=0, ha_server_addr="",
    heartbeat_timeout_ms=1, data_version=None, channel_id=1, remote_addr="10.1.0.1:5000", gen=1, is_new=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("peer", "registered", "named"),
    [
        ("10.1.0.1:5000", "10.1.0.1:10911", None),
        ("[::ffff:10.1.0.1]:5000", "10.1.0.1:10911", None),
        ("[fd00::1]:5000", "[fd00::1]:10911", None),
        ("10.1.0.1:5000", "broker-a.example:10911", None),
        ("", "10.1.0.1:10911", None),
        ("10.2.0.1:5000", "10.1.0.1:10911", "10.2.0.1:5000"),
        ("10.1.0.1:5000", "192.0.2.1:10911", "192.0.2.1:10911"),
        ("10.2.0.1:5000", "broker-a.example:10911", "10.2.0.1:5000"),
    ],
)
async def test_either_address_outside_is_an_alarm_that_names_it(caplog, peer, registered, named):
    judge = unknown_network_alarm(NETWORKS)
    assert judge(structs.replace(EVENT, remote_addr=peer, broker_addr=registered)) == (named is not None)
    lines = [record.getMessage() for record in caplog.records]
    expected = f"broker b of c at {registered} registered from {peer}: {named} is in none of brokerNetworks"
    assert lines == ([] if named is None else [expected])


async def test_without_networks_nobody_is_a_stranger():
    assert not unknown_network_alarm(())(structs.replace(EVENT, remote_addr="192.0.2.1:5"))


async def test_a_flood_of_strangers_is_logged_in_part(caplog):
    judge = unknown_network_alarm(NETWORKS)
    assert all(judge(structs.replace(EVENT, remote_addr=f"192.0.2.1:{port}")) for port in range(1, 1_000))
    assert len(caplog.records) == 20


async def test_a_registration_that_only_changes_is_no_other_alarm(tmp_path):
    journaling = Parts(tmp_path).effects.journaling
    effects = Effects(journaling, print, is_from_unknown_network=lambda _: True)
    for is_new in (True, False, False):
        effects.live_changed(structs.replace(EVENT, is_new=is_new))
    assert effects.counters.from_unknown_networks == 1


@pytest.mark.parametrize(("networks", "count"), [("10.9.0.0/16", 1), ("127.0.0.1, 10.0.0.0/24", 0), ("", 0)])
async def test_it_is_counted_once_for_each_broker_that_is_new(tmp_path, networks, count):
    async with name_server(tmp_path, broker_networks=networks) as server:
        one = settings(f"127.0.0.1:{server.port}")
        async with BrokerRegistrar(one) as broker:
            await broker.register_broker_all()
            assert broker.last_results[f"127.0.0.1:{server.port}"].error is None
            assert server.operators.stats().from_unknown_networks == count
