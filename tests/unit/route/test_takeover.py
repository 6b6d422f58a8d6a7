"""With protectBrokerNames a live broker belongs to the host that registered it."""

import pytest

from namekeeper.route.channel import Channel
from namekeeper.route.tables import RouteRules
from namekeeper.route.takeover import taken_over
from tests.support.server.builders import World, body, header, unregister

OWN, OTHER = "10.0.0.1:10911", "10.0.0.9:10911"


def over(host: str, number: int = 1) -> Channel:
    return Channel(number, f"{host}:{5000 + number}")


@pytest.fixture
def world():
    """A broker that registered from 10.0.0.1."""
    world = World()
    world.tables.rules = RouteRules(protect_broker_names=True)
    world.register(over=over("10.0.0.1"))
    return world


CLAIMS = {
    "its name and id": header(addr=OTHER),
    "its address, under another name": header(name="broker-x"),
    "itself, with other topics": header(),
    "its address, with another id": header(broker_id=5),
    "its address and name, in another cluster with another id": header(broker_id=5, cluster_name="other"),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_another_host_may_not_claim(world, claim):
    before, rows = len(world.events), world.tables.rows_of("T1")
    result = world.register(CLAIMS[claim], body(["T1", "T9"], version=9), over=over("10.9.9.9", 2))
    assert result.is_refused
    assert result.takeover == f"{OWN} is live and was registered by another host (protectBrokerNames)"
    assert (len(world.events), world.tables.rows_of("T1"), world.tables.rows_of("T9")) == (before, rows, [])


@pytest.mark.parametrize("claim", CLAIMS)
def test_its_own_host_may_over_another_connection(world, claim):
    assert not world.register(
        CLAIMS[claim], body(["T1", "T2"], version=9), over=over("10.0.0.1", 2)
    ).is_refused


@pytest.mark.parametrize("claim", CLAIMS)
def test_anybody_may_when_it_is_gone_and_without_the_rule(world, claim):
    assert taken_over(world.tables, CLAIMS[claim], over("10.9.9.9")) != ""
    world.live().channel.is_open = False
    assert taken_over(world.tables, CLAIMS[claim], over("10.9.9.9")) == ""
    world.live().channel.is_open = True
    world.tables.rules = RouteRules()
    assert taken_over(world.tables, CLAIMS[claim], over("10.9.9.9")) == ""


def test_another_id_and_another_name_are_free(world):
    slave = header(addr=OTHER, broker_id=1)
    assert taken_over(world.tables, slave, over("10.9.9.9")) == ""
    assert taken_over(world.tables, header(name="broker-b", addr=OTHER), over("10.9.9.9")) == ""


def test_a_restored_broker_has_no_host_yet(world):
    world.live().channel = None
    assert taken_over(world.tables, header(), over("10.9.9.9")) == ""


UNREGISTRATIONS = {
    "as it is": {},
    "under another name": {"name": "broker-x"},
    "in another cluster": {"cluster": "other"},
}


@pytest.mark.parametrize("way", UNREGISTRATIONS)
def test_another_host_may_not_unregister_it(world, way):
    before = len(world.events)
    result = world.do(unregister(over("10.9.9.9", 2), **UNREGISTRATIONS[way]))
    assert result.takeover == f"{OWN} is live and was registered by another host (protectBrokerNames)"
    assert (len(world.events), world.live().broker_addr) == (before, OWN)
    assert world.do(unregister(over("10.0.0.1", 3), **UNREGISTRATIONS[way])).takeover == ""
    assert not world.tables.broker_live_table


def test_anybody_may_unregister_it_when_its_connection_is_gone_and_without_the_rule(world):
    world.tables.rules = RouteRules()
    assert world.do(unregister(over("10.9.9.9", 2))).takeover == ""
    assert not world.tables.broker_live_table
    world.tables.rules = RouteRules(protect_broker_names=True)
    world.register(over=over("10.0.0.1", 3))
    world.live().channel.is_open = False
    assert world.do(unregister(over("10.9.9.9", 2))).takeover == ""
    assert not world.tables.broker_live_table
