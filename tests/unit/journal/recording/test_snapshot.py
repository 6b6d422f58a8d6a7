"""The whole state, as it was in one turn."""

import subprocess
import sys

import pytest

from namekeeper.journal.recording.snapshot import take_snapshot
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.route.events import BrokerLiveChanged, ConfigChanged, KvChanged
from tests.support.server.builders import World, at


@pytest.fixture
def world() -> World:
    built = World()
    built.register()
    return built


def test_taking_it_copies_no_table(world):
    snapshot = take_snapshot(world.tables, KvConfigStore(), now=at(0))
    assert set(snapshot.topic_tables) == {"broker-a"}
    for name, table in world.tables.topic_queue_table.items():
        assert snapshot.topic_tables[name] is table


def test_a_live_registration_is_as_if_it_had_changed(world):
    snapshot = take_snapshot(world.tables, KvConfigStore(), now=at(0))
    (registered,) = (event for event in world.events if isinstance(event, BrokerLiveChanged))
    (live,) = snapshot.live
    assert (live.broker_addr, live.data_version, live.remote_addr, live.gen) == (
        registered.broker_addr, registered.data_version, registered.remote_addr, registered.gen
    )  # fmt: skip
    assert not live.is_new
    assert live in snapshot.events


def test_a_live_registration_says_how_long_ago_it_was_heard(world):
    (live,) = take_snapshot(world.tables, KvConfigStore(), now=at(9)).live
    assert live.idle_ms == 9_000
    (live,) = take_snapshot(world.tables, KvConfigStore(), now=at(0)).live
    assert live.idle_ms == 1  # 0 would say that it is not known


def test_what_is_no_route_is_in_it_too():
    snapshot = take_snapshot(World().tables, KvConfigStore({"n": {"k": "v"}}), {"a": "1"}, now=at(0))
    assert snapshot.events == (KvChanged("n", "k", "v"), ConfigChanged({"a": "1"}))


def test_a_server_that_starts_to_listen_has_not_imported_the_rest_of_the_journal():
    """Readiness counts: what writes is imported later."""
    code = "import sys, namekeeper.app.name_server; print(*(m for m in sys.modules if '.journal.' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "namekeeper.journal.recording",
        "namekeeper.journal.recording.snapshot",
    }
