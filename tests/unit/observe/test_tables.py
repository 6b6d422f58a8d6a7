"""Two dated answers become the rows that changed between them, each with its window."""

from msgspec import structs

from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.encode import Stamp, encode_change, encode_record
from namekeeper.journal.contract.lines import Line
from namekeeper.journal.contract.record import STATE_KINDS
from namekeeper.journal.reading.state import State
from namekeeper.journal.recording.checkpoint import checkpoint_records
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.now import Now
from namekeeper.model.route import ClusterInfo, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.observe.questions import AskConfig, AskKv, AskMembers, AskRoute, AskTopics, ObservedAnswer
from namekeeper.observe.tables import FORMER_LIMIT, ObservedTables
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveChanged,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    ClusterChanged,
    ConfigChanged,
    FilterServersChanged,
    KvChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
)

STAMP = Stamp("n", 1, 1, 10_000, 1)


def group(name, *addrs, first_id=0, **more):
    return BrokerData("c", name, dict(enumerate(addrs, first_id)), **more)


def route(*names, perm=6, queues=4, **more):
    return TopicRouteData(
        broker_datas=[group(name, f"{name}:1") for name in names],
        queue_datas=[QueueData(name, perm, queues, 0, queues) for name in names],
        **more,
    )


class Watched:
    """Tables that are brought up to date by answers at given instants."""

    def __init__(self):
        self.tables = ObservedTables()

    def take(self, question, value, sent, received):
        return self.tables.take(ObservedAnswer(question, value, Now(sent, sent), Now(received, received), 0))

    def members(self, sent, *groups, received=None):
        info = ClusterInfo(
            {one.broker_name: one for one in groups},
            {"c": [one.broker_name for one in groups]} if groups else {},
        )
        return self.take(AskMembers(), info, sent, received or sent + 2)

    def topics(self, sent, *topics):
        return self.take(AskTopics(), list(topics), sent, sent + 2)

    def route(self, sent, topic, found):
        return self.take(AskRoute(topic), found, sent, sent + 2)


def known(*names, topics=("t",)):
    """Everything was read once, at 100 to 130."""
    watched = Watched()
    watched.members(100, *(group(name, f"{name}:1") for name in names))
    watched.topics(110, *topics)
    for topic in topics:
        watched.route(120, topic, route(*names))
    assert watched.tables.is_complete
    return watched


def read_again(lines):
    """Records of state, as a reader finds them."""
    reader = RecordReader()
    records = [reader(Line(number, line.rstrip(b"\n"))) for number, line in enumerate(lines, 1)]
    return [record for record in records if isinstance(record, STATE_KINDS)]


def events_of(outcome):
    return [event for change in outcome.changes for event in change.events]


def windows_of(outcome):
    return [change.window_ms for change in outcome.changes]


def test_nothing_is_complete_before_each_topic_was_read():
    watched = Watched()
    assert not watched.tables.is_complete
    watched.members(100, group("b", "b:1"))
    watched.topics(110, "t", "u")
    watched.route(120, "t", route("b"))
    assert (watched.tables.is_complete, watched.tables.unread) == (False, 1)
    watched.route(130, "u", None)
    assert watched.tables.is_complete


def test_a_broker_that_goes_takes_its_rows_with_it_and_no_topic_is_asked_for():
    watched = known("a", "b")
    outcome = watched.members(1_000, group("a", "a:1"), received=1_020)
    assert windows_of(outcome) == [920]
    kinds = {type(event) for event in events_of(outcome)}
    assert kinds == {BrokerLiveGone, BrokerGroupGone, BrokerNameRemoved, ClusterChanged}
    assert all(change.cause is Cause.OBSERVED for change in outcome.changes)
    assert events_of(watched.route(1_100, "t", route("a"))) == []


def test_the_window_begins_when_the_last_request_that_showed_the_broker_was_sent():
    watched = known("a")
    assert windows_of(watched.members(1_000, group("a", "a:1"))) == []
    assert windows_of(watched.members(2_000)) == [1_002]


def test_a_member_that_changes_its_address_is_another_registration():
    watched = known("a")
    outcome = watched.members(1_000, group("a", "a:2"))
    gone, came, changed = events_of(outcome)
    assert isinstance(gone, BrokerLiveGone)
    assert (came.broker_addr, came.is_new, came.gen) == ("a:2", True, 2)
    assert isinstance(changed, BrokerGroupChanged)
    assert list(outcome.touched) == ["t"]


def test_another_zone_changes_the_group_alone():
    watched = known("a")
    outcome = watched.members(1_000, group("a", "a:1", zone_name="z"))
    assert [type(event) for event in events_of(outcome)] == [BrokerGroupChanged]


def test_a_new_topic_was_not_there_when_the_list_before_was_asked_for():
    watched = known("a")
    assert list(watched.topics(1_000, "t", "new").touched) == ["new"]
    outcome = watched.route(1_010, "new", route("a"))
    assert windows_of(outcome) == [1_012 - 110]
    assert [type(event) for event in events_of(outcome)] == [TopicQueuesChanged]


def test_rows_of_a_broker_that_came_were_not_there_before_it():
    watched = known("a")
    watched.members(5_000, group("a", "a:1"))
    watched.members(6_000, group("a", "a:1"), group("b", "b:1"))
    outcome = watched.route(6_010, "t", route("a", "b"))
    assert windows_of(outcome) == [6_012 - 5_000]


def test_rows_of_a_broker_that_no_answer_showed_yet_were_not_there_at_the_last_one():
    watched = known("a")
    watched.members(5_000, group("a", "a:1"))
    assert windows_of(watched.route(6_010, "t", route("a", "b"))) == [6_012 - 5_000]


def test_changed_queues_have_the_time_since_the_topic_was_asked_for():
    watched = known("a")
    watched.members(5_000, group("a", "a:1"))
    outcome = watched.route(6_000, "t", route("a", queues=8))
    assert windows_of(outcome) == [6_002 - 120]
    (event,) = events_of(outcome)
    assert event.after["t"].effective.read_queue_nums == 8
    assert list(outcome.touched) == []


def test_another_permission_touches_the_other_topics_of_the_broker_once():
    watched = known("a", topics=("t", "u", "v"))
    assert set(watched.route(1_000, "t", route("a", perm=4)).touched) == {"t", "u", "v"}
    assert list(watched.route(1_010, "u", route("a", perm=4)).touched) == []
    assert list(watched.route(1_020, "v", route("a", perm=4)).touched) == []
    assert set(watched.route(2_000, "t", route("a", perm=6)).touched) == {"t", "u", "v"}


def test_a_row_that_goes_is_doubted_until_its_broker_is_seen_again():
    """A topic whose broker had died was recorded as deleted."""
    watched = known("a", "b")
    outcome = watched.route(1_000, "t", route("a"))
    assert (outcome.changes, outcome.is_doubted) == ([], True)
    assert watched.route(1_010, "t", route("a")).is_doubted
    assert list(watched.members(1_020, group("a", "a:1"), group("b", "b:1")).touched) == ["t"]
    outcome = watched.route(1_030, "t", route("a"))
    assert (windows_of(outcome), outcome.is_doubted) == ([1_032 - 120], False)


def test_a_row_that_goes_with_its_broker_is_no_change_of_the_topic():
    watched = known("a", "b")
    watched.route(1_000, "t", route("a"))
    outcome = watched.members(1_020, group("a", "a:1"))
    assert BrokerNameRemoved in map(type, events_of(outcome))
    assert watched.route(1_030, "t", route("a")).changes == []


def test_a_row_that_is_back_was_never_gone():
    watched = known("a", "b")
    watched.route(1_000, "t", route("a"))
    assert watched.route(1_010, "t", route("a", "b")).changes == []
    watched.members(1_020, group("a", "a:1"), group("b", "b:1"))
    assert watched.route(1_030, "t", route("a")).is_doubted


def test_a_deleted_topic_is_doubted_until_its_brokers_are_seen_again():
    watched = known("a", "b")
    watched.topics(900, "t")
    assert watched.topics(1_000).is_doubted
    watched.members(1_010, group("a", "a:1"), group("b", "b:1"))
    outcome = watched.topics(1_020)
    assert not outcome.is_doubted
    assert windows_of(outcome) == [1_022 - 900]
    assert {event.broker_name: event.topics for event in events_of(outcome)} == {"a": ("t",), "b": ("t",)}
    assert watched.tables.topics == {}
    assert watched.route(1_030, "t", None).changes == []


def test_a_topic_that_is_listed_again_was_never_deleted():
    watched = known("a")
    watched.topics(1_000)
    watched.members(1_010, group("a", "a:1"))
    assert watched.topics(1_020, "t").changes == []
    assert watched.topics(1_030).is_doubted


def test_topics_of_the_last_broker_go_with_it():
    watched = known("a")
    assert watched.topics(1_000).is_doubted
    assert BrokerNameRemoved in map(type, events_of(watched.members(1_010)))
    outcome = watched.topics(1_020)
    assert (outcome.changes, outcome.is_doubted, watched.tables.topics) == ([], False, {})


def test_the_former_topics_of_a_broker_that_comes_back_come_first():
    watched = known("a", topics=("t", "u"))
    watched.members(1_000)
    assert set(watched.members(2_000, group("a", "a:1")).touched) == {"t", "u"}


def test_topics_of_few_former_brokers_are_remembered():
    names = [f"b{n}" for n in range(FORMER_LIMIT + 1)]
    watched = known(*names)
    watched.members(1_000)
    back = [set(watched.members(2_000 + n, group(name, "x:1")).touched) for n, name in enumerate(names)]
    assert sum(bool(touched) for touched in back) == FORMER_LIMIT


def test_mappings_are_rows_of_their_own():
    watched = known("a")
    mapping = TopicQueueMappingInfo("a", {0: 0}, topic="t", total_queues=1)
    outcome = watched.route(1_000, "t", route("a", topic_queue_mapping_by_broker={"a": mapping}))
    assert events_of(outcome) == [TopicMappingChanged("t", "a", mapping)]
    assert events_of(watched.route(2_000, "t", route("a"))) == [TopicMappingChanged("t", "a", None)]
    watched.route(3_000, "t", route("a", topic_queue_mapping_by_broker={"a": mapping}))
    assert TopicMappingChanged("t", "a", None) in events_of(watched.members(4_000))


def test_filter_servers_are_those_of_the_answer_that_was_sent_last():
    watched = known("a", topics=("t", "u"))
    outcome = watched.route(1_000, "t", route("a", filter_server_table={"a:1": ["f:1"]}))
    assert events_of(outcome) == [FilterServersChanged("c", "a:1", ("f:1",))]
    overlapping = watched.take(AskRoute("u"), route("a"), 1_001, 1_005)
    assert overlapping.changes == []
    gone = [event for event in events_of(watched.members(2_000)) if isinstance(event, FilterServersChanged)]
    assert gone == [FilterServersChanged("c", "a:1", ())]


def test_kv_entries_and_properties_change_one_by_one():
    watched = Watched()
    watched.take(AskKv("n"), {"a": "1", "b": "1"}, 100, 102)
    watched.take(AskConfig(), {"p": "1", "q": "1"}, 110, 112)
    outcome = watched.take(AskKv("n"), {"a": "2"}, 1_000, 1_002)
    assert (events_of(outcome), windows_of(outcome)) == (
        [KvChanged("n", "a", "2"), KvChanged("n", "b", None)],
        [902],
    )
    outcome = watched.take(AskConfig(), {"p": "1", "q": "2"}, 2_000, 2_002)
    assert (events_of(outcome), windows_of(outcome)) == ([ConfigChanged({"q": "2"})], [1_892])


def test_a_change_within_one_millisecond_has_a_window():
    """A record without a window would say that its time is exact."""
    watched = known("a")
    watched.members(1_000, group("a", "a:1"), received=1_000)
    assert windows_of(watched.members(1_000, received=1_000)) == [1]


def test_an_acting_master_stays_the_slave_that_it_is():
    watched = Watched()
    slave = structs.replace(group("a", "a:2", first_id=1), enable_acting_master=True)
    watched.members(100, slave)
    watched.topics(110, "t")
    acting = TopicRouteData([group("a", "a:2")], [QueueData("a", 4, 4, 0, 4)])
    watched.route(120, "t", acting)
    assert [live.broker_id for live in watched.tables.snapshot().live] == [1]


def test_a_replay_of_the_records_has_the_observed_tables():
    watched = known("a", "b", topics=("t", "u"))
    watched.take(AskKv("n"), {"k": "v"}, 130, 132)
    replayed = State()
    replayed.apply(
        read_again(encode_record(one, STAMP) for one in checkpoint_records(watched.tables.snapshot(), "s"))
    )
    outcomes = [
        watched.route(1_000, "t", route("a", "b", queues=8)),
        watched.members(1_100, group("a", "a:1", "a:2")),
        watched.topics(1_200, "t", "u", "w"),
        watched.route(1_210, "w", route("a")),
        watched.topics(1_300, "t", "w"),
        watched.members(1_400, group("a", "a:1", "a:2")),
        watched.topics(1_500, "t", "w"),
    ]
    for outcome in outcomes:
        for change in outcome.changes:
            assert change.window_ms
            replayed.apply(read_again(encode_change(change, STAMP)))
    tables = replayed.tables
    assert {
        name: dict(rows) for name, rows in tables.topic_queue_table.items() if rows
    } == watched.tables.rows
    assert tables.broker_addr_table == watched.tables.brokers
    assert {live.key for live in tables.broker_live_table} == watched.tables.live
    assert dict(tables.cluster_addr_table) == {"c": {"a"}}
    assert BrokerLiveChanged in {type(event) for event in watched.tables.snapshot().live}


def test_nothing_is_kept_of_broker_names_that_no_answer_has_any_more(monkeypatch):
    """A name server gave other broker names in each route, and the observer grew by gigabytes in an hour."""
    limit = 3_000
    monkeypatch.setattr("namekeeper.observe.tables.SHARED_NAMES_LIMIT", limit)
    watched = known("a")
    for turn in range(3):
        names = [f"b{turn}-{n}" for n in range(limit * 2 // 3)]
        watched.route(1_000 + turn * 100, "t", route("a", *names))
        watched.members(1_050 + turn * 100, group("a", "a:1"))
    watched.route(2_000, "t", route("a"))
    watched.members(2_010, group("a", "a:1"))
    watched.route(2_020, "t", route("a"))
    tables = watched.tables
    assert set(tables.rows) == {"a"}
    assert sum(map(len, tables._names)) <= limit


def test_a_broker_name_without_topics_has_no_rows_and_no_wave():
    watched = known("a", topics=("t", "u"))
    watched.route(1_000, "t", route("a", "x"))
    watched.route(1_100, "t", route("a", "x", perm=4))
    watched.topics(1_200, "u")
    watched.members(1_300, group("a", "a:1"))
    watched.topics(1_400, "u")
    tables = watched.tables
    assert (set(tables.topics), set(tables.rows), set(tables._waves)) == ({"u"}, {"a"}, {"a"})
