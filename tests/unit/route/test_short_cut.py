"""When a body is skipped undecoded, and what makes the next one count again (docs/decisions/0014)."""

import pytest

from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged, Cause
from namekeeper.route.live import MAX_APPLIED_BODIES
from namekeeper.route.registration import RegisterBroker
from namekeeper.route.tables import RouteRules
from namekeeper.route.topics import ChangeWritePerm, DeleteTopic, RegisterTopic
from tests.support.server.builders import (
    CLUSTER,
    RW4,
    World,
    at,
    body,
    channel,
    decoding,
    header,
    register,
    unregister,
)

SLAVE = "10.0.0.2:10911"
BODY = body()


class Fleet(World):
    """A world with one broker registered, whose next registrations have outcomes that can be distinguished."""

    def __init__(self) -> None:
        super().__init__()
        self.over = channel()
        self.register(over=self.over)

    def again(self, head=None, content=BODY, over=None):
        return self.register(head, content, over or self.over).outcome


@pytest.fixture
def fleet():
    return Fleet()


def test_equal_bytes_are_not_decoded_again(fleet):
    def never():
        raise AssertionError("decoded")

    data = repr(BODY).encode()
    change = RegisterBroker(header(), data, version=513, channel=fleet.over, decode=never)
    assert fleet.do(change).outcome == "short_cut"


def test_a_skipped_body_is_a_sign_of_life_and_nothing_else(fleet):
    fleet.now = at(30)
    count = len(fleet.events)
    fleet.again()
    size = len(repr(BODY))
    heard = BrokerHeard(CLUSTER, "10.0.0.1:10911", 1, 30_000, is_registration=True, body_bytes=size)
    assert fleet.events[count:] == [heard]
    assert fleet.live().idle_ms(at(31)) == 1_000


def test_a_skipped_body_needs_one_turn_and_waits_for_nobody_elses_build(fleet):
    fleet.begin(header("broker-b", SLAVE), body(), channel(2))
    again = register(header(), BODY, fleet.over)
    fleet.submit(again)
    assert fleet.result_of(again).outcome == "short_cut"


def test_other_bytes_are_decoded(fleet):
    assert fleet.again(content=body(["T2", "T1"])) == "unchanged"


def test_bytes_that_were_not_fully_applied_are_not_known(fleet):
    refused = body()
    head = header("broker-b", SLAVE)
    fleet.tables.rules = RouteRules(brokers_limit=1)
    assert fleet.again(head, refused) == "refused"
    assert fleet.again(head, refused) == "refused"


# (b) circumstances


@pytest.mark.parametrize(
    "more",
    [
        {"enable_acting_master": None},
        {"enable_acting_master": True},
        {"zone_name": "east"},
        {"compressed": True},
        {"body_crc32": 5},
    ],
    ids="-".join,
)
def test_each_fact_of_the_header_counts(fleet, more):
    assert fleet.again(header(**more)) == "unchanged"
    assert fleet.again(header(**more)) == "short_cut"
    assert fleet.again() == "unchanged"


def test_the_version_of_the_request_counts(fleet):
    change = RegisterBroker(
        header(), repr(BODY).encode(), version=373, channel=fleet.over, decode=decoding(BODY)
    )
    assert fleet.do(change).outcome == "unchanged"


def test_absent_and_false_differ_although_the_group_is_the_same():
    fleet = World()
    over = channel()
    fleet.register(header(broker_id=1, enable_acting_master=False), over=over)
    outcome = fleet.register(header(broker_id=1, enable_acting_master=None), over=over).outcome
    assert outcome == "unchanged"


def test_another_id_is_another_generation(fleet):
    assert fleet.again(header(broker_id=1)) == "unchanged"
    assert fleet.live().gen == 2


def test_another_name_is_another_generation(fleet):
    assert fleet.again(header("broker-b")) == "new"


def test_another_connection_is_another_generation(fleet):
    assert fleet.again(over=channel(2)) == "unchanged"
    assert fleet.live().gen == 2


def test_what_may_change_without_the_body_is_taken_from_the_header(fleet):
    assert fleet.again(header(ha_server_addr="ha2", heartbeat_timeout_ms=5)) == "short_cut"
    assert (fleet.live().ha_server_addr, fleet.live().heartbeat_timeout_ms) == ("ha2", 5)
    assert isinstance(fleet.events[-1], BrokerLiveChanged)


def test_facts_of_the_group_that_another_member_changed_are_set_again(fleet):
    fleet.register(header(addr=SLAVE, broker_id=1, zone_name="east"), over=channel(2))
    assert fleet.again() == "unchanged"
    assert fleet.tables.broker_addr_table["broker-a"].zone_name is None
    fleet.register(header(addr=SLAVE, broker_id=1, enable_acting_master=True), over=channel(2))
    assert fleet.again() == "unchanged"
    assert not fleet.tables.broker_addr_table["broker-a"].enable_acting_master


# (c) the role


def test_a_slave_whose_master_went_is_decoded_for_now_it_contributes(fleet):
    over = channel(2)
    slave = header(addr=SLAVE, broker_id=1)
    content = body(["T1", "T2", "T3"])
    fleet.register(slave, content, over)
    assert fleet.again(slave, content, over) == "short_cut"
    fleet.do(unregister(fleet.over))
    assert fleet.again(slave, content, over) == "changed"
    assert sorted(fleet.tables.topics()) == ["T1", "T2", "T3"]
    assert fleet.again(slave, content, over) == "short_cut"


def test_a_slave_whose_master_came_is_decoded_for_it_contributes_no_more():
    fleet, over = World(), channel(2)
    slave = header(addr=SLAVE, broker_id=1)
    fleet.register(slave, over=over)
    fleet.register(over=channel(1))
    assert fleet.register(slave, over=over).outcome == "unchanged"
    assert fleet.register(slave, over=over).outcome == "short_cut"


def test_a_slave_that_is_not_the_smallest_any_more_is_decoded():
    fleet, over = World(), channel(2)
    two = header(addr=SLAVE, broker_id=2)
    fleet.register(two, over=over)
    fleet.register(header(addr="10.0.0.3:10911", broker_id=1), over=channel(3))
    assert fleet.register(two, over=over).outcome == "unchanged"


# and the operator's switch


def test_topics_that_are_to_go_from_now_on_go_with_the_next_registration(fleet):
    fleet.again(content=body(["T3", "T4"]))
    fleet.again()
    assert fleet.again() == "short_cut"
    fleet.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    assert fleet.again() == "changed"
    assert sorted(fleet.tables.topics()) == ["T1", "T2"]
    assert fleet.again() == "short_cut"


# what is remembered, and what empties it


def test_parts_of_a_split_registration_are_all_known(fleet):
    parts = [body([f"P{part}a", f"P{part}b"]) for part in range(3)]
    for part in parts:
        fleet.again(content=part)
    for part in parts[:2]:
        assert fleet.again(content=part) == "unchanged"
    assert [fleet.again(content=part) for part in parts] == ["short_cut"] * 3


def test_a_body_that_changes_a_row_is_remembered_alone(fleet):
    assert fleet.again(content=body(["T2", "T1"])) == "unchanged"
    changing = body({"T1": QueueSpec(8, 8, 6, 0), "T2": RW4})
    assert fleet.again(content=changing) == "changed"
    assert fleet.again(content=changing) == "short_cut"
    assert fleet.again() == "changed"


def test_a_body_that_changes_a_row_makes_other_members_of_the_name_decode(fleet):
    slave = header(addr=SLAVE, broker_id=1)
    over = channel(2)
    fleet.register(slave, BODY, over)
    fleet.again(content=body(["T1", "T2", "T3"]))
    assert fleet.again(slave, over=over) == "unchanged"


def test_only_so_many_bodies_are_remembered(fleet):
    variants = [
        body(more, topic_keys=frozenset({"T1", "T2", str(number)}))
        for number, more in enumerate([["T1", "T2"]] * MAX_APPLIED_BODIES)
    ]
    for variant in variants:
        fleet.again(content=variant)
    assert fleet.again(content=variants[0]) == "short_cut"
    assert fleet.again() == "unchanged"


def test_a_change_of_the_filter_servers_empties_it(fleet):
    with_filter = body(filter_servers=("f:1",))
    assert fleet.again(content=with_filter) == "unchanged"
    assert fleet.again(content=with_filter) == "short_cut"
    assert fleet.again() == "unchanged"
    assert fleet.tables.filter_server_table == {}


def test_a_change_of_the_data_version_empties_it(fleet):
    fleet.again(content=body(version=2))
    assert fleet.again() == "unchanged"
    assert fleet.live().data_version.counter == 1


@pytest.mark.parametrize(
    "change",
    [
        DeleteTopic("T1"),
        DeleteTopic("T1", "DefaultCluster"),
        RegisterTopic("T1", (("broker-a", QueueSpec(8, 8, 6, 0)),)),
        RegisterTopic("T1", (("broker-a", RW4),)),
        RegisterTopic("new", (("broker-a", RW4),)),
    ],
)
def test_a_row_touched_by_hand_empties_it(fleet, change):
    fleet.do(change)
    assert fleet.again() != "short_cut"
    assert fleet.tables.topics_of("broker-a")["T1"].registered == RW4


def test_a_deleted_topic_comes_back_with_the_next_registration(fleet):
    fleet.do(DeleteTopic("T1"))
    assert fleet.again() == "changed"
    assert "T1" in fleet.tables.topics()


def test_a_topic_registered_by_hand_is_overwritten_by_the_next_registration(fleet):
    fleet.do(RegisterTopic("T1", (("broker-a", QueueSpec(8, 8, 6, 0)),)))
    assert fleet.again() == "changed"


@pytest.mark.parametrize(
    "change",
    [DeleteTopic("unknown"), DeleteTopic("T1", "elsewhere"), RegisterTopic("T1", (("nobody", RW4),))],
)
def test_what_touches_no_row_of_the_name_does_not_empty_it(fleet, change):
    fleet.do(change)
    assert fleet.again() == "short_cut"


@pytest.mark.parametrize("cause", [Cause.WIPE_WRITE_PERM, Cause.ADD_WRITE_PERM])
def test_a_permission_changed_by_hand_does_not_empty_it(fleet, cause):
    fleet.do(ChangeWritePerm("broker-a", cause))
    assert fleet.again() == "short_cut"


def test_a_deletion_by_registration_empties_it(fleet):
    fleet.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    assert fleet.again(content=body(["T1", "T3"])) == "changed"
    assert fleet.again() == "changed"
    assert sorted(fleet.tables.topics()) == ["T1", "T2"]


def test_a_registration_whose_member_is_gone_from_its_group_is_decoded(fleet):
    fleet.do(unregister(channel(9)))
    assert fleet.again() == "new"


def test_the_answer_to_a_slave_still_names_its_master(fleet):
    slave = header(addr=SLAVE, broker_id=1)
    over = channel(2)
    fleet.register(slave, over=over)
    result = fleet.register(slave, over=over)
    assert (result.outcome, result.master_addr) == ("short_cut", "10.0.0.1:10911")
