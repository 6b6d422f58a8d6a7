"""Records make the tables that the events behind them made."""

import pytest

from namekeeper.journal.contract.encode import records_of_event
from namekeeper.journal.contract.record import (
    BrokerLive,
    BrokerNameRemovedRecord,
    Config,
    Kv,
    ServerAlive,
    TopicQueues,
)
from namekeeper.journal.reading.state import State
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import TopicMappingChanged
from tests.support.server.builders import CLUSTER

LIVE = {"cluster": CLUSTER, "broker_addr": "a:1", "broker_name": "b", "broker_id": 0}


@pytest.fixture
def state() -> State:
    return State()


def rows(*found, name="b") -> TopicQueues:
    return TopicQueues(broker_name=name, rows=list(found))


def specs(state, name="b"):
    return {topic: row.effective for topic, row in state.tables.topics_of(name).items()}


def test_topic_rows_are_put_changed_and_taken_away(state):
    state.apply([rows(("T", 8, 4, 6, 1), ("U", 1, 1, 6, 0))])
    assert specs(state) == {"T": QueueSpec(8, 4, 6, 1), "U": QueueSpec(1, 1, 6, 0)}
    state.apply([rows(("T", 8, 4, 4, 1)), rows(("U",), ("never",), ("V", 2, 2, 2, 0))])
    assert specs(state) == {"T": QueueSpec(8, 4, 4, 1), "V": QueueSpec(2, 2, 2, 0)}
    assert set(state.tables.topics()) == {"T", "V"}


def test_neighbouring_rows_of_two_names_are_kept_apart(state):
    state.apply([rows(("T", 8, 4, 6, 1)), rows(("T", 1, 1, 6, 0), name="c"), rows(("U", 1, 1, 6, 0))])
    assert specs(state).keys() == {"T", "U"}
    assert specs(state, "c").keys() == {"T"}


def test_a_name_that_goes_takes_its_rows_and_no_later_ones(state):
    gone = BrokerNameRemovedRecord(broker_name="b")
    state.apply([rows(("T", 8, 4, 6, 1)), gone, rows(("U", 1, 1, 6, 0))])
    assert specs(state).keys() == {"U"}
    assert state.tables.rows_of("T") == []


def test_equal_queues_share_one_row(state):
    state.apply([rows(("T", 8, 4, 6, 1), ("U", 8, 4, 6, 1))])
    table = state.tables.topics_of("b")
    assert table["T"] is table["U"]
    assert table["T"].registered == table["T"].effective


def test_a_live_row_begins_goes_on_and_ends(state):
    state.apply([BrokerLive(**LIVE, gen=3, new=True, data_version=(1, 2, 3), channel=7, remote_addr="p:1")])
    (live,) = state.tables.broker_live_table
    assert (live.gen, live.channel_id, live.channel.remote_addr) == (3, 7, "p:1")
    version = live.data_version
    assert (version.state_version, version.timestamp, version.counter) == (1, 2, 3)
    state.apply([BrokerLive(**LIVE, gen=3, ha_server_addr="h:1", timeout_ms=5, channel=7)])
    assert (live.ha_server_addr, live.heartbeat_timeout_ms) == ("h:1", 5)
    assert live.data_version.counter == 0
    state.apply([BrokerLive(**LIVE, gen=4, channel=8)])
    (again,) = state.tables.broker_live_table
    assert (again.gen, again.channel_id) == (4, 8)
    state.apply([BrokerLive(**LIVE, gen=4, gone=True, reason="expired")])
    assert len(state.tables.broker_live_table) == 0


def test_kv_entries(state):
    state.apply([Kv(namespace="n", key="k", value=""), Kv(namespace="n", key="l", value="v")])
    assert state.kv == {"n": {"k": "", "l": "v"}}
    state.apply([Kv(namespace="n", key=key, gone=True) for key in ("k", "l", "never")])
    assert state.kv == {}


def test_properties_add_up(state):
    state.apply([Config(properties={"a": "1", "b": "2"}), Config(properties={"a": "3"})])
    assert state.properties == {"a": "3", "b": "2"}


def test_a_mapping_comes_and_goes(state):
    mapping = TopicQueueMappingInfo("b", {0: 1}, epoch=2**60, topic="T", total_queues=8)
    state.apply(records_of_event(TopicMappingChanged("T", "b", mapping)))
    assert state.tables.topic_queue_mapping_info_table == {"T": {"b": mapping}}
    state.apply(records_of_event(TopicMappingChanged("T", "b", None)))
    assert state.tables.topic_queue_mapping_info_table == {}


def test_what_is_no_state_changes_nothing(state):
    told = []
    state.tables.on_change = told.append
    state.apply([ServerAlive(connections=1)])
    assert told == []


def test_a_restart_forgets_routes_and_keeps_what_is_in_files(state):
    state.apply(
        [rows(("T", 8, 4, 6, 1)), Kv(namespace="n", key="k", value="v"), Config(properties={"a": "1"})]
    )
    state.restart()
    assert state.tables.topics() == []
    assert (state.kv, state.properties) == ({"n": {"k": "v"}}, {"a": "1"})


def test_rows_are_shared_within_bounds(state, monkeypatch):
    monkeypatch.setattr("namekeeper.journal.reading.state._MAX_ROWS", 3)
    state.apply([rows(*((f"T{number}", number, 1, 6, 0) for number in range(10)))])
    assert [spec.read_queue_nums for spec in specs(state).values()] == list(range(10))
