"""What a name server knows, and how other settings reach it."""

import pytest

from namekeeper.config.startup import make_startup
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.processor.state import NameServerState, rules_of
from namekeeper.route.tables import RouteRules, RouteTables
from tests.support.server.in_memory import InMemoryNameServer


@pytest.fixture
def state():
    return InMemoryNameServer(allow_config_update="true").state


def update(state, text):
    config, _ = state.config.update(text)
    state.reconfigure(config)


def test_the_rules_of_routing_are_switches_and_limits_among_the_settings(state):
    limits = {
        "broker_names_limit": 5_000, "cluster_names_limit": 1_000,
        "brokers_limit": 100_000, "broker_ids_limit": 1_000, "topic_rows_limit": 20_000_000,
    }  # fmt: skip
    assert rules_of(state.settings) == state.tables.rules == RouteRules(False, False, **limits)
    assert state.kv_config.entries_limit == 100_000
    update(state, b"deleteTopicWithBrokerRegistration=true\nnotifyMinBrokerIdChanged=true")
    assert state.tables.rules == RouteRules(True, True, **limits)


def test_tables_that_a_replay_has_filled_are_served_by_the_rules_of_the_settings():
    tables = RouteTables()
    config = make_startup(flags={"brokers_limit": "7"}).runtime_config
    state = NameServerState(config, KvConfigStore(), tables=tables)
    assert state.tables is tables
    assert tables.rules.brokers_limit == 7


def test_it_waits_for_service_only_if_the_operator_wants_it(state):
    assert not state.is_waiting_for_service
    update(state, b"needWaitForService=true")
    assert state.is_waiting_for_service
    state.end_wait_for_service()
    assert not state.is_waiting_for_service


def test_the_first_seconds_do_not_come_back(state):
    state.end_wait_for_service()
    update(state, b"needWaitForService=true")
    assert not state.is_waiting_for_service


def test_it_begins_empty(state):
    assert state.tables.topics() == []
    assert not state.is_draining
