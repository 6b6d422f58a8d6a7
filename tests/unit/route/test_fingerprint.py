"""Fingerprints: equal for equal tables, however they came about; different for any difference that clients see."""

from collections.abc import Callable, Mapping

import pytest
from msgspec import structs

from namekeeper.common.slices import run_slices
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import (
    BrokerGroupChanged,
    Cause,
    ClusterChanged,
    Event,
    FilterServersChanged,
    TopicMappingChanged,
)
from namekeeper.route.fingerprint import SLICE_ROWS, fingerprints
from namekeeper.route.topics import ChangeWritePerm, DeleteTopic
from tests.support.server.builders import CLUSTER, World, body, channel, header

KV = {"ORDER_TOPIC_CONFIG": {"T1": "broker-a:4", "T2": "broker-a:4"}}
MANY = [f"topic-{number}" for number in range(3 * SLICE_ROWS)]


def taken(world: World, kv: Mapping[str, Mapping[str, str]] = KV) -> Mapping[str, int]:
    return run_slices(fingerprints(world.tables, kv))


def put(world: World, event: Event) -> None:
    """What a request would do, without one."""
    world.tables.apply(event)
    world.copy.apply(event)


def two_groups(names: str = "ab") -> World:
    world = World()
    for number, name in enumerate(names):
        head = header(f"broker-{name}", f"10.0.0.{ord(name)}:10911")
        world.register(head, body(["T1", "T2", *MANY]), channel(number))
    put(world, TopicMappingChanged("T1", "broker-a", TopicQueueMappingInfo("broker-a", {0: 1, 1: 0})))
    put(world, FilterServersChanged(CLUSTER, "10.0.0.97:10911", ("f:1",)))
    return world


def test_the_order_in_which_brokers_came_makes_no_difference():
    assert taken(two_groups("ab")) == taken(two_groups("ba"))


def test_neither_does_the_order_of_entries():
    backwards = {"ORDER_TOPIC_CONFIG": dict(reversed(KV["ORDER_TOPIC_CONFIG"].items()))}
    assert taken(two_groups(), KV) == taken(two_groups(), backwards)
    world = two_groups()
    put(world, TopicMappingChanged("T1", "broker-a", TopicQueueMappingInfo("broker-a", {1: 0, 0: 1})))
    assert taken(world) == taken(two_groups())


def test_a_registration_over_another_connection_with_another_version_makes_none():
    world = two_groups()
    world.register(header("broker-b", "10.0.0.98:10911"), body(["T1", "T2", *MANY], version=9), channel(7))
    assert taken(world) == taken(two_groups())


def test_what_each_member_says_for_its_group_makes_none():
    """Of a group in two zones the last registration decides, and each name server may have heard another last."""
    world = two_groups()
    group = world.tables.broker_addr_table["broker-a"]
    put(world, BrokerGroupChanged(structs.replace(group, zone_name="z", enable_acting_master=True)))
    assert taken(world) == taken(two_groups())


def other_address(world: World) -> None:
    group = world.tables.broker_addr_table["broker-a"]
    put(world, BrokerGroupChanged(structs.replace(group, broker_addrs={0: "10.0.0.9:10911"})))


def other_cluster(world: World) -> None:
    put(world, ClusterChanged(CLUSTER, frozenset({"broker-a", "broker-c"})))


def other_filter_server(world: World) -> None:
    put(world, FilterServersChanged(CLUSTER, "10.0.0.97:10911", ("f:2",)))


def other_queues(world: World) -> None:
    specs = dict.fromkeys(["T1", "T2", *MANY], QueueSpec(4, 4, 6, 0))
    specs[MANY[-1]] = QueueSpec(4, 4, 6, 1)
    world.register(header("broker-b", "10.0.0.98:10911"), body(specs, version=2), channel(1))


def other_topic(world: World) -> None:
    """As many topics and rows as before, one of them on the other broker name."""
    world.do(DeleteTopic(MANY[0]))
    world.register(header("broker-b", "10.0.0.98:10911"), body(["T1", "T3", *MANY], version=2), channel(1))


def no_permission(world: World) -> None:
    world.do(ChangeWritePerm("broker-a", Cause.WIPE_WRITE_PERM))


def other_mapping(world: World) -> None:
    put(world, TopicMappingChanged("T1", "broker-a", TopicQueueMappingInfo("broker-a", {0: 0, 1: 1})))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("brokers", other_address),
        ("brokers", other_cluster),
        ("brokers", other_filter_server),
        ("topics", other_queues),
        ("topics", other_topic),
        ("topics", no_permission),
        ("topics", other_mapping),
    ],
)
def test_what_a_client_would_see_makes_a_difference_to_its_part(part: str, change: Callable[[World], None]):
    world = two_groups()
    before = taken(world)
    change(world)
    assert {name for name, value in taken(world).items() if value != before[name]} == {part}


@pytest.mark.parametrize(
    "kv",
    [
        {},
        {"ORDER_TOPIC_CONFIG": {"T1": "broker-a:4", "T2": "broker-a:8"}},
        {"ORDER_TOPIC_CONFIG": {"T1": "broker-a:4", "T3": "broker-a:4"}},
        {"other": KV["ORDER_TOPIC_CONFIG"]},
    ],
)
def test_so_does_each_entry_of_the_kv_configuration(kv: Mapping[str, Mapping[str, str]]):
    world = two_groups()
    assert taken(world, kv)["kv"] != taken(world)["kv"]


def test_a_namespace_without_entries_is_none():
    assert taken(World(), {"empty": {}}) == {"brokers": 0, "topics": 0, "kv": 0}


def test_they_are_those_of_the_instant_at_which_they_were_asked_for():
    world = two_groups()
    kv = {namespace: dict(entries) for namespace, entries in KV.items()}
    before = taken(world, kv)
    slices = fingerprints(world.tables, kv)
    next(slices)
    for change in (
        no_permission, other_topic, other_mapping, other_filter_server, other_cluster, other_address
    ):  # fmt: skip
        change(world)
    kv["ORDER_TOPIC_CONFIG"]["T9"] = "broker-a:4"
    assert run_slices(slices) == before


def test_a_double_holds_them():
    assert all(int(float(value)) == value < 2**53 for value in taken(two_groups()).values())


def test_a_turn_of_the_loop_takes_a_bounded_number_of_rows():
    assert sum(1 for _ in fingerprints(two_groups().tables, KV)) > 2 * len(MANY) // SLICE_ROWS
