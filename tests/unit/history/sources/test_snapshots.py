"""Answers of a running name server as steps: what came, what went, and what is unknown."""

from msgspec import structs

from namekeeper.admin.snapshot import NamesrvSnapshot
from namekeeper.answers.route import route_at
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, LiveKey, TopicKey
from namekeeper.history.sources.snapshots import LiveSteps
from namekeeper.history.timeline import PeriodState
from namekeeper.journal.reading.history import Changed, CheckpointApplied
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from tests.unit.admin.fake_namesrv import broker, queues

AT = 1_700_000_000_000


def snapshot(brokers: dict[str, BrokerData], topics: dict[str, list[str]], **more) -> NamesrvSnapshot:
    routes = {
        topic: TopicRouteData(
            queue_datas=[queues(name) for name in names],
            broker_datas=[brokers[name] for name in names],
            **more,
        )
        for topic, names in topics.items()
    }
    return NamesrvSnapshot("ns:1", brokers=brokers, routes=routes)


ONE = snapshot({"b0": broker("c", "b0", _0="a0:1", _1="a1:1")}, {"T": ["b0"]})


class Watched:
    """Steps, and the rows that they make."""

    def __init__(self) -> None:
        self.steps, self.history, self.at = LiveSteps(), History("ns:1"), AT

    def answers(self, found: NamesrvSnapshot) -> list[type]:
        self.at += 1_000
        return self.take(self.steps.answered(found, self.at))

    def take(self, steps) -> list[type]:
        kinds = []
        for step in steps:
            self.history.take(step)
            kinds.append(type(step))
        self.history.extend(self.at)
        return kinds

    def route(self):
        return route_at(self.history, "T", self.at).route


def test_the_first_answer_is_a_checkpoint_and_the_same_again_nothing():
    watched = Watched()
    assert watched.answers(ONE) == [CheckpointApplied]
    assert watched.answers(ONE) == []
    assert watched.history.events == []
    assert watched.route() == ONE.routes["T"]
    assert [key for key, _ in watched.history.rows(LiveKey, watched.at)] == [
        LiveKey("c", "a0:1"), LiveKey("c", "a1:1"),
    ]  # fmt: skip


def test_what_comes_and_what_goes_is_a_change():
    watched = Watched()
    watched.answers(ONE)
    two = snapshot(
        {"b0": broker("c", "b0", _0="a0:1"), "b1": broker("c", "b1", _0="b:1")},
        {"T": ["b0", "b1"], "new": ["b1"]},
    )
    assert watched.answers(two) == [Changed]
    assert watched.route() == two.routes["T"]
    assert dict(watched.history.rows(LiveKey, watched.at)).keys() == {
        LiveKey("c", "a0:1"),
        LiveKey("c", "b:1"),
    }
    assert watched.answers(snapshot({}, {})) == [Changed]
    for kind in (LiveKey, GroupKey, TopicKey):
        assert list(watched.history.rows(kind, watched.at)) == []
    assert [(event.cause, event.peer) for event in watched.history.events] == [("", "")] * 2


def test_a_broker_that_comes_back_is_of_another_generation():
    watched = Watched()
    key = LiveKey("c", "a0:1")
    watched.answers(ONE)
    watched.answers(snapshot({}, {}))
    watched.answers(ONE)
    first, again = watched.history.versions(key)
    assert first.valid_to < again.valid_from
    assert first.row.gen != again.row.gen


def test_mappings_and_filter_servers_come_and_go():
    mapping = TopicQueueMappingInfo(topic="T", bname="b0", curr_id_map={0: 0})
    brokers = {"b0": broker("c", "b0", _0="a0:1")}
    full = snapshot(
        brokers,
        {"T": ["b0"]},
        filter_server_table={"a0:1": ["f:1"]},
        topic_queue_mapping_by_broker={"b0": mapping},
    )
    watched = Watched()
    watched.answers(full)
    assert watched.route() == full.routes["T"]
    bare = structs.replace(full.routes["T"], filter_server_table={}, topic_queue_mapping_by_broker=None)
    watched.answers(structs.replace(full, routes={"T": bare}))
    assert watched.route().filter_server_table == {}
    assert not watched.route().topic_queue_mapping_by_broker


def test_while_it_does_not_answer_its_state_is_unknown():
    watched = Watched()
    watched.answers(ONE)
    watched.answers(ONE)
    silent = watched.at
    watched.take(watched.steps.fell_silent(silent))
    assert list(watched.steps.fell_silent(silent)) == []
    watched.history.extend(None)
    assert watched.answers(ONE) == [CheckpointApplied]
    assert [period.state for period in watched.history.periods()] == [
        PeriodState.UP, PeriodState.UNKNOWN, PeriodState.UP,
    ]  # fmt: skip
    assert watched.route() is not None


def test_one_that_never_answered_can_not_fall_silent():
    assert list(LiveSteps().fell_silent(0)) == []
