"""The registration rule (protocol.md 4.4) with docs/decisions/0003 and 0014."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.model.topic import QueueSpec
from namekeeper.route import registration, removal, rows
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged, Cause, TopicQueuesChanged
from namekeeper.route.queries import topic_route
from namekeeper.route.registration import RegisterBroker
from namekeeper.route.tables import RouteRules
from namekeeper.route.topics import ChangeWritePerm
from tests.support.server.builders import (
    CLUSTER,
    RW4,
    World,
    at,
    body,
    channel,
    check_consistency,
    header,
    register,
    unregister,
)

RO = QueueSpec(4, 4, 4, 0)
SLAVE = "10.0.0.2:10911"


@pytest.fixture
def narrow(monkeypatch):
    """One row to a slice, so that few topics make many turns."""
    monkeypatch.setattr(registration, "ROW_SLICE", 2)


def test_a_registered_master_gives_a_route():
    world = World()
    assert world.register().outcome == "new"
    route = topic_route(world.tables, "T1")
    assert [d.broker_addrs for d in route.broker_datas] == [{0: "10.0.0.1:10911"}]
    assert [(q.broker_name, q.perm, q.read_queue_nums) for q in route.queue_datas] == [("broker-a", 6, 4)]


def test_equal_bytes_over_the_same_connection_are_not_decoded_again():
    world, over = World(), channel()
    world.register(over=over)
    assert world.register(over=over).outcome == "short_cut"
    assert isinstance(world.events[-1], BrokerHeard)


def test_equal_bytes_over_another_connection_are_decoded_and_begin_a_generation():
    world = World()
    world.register(over=channel(1))
    assert world.register(over=channel(2)).outcome == "unchanged"
    live = next(iter(world.tables.broker_live_table))
    assert live.gen == 2
    assert live.channel.channel_id == 2


def test_a_slave_of_an_old_broker_offers_no_topics():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=None))
    assert topic_route(world.tables, "T1") is None
    assert world.tables.broker_addr_table["broker-a"].broker_addrs == {1: "10.0.0.1:10911"}


def test_a_lone_slave_of_a_5x_broker_offers_its_topics_as_they_are():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=False))
    assert topic_route(world.tables, "T1").queue_datas[0].perm == 6


def test_an_acting_master_offers_nothing_to_write_to():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=True))
    assert topic_route(world.tables, "T1").queue_datas[0].perm == 4


def test_a_slave_is_told_its_live_master():
    world = World()
    world.register()
    result = world.register(header(addr="10.0.0.2:10911", broker_id=1), over=channel(2))
    assert (result.master_addr, result.ha_server_addr) == ("10.0.0.1:10911", "10.0.0.1:10921")


def test_the_first_registration_of_an_id_may_have_one_topic():
    world = World()
    assert world.register(content=body(["only"])).outcome == "new"
    assert (world.tables.topics(), world.addrs()) == (["only"], {0: "10.0.0.1:10911"})


def test_an_incremental_registration_does_not_hide_the_full_one_with_the_same_version():
    world, over = World(), channel()
    world.register(content=body([]), over=over)
    world.register(content=body(["T1"]), over=over)
    world.register(content=body(["T1", "T2", "T3"]), over=over)
    assert sorted(world.tables.topics()) == ["T1", "T2", "T3"]


def test_a_changed_value_under_an_unchanged_version_is_taken_over():
    world, over = World(), channel()
    world.register(content=body({"T1": RO, "T2": RO}), over=over)
    world.register(content=body({"T1": QueueSpec(8, 8, 6, 0), "T2": RO}), over=over)
    assert topic_route(world.tables, "T1").queue_datas[0].read_queue_nums == 8


def test_topics_missing_in_a_registration_stay_unless_the_operator_wants_them_gone():
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    world.register(content=body(["T2", "T3"], version=2), over=over)
    assert sorted(world.tables.topics()) == ["T1", "T2", "T3"]
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    world.register(content=body(["T2", "T3"], version=3), over=over)
    assert sorted(world.tables.topics()) == ["T2", "T3"]
    assert sorted(world.tables.topic_index) == ["T2", "T3"]


def test_a_lower_state_version_does_not_take_over_an_id_that_is_live():
    world = World()
    world.register(content=body(state_version=5))
    result = world.register(header(addr="10.0.0.9:10911"), body(state_version=4), channel(2))
    assert result.outcome == "stale"
    assert world.tables.broker_addr_table["broker-a"].broker_addrs == {0: "10.0.0.1:10911"}


def test_an_address_that_loses_its_id_is_not_live_any_more():
    world = World()
    world.register()
    world.register(header(addr="10.0.0.9:10911"), over=channel(2))
    assert [live.broker_addr for live in world.tables.broker_live_table] == ["10.0.0.9:10911"]


def test_an_address_has_one_name():
    world = World()
    world.register()
    world.register(header(name="broker-b"), over=channel(2))
    assert set(world.tables.broker_addr_table) == {"broker-b"}
    assert [name for name, _ in world.tables.rows_of("T1")] == ["broker-b"]
    assert world.tables.topic_index.names("T1") == ("broker-b",)


def test_nothing_of_a_registration_shows_when_its_connection_closed_meanwhile():
    world, over = World(), channel()
    content = body([f"T{i}" for i in range(5_000)])
    world.submit(register(header(), content, over, raw=b"x" * 20_000))
    world.queue.turn(world.now)
    world.queue.turn(world.now)
    assert len(world.tables.topic_index) > 0
    over.is_open = False
    world.run_turns()
    assert world.answers[-1][1].outcome == "closed"
    assert world.tables.broker_addr_table == {}
    assert len(world.tables.topic_index) == 0
    assert world.events == []


def test_no_slice_shows_before_the_commit():
    world = World()
    content = body([f"T{i}" for i in range(5_000)])
    world.submit(register(header(), content, channel(), raw=b"x" * 20_000))
    while world.queue.is_busy:
        shown = len(world.tables.topics())
        assert shown in (0, 5_000)
        world.queue.turn(world.now)
    assert len(world.tables.topics()) == 5_000


def test_what_touches_a_name_waits_behind_its_build():
    world, over = World(), channel()
    content = body([f"T{i}" for i in range(3_000)])
    world.submit(register(header(), content, over, raw=b"x" * 20_000))
    world.submit(unregister(over))
    world.submit(register(header("broker-b", "10.0.0.2:10911"), body(), channel(2)))
    assert [type(change).__name__ for change, _ in world.answers] == ["RegisterBroker"]
    world.run_turns()
    assert set(world.tables.broker_addr_table) == {"broker-b"}
    assert sorted(world.tables.topic_index) == ["T1", "T2"]


def test_the_events_say_what_the_rows_are_now():
    world = World()
    world.register()
    kinds = [type(event).__name__ for event in world.events]
    assert kinds == ["ClusterChanged", "BrokerGroupChanged", "BrokerLiveChanged", "TopicQueuesChanged"]
    assert world.copy.broker_addr_table == world.tables.broker_addr_table
    assert world.copy.topics() == world.tables.topics()
    live = next(e for e in world.events if isinstance(e, BrokerLiveChanged))
    assert (live.gen, live.is_new) == (1, True)
    rows = next(e for e in world.events if isinstance(e, TopicQueuesChanged))
    assert sorted(rows.topics) == ["T1", "T2"]


# the turns of a registration


def test_a_large_body_is_not_decoded_in_the_turn_in_which_it_arrives():
    world = World()
    decoded = []

    def decode():
        decoded.append(True)
        return body()
        yield

    small, large = b"x" * registration.SMALL_BODY_BYTES, b"x" * (registration.SMALL_BODY_BYTES + 1)
    world.submit(RegisterBroker(header(), large, version=513, channel=channel(), decode=decode))
    assert (decoded, world.queue.is_busy) == ([], True)
    world.run_turns()
    assert (decoded, world.answers[-1][1].outcome) == ([True], "new")
    world.submit(RegisterBroker(header(), small, version=513, channel=channel(), decode=decode))
    assert len(decoded) == 2


def test_a_turn_does_one_decode_or_one_slice_or_the_commit(narrow):
    world = World()
    world.begin(content=body(["T1", "T2", "T3", "T4"]), decode_turns=2)
    answers = []
    while world.queue.is_busy:
        world.queue.turn(world.now)
        answers.append(len(world.answers))
    # The second decode; its end with the first slice; the second slice; the commit; what was decoded is freed.
    assert answers == [0, 0, 0, 1, 1]
    assert len(world.tables.topics()) == 4


def test_look_ups_see_the_old_rows_until_the_new_ones_are_complete(narrow):
    world, over = World(), channel()
    topics = [f"T{number}" for number in range(6)]
    world.register(content=body(topics), over=over)
    eight = QueueSpec(8, 8, 6, 0)
    world.begin(content=body(dict.fromkeys(topics, eight), version=2), over=over, decode_turns=1)
    while len(world.answers) < 2:
        seen = {topic_route(world.tables, topic).queue_datas[0].read_queue_nums for topic in topics}
        assert seen == {4}
        world.queue.turn(world.now)
    check_consistency(world)
    assert {row.effective for row in world.tables.topics_of("broker-a").values()} == {eight}


def test_removed_topics_show_until_the_commit_and_leave_the_index_after_it(narrow):
    world, over = World(), channel()
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    world.register(content=body(["T1", "T2", "T3"]), over=over)
    world.begin(content=body(["T3", "T4"], version=2), over=over)
    while world.queue.is_busy:
        assert sorted(world.tables.topics()) in (["T1", "T2", "T3"], ["T3", "T4"])
        world.queue.turn(world.now)
    assert world.result_of(world.answers[-1][0]).outcome == "changed"
    check_consistency(world)


def test_missing_topics_are_told_by_the_keys_of_the_table_and_rows_by_the_names():
    world, over = World(), channel()
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    world.register(content=body(["T1", "T2"]), over=over)
    world.register(content=body(["T1", "T3"], version=2, topic_keys=frozenset({"T2", "other"})), over=over)
    assert sorted(world.tables.topics()) == ["T1", "T2", "T3"]


def test_equal_rows_are_one_object():
    world = World()
    world.register(content=body([f"T{number}" for number in range(10)]))
    assert len({id(row) for row in world.tables.topics_of("broker-a").values()}) == 1


def test_a_topic_is_one_string_in_the_index_and_in_all_tables():
    world = World()
    names = ["broker-a", "broker-b"]
    for number, name in enumerate(names):
        content = body([b"Topic-1".decode(), b"Topic-2".decode()])
        world.register(header(name, f"10.0.0.{number}:10911"), content, channel(number))
    tables = [world.tables.topic_index, *(world.tables.topics_of(name) for name in names)]
    assert len({id(topic) for table in tables for topic in table}) == 2


def test_a_row_that_was_stripped_keeps_what_was_registered():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=True))
    row = world.tables.topics_of("broker-a")["T1"]
    assert (row.effective.perm, row.registered.perm) == (4, 6)


def test_an_acting_master_that_says_the_same_again_changes_nothing():
    world, over = World(), channel()
    head = header(broker_id=1, enable_acting_master=True)
    world.register(head, over=over)
    assert world.register(head, body(["T2", "T1"]), over).outcome == "unchanged"
    assert world.perm() == 4


def test_a_master_that_comes_back_may_be_written_to_again():
    world = World()
    world.register(header(enable_acting_master=True), over=channel(1))
    world.register(header(addr=SLAVE, broker_id=1, enable_acting_master=True), over=channel(2))
    world.do(unregister(channel(1)))
    assert world.perm() == 4
    world.register(header(enable_acting_master=True), over=channel(3))
    assert world.perm() == 6


def test_a_split_registration_adds_up():
    """RocketMQ issues 4522, 9411: parts share one version from 5.3.4 on; the first must not hide the others."""
    world, over = World(), channel()
    for part in range(3):
        world.register(content=body([f"P{part}a", f"P{part}b"]), over=over)
    assert len(world.tables.topics()) == 6


def test_a_changed_topic_in_a_later_part_of_a_split_registration_is_taken_over():
    """Trap T57."""
    world, over = World(), channel()
    parts = [["A1", "A2"], ["B1", "B2"]]
    for part in parts:
        world.register(content=body(part), over=over)
    world.register(content=body(parts[0], version=2), over=over)
    world.register(content=body({"B1": QueueSpec(8, 8, 6, 0), "B2": RW4}, version=2), over=over)
    assert world.tables.topics_of("broker-a")["B1"].effective == QueueSpec(8, 8, 6, 0)


# nothing of it


def test_a_registration_over_a_closed_connection_is_not_even_decoded():
    world, over = World(), channel()
    over.is_open = False

    def never():
        raise AssertionError("decoded")

    change = RegisterBroker(header(), b"x", version=513, channel=over, decode=never)
    assert world.do(change).outcome == "closed"
    assert world.events == []


@pytest.mark.parametrize("turns", range(7))
def test_nothing_shows_whenever_the_connection_closes_before_the_commit(narrow, turns):
    world, over = World(), channel()
    world.register(header("broker-b", SLAVE), body(["T1", "B"]), channel(2))
    before = (
        dict(world.tables.broker_addr_table),
        dict(world.tables.cluster_addr_table),
        world.tables.topics(),
    )
    change = world.begin(content=body([f"T{number}" for number in range(9)]), over=over, decode_turns=3)
    for _ in range(turns):
        world.queue.turn(world.now)
    world.close(over)
    world.run_turns()
    assert world.result_of(change).outcome == "closed"
    assert (world.tables.broker_addr_table, world.tables.cluster_addr_table, world.tables.topics()) == before
    check_consistency(world)


def test_the_old_registration_of_a_connection_that_closes_meanwhile_goes_too():
    world, over = World(), channel()
    world.register(over=over)
    change = world.begin(content=body(version=2), over=over)
    world.close(over)
    world.run_turns()
    assert world.result_of(change).outcome == "closed"
    assert world.tables.broker_addr_table == {}


def test_a_slave_that_contributes_nothing_leaves_nothing_when_its_connection_closes():
    world, over = World(), channel(2)
    world.register()
    change = world.begin(header(addr=SLAVE, broker_id=1), over=over)
    world.close(over)
    world.run_turns()
    assert (world.result_of(change).outcome, world.addrs()) == ("closed", {0: "10.0.0.1:10911"})


def test_a_connection_that_closes_after_the_commit_removes_what_was_shown(narrow, monkeypatch):
    monkeypatch.setattr("namekeeper.route.removal.INDEX_SLICE", 1)
    world, over = World(), channel()
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    world.register(content=body(["T1", "T2", "T3", "T4"]), over=over)
    change = world.begin(content=body(["T5", "T6"], version=2), over=over)
    while "T5" not in world.tables.topics():
        world.queue.turn(world.now)
    assert world.queue.is_busy
    assert world.result_of(change).outcome == "changed"
    world.close(over)
    world.run_turns()
    assert world.tables.broker_addr_table == {}
    check_consistency(world)


def test_a_body_that_can_not_be_decoded_changes_nothing_and_is_told():
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    count = len(world.events)

    def broken():
        yield
        raise RequestError(1, "Failed to decode RegisterBrokerBody")

    with pytest.raises(RequestError, match="Failed to decode"):
        world.do(RegisterBroker(header(), b"x", version=513, channel=over, decode=broken))
    assert len(world.events) == count
    assert not world.queue.is_busy
    assert world.register(content=body(["T1", "T2"]), over=over).outcome == "short_cut"


@pytest.mark.parametrize("fails_at", [1, 3, 5])
def test_rows_that_can_not_be_built_leave_no_leftovers_in_the_index(narrow, monkeypatch, fails_at):
    world = World()
    made = []

    def make_row(*specs):
        made.append(specs)
        if len(made) == fails_at:
            raise MemoryError
        return real(*specs)

    real = rows.make_row
    monkeypatch.setattr(rows, "make_row", make_row)
    monkeypatch.setattr(registration, "ROWS_BY_SPEC", {False: rows.RowsBySpec(strip_write=False)})
    content = body({f"T{number}": QueueSpec(number, 4, 6, 0) for number in range(6)})
    with pytest.raises(MemoryError):
        world.do(register(header(), content, channel()))
    assert (len(world.tables.topic_index), world.tables.broker_addr_table) == (0, {})


def test_a_build_that_is_given_up_leaves_no_leftovers_in_the_index(narrow):
    world = World()
    change = register(header(), body([f"T{number}" for number in range(6)]), channel())
    slices = change.build(world.tables)
    next(slices)
    assert len(world.tables.topic_index) > 0
    slices.close()
    assert len(world.tables.topic_index) == 0


def test_a_build_that_is_begun_anew_comes_to_the_same(narrow):
    world = World()
    change = register(header(), body([f"T{number}" for number in range(6)]), channel(), decode_turns=2)
    for slices_run in (1, 4):
        slices = change.build(world.tables)
        for _ in range(slices_run):
            next(slices)
        slices.close()
    assert world.do(change).outcome == "new"
    assert len(world.tables.topics_of("broker-a")) == 6


def test_what_is_taken_back_is_taken_back_also_when_the_build_begins_anew_amid_it(narrow, monkeypatch):
    monkeypatch.setattr(removal, "INDEX_SLICE", 1)
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    change = register(header(), body([f"N{number}" for number in range(6)], version=2), over)
    slices = change.build(world.tables)
    next(slices)
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    while "N0" in world.tables.topic_index:
        next(slices)
    slices.close()
    over.is_open = False
    world.do(change)
    assert sorted(world.tables.topic_index) == ["T1", "T2"]


def test_the_body_of_a_closed_connection_is_not_decoded_to_its_end():
    world, over = World(), channel()
    read = []

    def decode():
        for number in range(9):
            read.append(number)
            yield
        return body()

    change = RegisterBroker(header(), b"x" * 20_000, version=513, channel=over, decode=decode)
    world.submit(change)
    world.queue.turn(world.now)
    over.is_open = False
    world.run_turns()
    assert (read, world.result_of(change).outcome) == ([0], "closed")


# built again


def test_rows_are_built_again_when_the_operator_wants_missing_topics_gone_meanwhile(narrow):
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    world.begin(content=body(["T3", "T4", "T5"], version=2), over=over, decode_turns=1)
    world.queue.turn(world.now)
    assert "T3" in world.tables.topic_index
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    world.run_turns()
    assert sorted(world.tables.topics()) == ["T3", "T4", "T5"]
    check_consistency(world)


def test_a_slave_that_the_master_overtakes_contributes_nothing_in_the_end(narrow):
    """Lanes keep this from happening; the last look at the tables would catch it all the same."""
    world = World()
    topics = [f"T{number}" for number in range(6)]
    change = world.begin(header(addr=SLAVE, broker_id=1), body(topics), channel(2), decode_turns=1)
    world.queue.turn(world.now)
    world.queue.turn(world.now)
    assert len(world.tables.topic_index) > 0
    other = World(world.tables)
    other.submit(register(header(), body([]), channel(1)))
    world.copy.apply_all(other.events)
    world.run_turns()
    assert world.result_of(change).outcome == "new"
    assert world.addrs() == {0: "10.0.0.1:10911", 1: SLAVE}
    assert (world.tables.topics(), len(world.tables.topic_index)) == ([], 0)


def test_a_permission_wiped_before_a_changed_registration_is_overwritten_by_it(narrow):
    world, over = World(), channel()
    world.register(over=over)
    build = world.begin(content=body(version=2), over=over)
    wipe = ChangeWritePerm("broker-a", Cause.WIPE_WRITE_PERM)
    world.submit(wipe)
    world.run_turns()
    assert [change for change, _ in world.answers[-2:]] == [build, wipe]
    assert world.perm() == 4


# refreshes


def test_a_registration_counts_as_life_when_its_frame_is_complete():
    world, over = World(), channel()
    world.register(over=over)
    world.now = at(119)
    world.begin(content=body(version=2), over=over)
    world.now = at(121)
    world.scan()
    assert len(world.queue) == 1
    world.run_turns()
    assert world.live().gen == 1


def test_the_connection_speaks_for_its_broker_from_the_first_registration_on():
    world, over = World(), channel()
    world.register(over=over)
    assert over.carried == {(CLUSTER, "10.0.0.1:10911"): 0}
    change = register(header(), body(), over)
    assert (change.key, change.remote_addr) == ((CLUSTER, "10.0.0.1:10911"), over.remote_addr)


def are_new(world: World) -> list[bool]:
    """Of each change of topics so far, whether it says that nobody had them before."""
    return [event.are_new for event in world.events if isinstance(event, TopicQueuesChanged)]


def test_topics_that_nobody_had_are_new_and_no_others():
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    world.register(header("broker-b", SLAVE), body(["T3", "T4"]), channel(2))
    assert are_new(world) == [True, True]
    world.register(content=body(["T1", "T2", "T3", "T5"], version=2), over=over)
    world.register(content=body({"T1": RO, "T6": RO}, version=3), over=over)
    assert are_new(world)[2:] == [False, False]


def test_a_topic_that_goes_makes_a_change_of_more_than_new_topics():
    world, over = World(), channel()
    world.register(content=body(["T1", "T2"]), over=over)
    world.tables.rules = RouteRules(delete_topic_with_broker_registration=True)
    world.register(content=body(["T2", "T3"], version=2), over=over)
    assert are_new(world) == [True, False]


def test_a_topic_is_not_new_if_another_name_got_it_during_the_build(narrow):
    """A client may have its route since then."""
    world = World()
    world.begin(content=body(["T1", "T2", "T3", "T4", "T5"]), decode_turns=0)
    while "T1" not in world.tables.topic_index:
        world.queue.turn(world.now)
    assert world.tables.rows_of("T1") == []
    world.submit(register(header("broker-b", SLAVE), body(["T1", "T2"]), channel(2)))
    assert [name for name, _ in world.tables.rows_of("T1")] == ["broker-b"]
    world.run_turns()
    assert [name for name, _ in world.tables.rows_of("T1")] == ["broker-a", "broker-b"]
    assert are_new(world) == [False, False]
