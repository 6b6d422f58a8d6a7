"""The questions of protocol.md 4.4, one by one."""

import pytest
from msgspec import structs

from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.route.assessment import (
    Assessment,
    addrs_without_other_ids,
    assess,
    has_all_topics,
    is_prime,
)
from namekeeper.route.tables import RouteRules
from tests.support.server.builders import World, body, channel, header, unregister

OTHER = "10.0.0.2:10911"


def stands(world, head=None, content=None) -> Assessment:
    return assess(world.tables, head or header(), content or body())


@pytest.fixture
def world():
    return World()


@pytest.fixture
def with_master(world):
    world.register()
    return world


def test_the_first_of_a_name_takes_everything_over(world):
    assert stands(world) == Assessment(
        is_stale=False,
        contributes=True,
        upsert_all=True,
        strip_write=False,
        delete_missing=False,
    )


# step 5


def test_an_address_gives_up_its_other_ids():
    group = BrokerData("c", "a", {0: "x", 1: "y", 2: "x"})
    assert addrs_without_other_ids(group, header(addr="x", broker_id=2)) == {1: "y", 2: "x"}
    assert addrs_without_other_ids(group, header(addr="z", broker_id=0)) == {0: "x", 1: "y", 2: "x"}
    assert addrs_without_other_ids(None, header()) == {}


# step 7


@pytest.mark.parametrize(("state_version", "is_stale"), [(4, True), (5, False), (6, False)])
def test_only_a_lower_state_version_than_that_of_the_living_holder_is_stale(world, state_version, is_stale):
    world.register(content=body(state_version=5))
    assert stands(world, header(addr=OTHER), body(state_version=state_version)).is_stale is is_stale


def test_the_holder_itself_may_go_back(world):
    world.register(content=body(state_version=5))
    assert not stands(world, content=body(state_version=4)).is_stale


def test_an_id_that_nobody_holds_is_there_to_be_taken(world):
    world.register(content=body(state_version=5))
    assert not stands(world, header(addr=OTHER, broker_id=1), body(state_version=4)).is_stale


def test_a_holder_that_is_not_live_defends_nothing(world):
    world.register(content=body(state_version=5))
    world.tables.broker_live_table.remove(("DefaultCluster", "10.0.0.1:10911"))
    assert not stands(world, header(addr=OTHER), body(state_version=4)).is_stale


def test_a_holder_in_another_cluster_defends_nothing(world):
    world.register(content=body(state_version=5))
    assert not stands(world, header(addr=OTHER, cluster_name="other"), body(state_version=4)).is_stale


def test_a_stale_registration_contributes_nothing(world):
    world.register(content=body(state_version=5))
    assessment = stands(world, header(addr=OTHER), body(state_version=4))
    assert (assessment.contributes, assessment.delete_missing) == (False, False)


# step 8


@pytest.mark.parametrize(("topics", "is_alone"), [([], False), (["T1"], True), (["T1", "T2"], False)])
def test_a_single_topic_is_not_all_that_a_broker_has(topics, is_alone):
    assert has_all_topics(body(topics)) is not is_alone


def test_topics_are_counted_by_their_keys():
    two_keys_one_name = body(["T1"], topic_keys=frozenset({"T1", "x"}))
    assert not has_all_topics(two_keys_one_name)
    assert has_all_topics(structs.replace(two_keys_one_name, topic_count=2))


@pytest.mark.parametrize("topics", [[], ["T1"], ["T1", "T2"]])
def test_a_first_registration_counts_whatever_the_number_of_its_topics(world, topics):
    assessment = stands(world, content=body(topics))
    assert (assessment.contributes, assessment.upsert_all, assessment.is_refused) == (True, True, False)


# limits


@pytest.mark.parametrize(
    ("rules", "refused", "remark"),
    [
        ({"broker_names_limit": 1}, header("broker-b", OTHER), "there are 1 broker names (brokerNamesLimit)"),
        (
            {"broker_names_limit": 1},
            header(cluster_name="new"),
            "there are 1 broker names (brokerNamesLimit)",
        ),
        ({"cluster_names_limit": 1}, header(cluster_name="new"), "there are 1 clusters (clusterNamesLimit)"),
        ({"brokers_limit": 1}, header("broker-b", OTHER), "there are 1 brokers (brokersLimit)"),
        (
            {"broker_ids_limit": 1},
            header("broker-a", OTHER, 1),
            "the broker name has 1 brokers (brokerIdsLimit)",
        ),
    ],
)
def test_a_limit_refuses_what_is_new_and_nothing_else(with_master, rules, refused, remark):
    assert stands(with_master, refused).limit == ""
    with_master.tables.rules = RouteRules(**rules)
    assessment = stands(with_master, refused)
    assert (assessment.limit, assessment.is_refused, assessment.contributes) == (remark, True, False)
    before = len(with_master.events)
    assert with_master.register(refused, body(["T7", "T8"])).limit == remark
    assert (len(with_master.events), with_master.tables.rows_of("T7")) == (before, [])
    assert stands(with_master, header()).limit == ""
    assert stands(with_master, header(addr=OTHER)).limit == ("" if "brokers_limit" not in rules else remark)
    with_master.tables.rules = RouteRules(**dict.fromkeys(rules, 2))
    assert stands(with_master, refused).limit == ""


def test_new_topics_are_refused_when_there_are_as_many_as_allowed(with_master):
    tables = with_master.tables
    assert tables.topic_rows == sum(map(len, tables.topic_queue_table.values()))
    tables.rules = RouteRules(topic_rows_limit=tables.topic_rows)
    remark = f"there are {tables.topic_rows} topics, counted for each broker name (topicRowsLimit)"
    known = body([*tables.topics_of("broker-a")])
    assert stands(with_master, content=known).limit == ""
    assert stands(with_master, content=body([*known.topics, "T7"])).limit == remark
    assert stands(with_master, header("broker-b", OTHER), known).limit == remark
    tables.rules = RouteRules(topic_rows_limit=tables.topic_rows + 1)
    assert stands(with_master, header("broker-b", OTHER), known).limit == ""


def test_logical_queues_and_filter_servers_count_as_topics_do(world):
    def mapping(*ids):
        return {"T1": TopicQueueMappingInfo("broker-a", dict.fromkeys(ids, 0), topic="T1")}

    def full(*ids, servers=("f:1",), version=2):
        return body(["T1"], mappings=mapping(*ids), filter_servers=servers, version=version)

    tables = world.tables
    world.register(content=full(0, 1, version=1))
    assert (tables.topic_rows, tables.other_rows) == (1, 4)
    tables.rules = RouteRules(topic_rows_limit=5)
    assert stands(world, content=full(0, 1)).limit == ""
    assert stands(world, content=full(1, servers=())).limit == ""
    assert "topicRowsLimit" in stands(world, content=full(0, 1, 2)).limit
    assert "topicRowsLimit" in stands(world, content=full(0, 1, servers=("f:1", "f:2"))).limit
    world.register(content=full(0, servers=()))
    assert tables.other_rows == 2
    assert stands(world, content=full(0, 1, 2, servers=("f:1", "f:2"))).limit == ""
    world.do(unregister(channel()))
    assert (tables.topic_rows, tables.other_rows) == (0, 0)


# step 10


@pytest.mark.parametrize("acting", [None, False, True])
def test_a_master_contributes_whatever_its_release(world, acting):
    assessment = stands(world, header(enable_acting_master=acting))
    assert (assessment.contributes, assessment.strip_write) == (True, False)


@pytest.mark.parametrize(("acting", "contributes"), [(None, False), (False, True), (True, True)])
def test_a_lone_slave_contributes_if_it_is_of_5x(world, acting, contributes):
    assert stands(world, header(broker_id=2, enable_acting_master=acting)).contributes is contributes


def test_only_the_smallest_slave_of_a_group_without_master_contributes(world):
    world.register(header(broker_id=2))
    assert not stands(world, header(addr=OTHER, broker_id=3)).contributes
    assert stands(world, header(addr=OTHER, broker_id=1)).contributes
    assert stands(world, header(addr=OTHER, broker_id=2)).contributes


def test_a_slave_beside_a_master_contributes_nothing(with_master):
    assert not stands(with_master, header(addr=OTHER, broker_id=1)).contributes


def test_a_negative_id_is_a_slave_like_any_other(with_master):
    assert is_prime(header(broker_id=-1), {0: "x"})


def test_a_master_is_no_prime_slave():
    assert not is_prime(header(broker_id=0), {})


# step 11


def test_missing_topics_go_if_the_operator_wants_it_and_no_topic_is_static(with_master):
    assert not stands(with_master).delete_missing
    with_master.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    assert stands(with_master).delete_missing
    assert not stands(with_master, content=body(mappings={"T": TopicQueueMappingInfo("a")})).delete_missing
    assert not stands(with_master, header(addr=OTHER, broker_id=1)).delete_missing


def test_a_single_topic_removes_no_other_until_other_than_single_topics_came(world):
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    assert not stands(world, content=body(["T1"])).delete_missing
    world.register(content=body(["T1"]))
    assert not stands(world, content=body(["T2"])).delete_missing
    world.register(content=body(["T2", "T3"]))
    assert stands(world, content=body(["T2"])).delete_missing
    assert not stands(world, header(addr=OTHER), body(["T2"])).delete_missing
    assert not stands(world, header(broker_id=-1, enable_acting_master=True), body(["T2"])).delete_missing


# step 12


def test_everything_is_taken_over_when_the_version_differs(with_master):
    assert not stands(with_master).upsert_all
    assert stands(with_master, content=body(version=2)).upsert_all
    assert stands(with_master, content=body(state_version=1)).upsert_all


def test_everything_is_taken_over_when_the_id_is_new(with_master):
    assert stands(with_master, header(broker_id=1)).upsert_all


def test_another_connection_is_no_reason_to_take_everything_over(with_master):
    with_master.register(over=channel(2))
    assert not stands(with_master).upsert_all


def test_everything_is_taken_over_from_an_address_that_was_not_live(with_master):
    assert stands(with_master, header(addr=OTHER)).upsert_all


@pytest.mark.parametrize(
    ("broker_id", "acting", "strips"), [(1, True, True), (1, False, False), (0, True, False)]
)
def test_only_an_acting_master_strips_the_write_bit(world, broker_id, acting, strips):
    assert stands(world, header(broker_id=broker_id, enable_acting_master=acting)).strip_write is strips
