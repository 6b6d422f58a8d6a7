"""Changes of single topics and of permissions (protocol.md 2.4, 2.6, 2.12)."""

import pytest
from msgspec import structs

from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.processor.recent_changes import topics_shown
from namekeeper.route.events import Cause, TopicMappingChanged, TopicQueuesChanged
from namekeeper.route.queries import topic_route
from namekeeper.route.tables import RouteRules, RouteTables
from namekeeper.route.topics import ChangeWritePerm, DeleteTopic, RegisterTopic
from tests.support.server.builders import CLUSTER, RW4, World, body, channel, header, register

WIPE = ChangeWritePerm("broker-a", Cause.WIPE_WRITE_PERM, "peer")
ADD = ChangeWritePerm("broker-a", Cause.ADD_WRITE_PERM, "peer")
OTHER = "10.0.0.2:10911"


@pytest.fixture
def world():
    world = World()
    specs = {"T1": QueueSpec(4, 4, 6, 0), "T2": QueueSpec(4, 4, 7, 1), "RO": QueueSpec(4, 4, 4, 0)}
    world.register(content=body(specs), over=channel(1))
    world.register(header("broker-b", OTHER, cluster_name="other"), body(["T1", "T3"]), channel(2))
    return world


# 205 and 327


def test_wiping_takes_the_write_bit_of_every_topic_of_the_name(world):
    assert world.do(WIPE) == 3
    assert [world.perm(topic) for topic in ("T1", "T2", "RO")] == [4, 5, 4]
    assert world.perm("T1", "broker-b") == 6


def test_adding_makes_everything_read_and_write_and_loses_other_bits(world):
    assert world.do(ADD) == 3
    assert [world.perm(topic) for topic in ("T1", "T2", "RO")] == [6, 6, 6]


def test_only_what_is_in_effect_changes(world):
    world.do(WIPE)
    assert world.tables.topics_of("broker-a")["T2"].registered == QueueSpec(4, 4, 7, 1)


def test_only_rows_that_change_are_told(world):
    world.do(WIPE)
    event = world.events[-1]
    assert isinstance(event, TopicQueuesChanged)
    assert sorted(event.topics) == ["T1", "T2"]
    count = len(world.events)
    assert world.do(WIPE) == 3
    assert len(world.events) == count


def test_an_unknown_name_has_no_topics(world):
    assert world.do(ChangeWritePerm("nobody", Cause.WIPE_WRITE_PERM)) == 0
    assert (WIPE.remote_addr, WIPE.cause, WIPE.touches(world.tables)) == (
        "peer",
        "wipe_write_perm",
        ("broker-a",),
    )


def test_a_wiped_permission_survives_an_unchanged_registration(world):
    over = channel(1)
    content = body({"T1": RW4, "T2": QueueSpec(4, 4, 7, 1), "RO": QueueSpec(4, 4, 4, 0)})
    world.register(content=content, over=over)
    world.do(WIPE)
    assert world.register(content=content, over=over).outcome == "short_cut"
    assert world.perm() == 4


def test_a_wiped_permission_survives_an_unchanged_registration_over_another_connection(world):
    world.do(WIPE)
    world.register(content=body({"T1": RW4, "T2": QueueSpec(4, 4, 7, 1)}), over=channel(9))
    assert (world.perm("T1"), world.perm("T2")) == (4, 5)


def test_a_wiped_permission_does_not_survive_a_changed_version(world):
    world.do(WIPE)
    world.register(content=body({"T1": RW4, "T2": QueueSpec(4, 4, 7, 1)}, version=2), over=channel(1))
    assert [world.perm(topic) for topic in ("T1", "T2", "RO")] == [6, 7, 4]


def test_a_wiped_permission_does_not_survive_a_changed_row(world):
    world.do(WIPE)
    world.register(content=body({"T1": QueueSpec(8, 8, 6, 0), "T2": QueueSpec(4, 4, 7, 1)}), over=channel(1))
    assert [world.perm(topic) for topic in ("T1", "T2")] == [6, 5]


# 216


def test_a_deleted_topic_is_gone_from_every_name(world):
    world.do(DeleteTopic("T1", remote_addr="peer"))
    assert sorted(world.tables.topics()) == ["RO", "T2", "T3"]
    assert topic_route(world.tables, "T1") is None


@pytest.mark.parametrize("cluster", [None, ""])
def test_no_cluster_means_all(world, cluster):
    change = DeleteTopic("T1", cluster)
    assert change.touches(world.tables) == {"broker-a", "broker-b"}
    world.do(change)
    assert "T1" not in world.tables.topics()


def test_a_cluster_limits_it_to_its_names(world):
    world.do(DeleteTopic("T1", "other"))
    assert [name for name, _ in world.tables.rows_of("T1")] == ["broker-a"]
    world.do(DeleteTopic("T1", CLUSTER))
    assert world.tables.rows_of("T1") == []


@pytest.mark.parametrize("change", [DeleteTopic("unknown"), DeleteTopic("T1", "unknown")])
def test_what_is_not_there_can_be_deleted(world, change):
    count = len(world.events)
    world.do(change)
    assert len(world.events) == count


def test_nothing_else_is_touched(world):
    world.do(DeleteTopic("T1"))
    assert set(world.tables.broker_addr_table) == {"broker-a", "broker-b"}
    assert len(world.tables.broker_live_table) == 2


def test_a_mapping_goes_with_the_last_row_of_its_topic(world):
    info = TopicQueueMappingInfo("broker-b", topic="T1")
    event = TopicMappingChanged("T1", "broker-b", info)
    world.tables.apply(event)
    world.copy.apply(event)
    world.do(DeleteTopic("T1", CLUSTER))
    assert world.tables.topic_queue_mapping_info_table == {"T1": {"broker-b": info}}
    world.do(DeleteTopic("T1"))
    assert world.tables.topic_queue_mapping_info_table == {}


# 217


def test_a_topic_registered_by_hand_is_shown_as_given(world):
    spec = QueueSpec(1, 2, 6, 3)
    change = RegisterTopic("new", (("broker-a", spec), ("broker-b", spec)))
    assert change.touches(world.tables) == {"broker-a", "broker-b"}
    world.do(change)
    assert [row.effective for _, row in world.tables.rows_of("new")] == [spec, spec]
    assert [row.registered for _, row in world.tables.rows_of("new")] == [spec, spec]


def test_it_replaces_what_was_there(world):
    world.do(WIPE)
    world.do(RegisterTopic("T1", (("broker-a", QueueSpec(1, 1, 6, 0)),)))
    assert world.tables.topics_of("broker-a")["T1"].effective == QueueSpec(1, 1, 6, 0)
    count = len(world.events)
    world.do(RegisterTopic("T1", (("broker-a", QueueSpec(1, 1, 6, 0)),)))
    assert len(world.events) == count


def test_an_unknown_name_stops_a_new_topic_altogether(world):
    world.do(RegisterTopic("new", (("broker-a", RW4), ("nobody", RW4), ("broker-b", RW4))))
    assert world.tables.rows_of("new") == []


def test_what_came_before_an_unknown_name_stays_if_the_topic_was_there(world):
    world.do(RegisterTopic("T2", (("broker-a", QueueSpec(1, 1, 6, 0)), ("nobody", RW4), ("broker-b", RW4))))
    assert [(name, row.effective) for name, row in world.tables.rows_of("T2")] == [
        ("broker-a", QueueSpec(1, 1, 6, 0))
    ]


def test_no_queues_are_no_change(world):
    count = len(world.events)
    world.do(RegisterTopic("new", ()))
    assert len(world.events) == count


def test_an_acting_master_may_be_written_to_by_hand():
    world = World()
    world.register(header(broker_id=1, enable_acting_master=True))
    world.do(RegisterTopic("T1", (("broker-a", RW4),)))
    assert (world.perm("T1"), world.perm("T2")) == (6, 4)


def test_a_name_whose_registration_was_refused_is_not_known():
    world = World()
    world.tables.rules = RouteRules(topic_rows_limit=1)
    world.register(header("broker-b", "10.0.0.2:10911"))
    assert world.register().is_refused
    world.do(RegisterTopic("T", (("broker-a", RW4),)))
    assert world.tables.rows_of("T") == []


# In slices


def test_a_permission_is_changed_in_slices_and_seen_at_once(world, monkeypatch):
    monkeypatch.setattr("namekeeper.route.rows.CHANGED_SLICE", 2)
    world.submit(WIPE)
    assert world.queue.is_busy
    assert [world.perm(topic) for topic in ("T1", "T2", "RO")] == [6, 7, 4]
    world.submit(ADD)
    world.run_turns()
    assert [answer for _, answer in world.answers[-2:]] == [3, 3]
    assert [world.perm(topic) for topic in ("T1", "T2", "RO")] == [6, 6, 6]
    assert world.queue.is_busy is False


@pytest.mark.parametrize("is_mapped", [False, True])
def test_the_names_that_have_a_topic_are_looked_up_no_more_often_the_more_there_are(
    world, monkeypatch, is_mapped
):
    mapped = {"T1": TopicQueueMappingInfo(topic="T1", bname="name-0")} if is_mapped else {}
    for number in range(50):
        name = f"name-{number}"
        named = header(name, f"10.1.0.{number}:1")
        content = body(["T1", "T2"])
        if mapped and not number:
            content = structs.replace(content, mappings=mapped)
        world.register(named, content, channel(10 + number))
    calls = []
    rows_of = RouteTables.rows_of
    monkeypatch.setattr(RouteTables, "rows_of", lambda *given: calls.append(given) or rows_of(*given))
    world.do(DeleteTopic("T1"))
    assert len(calls) < 10
    assert world.tables.rows_of("T1") == []
    assert "T1" not in world.tables.topic_queue_mapping_info_table


@pytest.mark.parametrize("change", [DeleteTopic("T1"), "register"], ids=["216", "217"])
def test_answers_are_invalidated_once_however_many_names_have_the_topic(world, change):
    names = [f"name-{number}" for number in range(20)]
    for number, name in enumerate(names):
        world.register(header(name, f"10.1.0.{number}:1"), body(["T1", "T2"]), channel(10 + number))
    if change == "register":
        change = RegisterTopic("T1", tuple((name, QueueSpec(16, 16, 6, 0)) for name in names))
    announced = []
    world.tables.on_change = announced.append
    world.events.clear()
    world.do(change)
    assert announced == [world.events[-1]]
    assert topics_shown(world.tables, world.events) == (("T1",),)
    assert {event.broker_name for event in world.events} >= set(names)
    assert all(event.after.get("T1") != event.before["T1"] for event in world.events)


def test_tables_are_copied_in_slices_for_one_topic_of_many_names(world, monkeypatch):
    monkeypatch.setattr("namekeeper.route.rows.COPIED_SLICE", 2)
    world.submit(DeleteTopic("T1"))
    assert world.queue.is_busy
    assert world.perm("T1") == 6
    world.run_turns()
    assert world.tables.rows_of("T1") == []
    world.submit(RegisterTopic("T1", (("broker-a", RW4), ("broker-b", RW4))))
    assert world.queue.is_busy
    assert world.tables.rows_of("T1") == []
    world.run_turns()
    assert len(world.tables.rows_of("T1")) == 2


def test_a_name_that_gets_the_topic_while_tables_are_copied_loses_it_too(world, monkeypatch):
    monkeypatch.setattr("namekeeper.route.rows.COPIED_SLICE", 3)
    world.submit(DeleteTopic("T1"))
    assert world.queue.is_busy
    world.submit(register(header("broker-c", "10.0.0.3:10911"), body(["T1", "T5"]), channel(3)))
    assert len(world.tables.rows_of("T1")) == 3
    world.run_turns()
    assert world.tables.rows_of("T1") == []


def test_of_many_entries_of_one_name_the_last_counts_and_makes_one_table(world):
    queues = [QueueSpec(number % 2 + 1, 1, 6, 0) for number in range(2_002)]
    count = len(world.events)
    world.do(RegisterTopic("T1", tuple(("broker-a", spec) for spec in queues)))
    assert len(world.events) == count + 1
    assert world.tables.topics_of("broker-a")["T1"].registered == queues[-1]
