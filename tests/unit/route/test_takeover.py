"""With protectBrokerNames a live broker belongs to the host that registered it."""

import pytest

from namekeeper.model.broker import NOBODY
from namekeeper.route import queries
from namekeeper.route.channel import Channel
from namekeeper.route.restore import RestoreRoutes
from namekeeper.route.tables import RouteRules, RouteTables
from namekeeper.route.takeover import Claimant, taken_over
from tests.support.server.builders import World, at, body, header, unregister

OWN, OTHER = "10.0.0.1:10911", "10.0.0.9:10911"


def over(host: str, number: int = 1) -> Channel:
    return Channel(number, f"{host}:{5000 + number}")


def sender(host: str) -> Claimant:
    channel = over(host)
    return Claimant(channel, channel.owner)


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
    "an id below the master's": header(addr=OTHER, broker_id=-1, enable_acting_master=True),
    "its name in another cluster": header(addr=OTHER, broker_id=5, cluster_name="other"),
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
    assert taken_over(world.tables, CLAIMS[claim], sender("10.9.9.9")) != ""
    world.live().channel.is_open = False
    assert taken_over(world.tables, CLAIMS[claim], sender("10.9.9.9")) == ""
    world.live().channel.is_open = True
    world.tables.rules = RouteRules()
    assert taken_over(world.tables, CLAIMS[claim], sender("10.9.9.9")) == ""


def test_another_id_and_another_name_are_free(world):
    slave = header(addr=OTHER, broker_id=1)
    assert taken_over(world.tables, slave, sender("10.9.9.9")) == ""
    assert taken_over(world.tables, header(name="broker-b", addr=OTHER), sender("10.9.9.9")) == ""


def test_a_slave_of_another_host_leaves_zone_and_acting_master_of_the_group(world):
    slave = header(addr=OTHER, broker_id=5, enable_acting_master=True, zone_name="elsewhere")
    group = world.tables.broker_addr_table["broker-a"]
    assert not world.register(slave, body(["T1"], version=9), over=over("10.9.9.9", 2)).is_refused
    after = world.tables.broker_addr_table["broker-a"]
    assert after.broker_addrs == {0: OWN, 5: OTHER}
    assert (after.zone_name, after.enable_acting_master) == (group.zone_name, group.enable_acting_master)
    own = header(enable_acting_master=True, zone_name="here")
    world.register(own, body(["T1", "T2"], version=9), over=over("10.0.0.1", 3))
    assert world.tables.broker_addr_table["broker-a"].zone_name == "here"


def restored(world: World, idle_ms: int = 1) -> World:
    """The same broker after a restart of the name server."""
    after = World(RouteTables(RouteRules(protect_broker_names=True)))
    tables = RouteTables()
    tables.apply_all(world.events)
    after.submit(RestoreRoutes(tables, {live.key: idle_ms for live in tables.broker_live_table}))
    assert [live.channel for live in after.tables.broker_live_table] == [None] * len(tables.broker_live_table)
    return after


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("restarts", [1, 2])
def test_a_restored_broker_belongs_to_the_host_that_registered_it(world, claim, restarts):
    for _ in range(restarts):
        world = restored(world)
    content = body(["T1", "T9"], version=9)
    assert world.register(CLAIMS[claim], content, over=over("10.9.9.9", 2)).is_refused
    assert world.tables.rows_of("T9") == []
    assert not world.register(CLAIMS[claim], content, over=over("10.0.0.1", 3)).is_refused


def test_another_id_of_a_restored_group_is_free(world):
    world = restored(world)
    assert not world.register(header(addr=OTHER, broker_id=1), over=over("10.9.9.9", 2)).is_refused


NEIGHBOURS = {"in the same /64": "[2001:db8:0:1::2]", "in another /64": "[2001:db8:0:2::1]"}


@pytest.mark.parametrize("stranger", NEIGHBOURS)
@pytest.mark.parametrize("is_restored", [False, True])
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_host_with_ipv6_is_one_address(claim, is_restored, stranger):
    """The machines of a data centre share a /64: to be near the owner is no proof."""
    world = World(RouteTables(RouteRules(protect_broker_names=True)))
    world.starts_elsewhere = False
    world.register(over=over("[2001:db8:0:1::1]"))
    if is_restored:
        world = restored(world)
    content = body(["T1", "T9"], version=9)
    assert world.register(CLAIMS[claim], content, over=over(NEIGHBOURS[stranger], 2)).is_refused
    assert world.do(unregister(over(NEIGHBOURS[stranger], 3))).takeover
    assert world.tables.rows_of("T9") == []
    assert not world.register(CLAIMS[claim], content, over=over("[2001:db8:0:1::1]", 4)).is_refused


SLAVE = "10.0.0.2:10911"


@pytest.fixture(params=["live", "restored"])
def acting(request):
    """A group whose slave acts as master, because the master unregistered."""
    world = World(RouteTables(RouteRules(protect_broker_names=True)))
    world.starts_elsewhere = False
    world.register(header(enable_acting_master=True), over=over("10.0.0.1"))
    world.register(header(addr=SLAVE, broker_id=1, enable_acting_master=True), over=over("10.0.0.2", 2))
    world.do(unregister(over("10.0.0.1", 1)))
    world = restored(world) if request.param == "restored" else world
    assert master_shown(world) == SLAVE
    return world


def master_shown(world: World) -> str:
    """The address that clients send messages to."""
    (group,) = queries.topic_route(world.tables, "T1", support_acting_master=True).broker_datas
    return group.broker_addrs[0]


@pytest.mark.parametrize(
    "claim",
    [
        header(addr=OTHER, broker_id=1, enable_acting_master=True),
        header(addr=SLAVE, enable_acting_master=True),
        header(addr=SLAVE, broker_id=2, enable_acting_master=True),
        header(addr=SLAVE, cluster_name="other", enable_acting_master=True),
        header(name="broker-x", addr=SLAVE, enable_acting_master=True),
    ],
    ids=["its id", "its address as master", "its address, another id", "another cluster", "another name"],
)
def test_a_stranger_takes_nothing_from_a_slave_that_acts_as_master(acting, claim):
    before = len(acting.events)
    assert acting.register(claim, body(["T1", "T9"], version=9), over=over("10.9.9.9", 8)).is_refused
    assert (len(acting.events), master_shown(acting)) == (before, SLAVE)
    assert not acting.register(claim, body(version=9), over=over("10.0.0.2", 9)).is_refused


def test_while_a_slave_acts_as_master_the_id_of_the_master_is_free(acting):
    """The master may come back from another host; the slave stays, and no other host ends it."""
    assert not acting.register(
        header(addr=OTHER, enable_acting_master=True), over=over("10.9.9.9", 8)
    ).is_refused
    assert master_shown(acting) == OTHER
    group = acting.tables.broker_addr_table["broker-a"]
    assert group.broker_addrs == {0: OTHER, 1: SLAVE}
    assert acting.do(unregister(over("10.9.9.9", 8), addr=SLAVE)).takeover
    acting.do(unregister(over("10.9.9.9", 8), addr=OTHER))
    assert master_shown(acting) == SLAVE


def test_a_restored_master_is_protected_although_a_slave_is_back_first():
    world = World(RouteTables(RouteRules(protect_broker_names=True)))
    world.starts_elsewhere = False
    world.register(header(enable_acting_master=True), over=over("10.0.0.1"))
    slave = header(addr=SLAVE, broker_id=1, enable_acting_master=True)
    world.register(slave, over=over("10.0.0.2", 2))
    world = restored(world)
    assert not world.register(slave, over=over("10.0.0.2", 3)).is_refused
    for broker_id in (0, 1):
        claim = header(addr=OTHER, broker_id=broker_id, enable_acting_master=True)
        assert world.register(claim, over=over("10.9.9.9", 8)).is_refused
    assert master_shown(world) == OWN


def test_a_stranger_that_tries_again_and_again_does_not_wear_the_protection_out(world):
    world = restored(world)
    before, rows = len(world.events), world.tables.rows_of("T1")
    for number in range(1_000):
        content = body(["T1", "T9"], version=number + 2)
        assert world.register(header(addr=OTHER), content, over=over("10.9.9.9", number + 2)).is_refused
    assert (len(world.events), world.tables.rows_of("T1"), world.tables.rows_of("T9")) == (before, rows, [])
    assert not world.register(over=over("10.0.0.1", 2_000)).is_refused


def test_a_restored_broker_is_protected_until_it_expires(world):
    world = restored(world, idle_ms=100_000)
    world.now = at(20)
    world.scan()
    assert world.register(over=over("10.9.9.9", 2)).is_refused
    world.now = at(21)
    world.scan()
    assert not world.register(over=over("10.9.9.9", 2)).is_refused


def test_a_row_whose_owner_nobody_recorded_is_free(world):
    """Of a journal of an older release, which had restored it before."""
    world = restored(world)
    world.live().owner = NOBODY
    assert not world.register(over=over("10.9.9.9", 2)).is_refused


@pytest.mark.parametrize("is_restored", [False, True])
@pytest.mark.parametrize("proof", [{"user": "prod"}, {"certificate_name": "CN=broker-a"}])
def test_the_same_user_or_certificate_may_from_another_host(proof, is_restored):
    def proving(host: str, number: int, **proof: str) -> Channel:
        channel = over(host, number)
        for name, value in proof.items():
            setattr(channel, name, value)
        return channel

    world = World(RouteTables(RouteRules(protect_broker_names=True)))
    world.starts_elsewhere = False
    world.register(over=proving("10.0.0.1", 1, **proof))
    if is_restored:
        world = restored(world)
    assert world.register(over=over("10.9.9.9", 2)).is_refused
    assert world.register(over=proving("10.9.9.9", 3, **dict.fromkeys(proof, "other"))).is_refused
    assert not world.register(over=proving("10.9.9.9", 4, **proof)).is_refused


def test_a_stranger_may_not_unregister_a_restored_broker(world):
    world = restored(world)
    assert world.do(unregister(over("10.9.9.9", 2))).takeover
    assert world.live() is not None
    assert world.do(unregister(over("10.0.0.1", 3))).takeover == ""
    assert world.live() is None


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
