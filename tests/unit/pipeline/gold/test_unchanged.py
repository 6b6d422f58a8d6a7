"""A run computes only the tables that its records change."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from namekeeper.pipeline.gold import steps
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.histories import HISTORIES
from namekeeper.pipeline.gold.plan import NewRecords
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.gold.unchanged import facts_of
from namekeeper.pipeline.schema import FACTS
from tests.support.history.histories import (
    Broker,
    NameServer,
    Record,
    histories,
)
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of
from tests.support.pipeline.quiet import CONFIRMED, SPEC, World

GRAPH = gold_graph()
SKIPPED = {
    view.writes for view in GRAPH if view.phase in {"session", "history", "change_log"} and view.writes
}
OF_RECORDS = {*(history.table.name for history in HISTORIES), "change_log"}


@cache
def loaded(servers: int) -> Duck:
    """A warehouse with the first load."""
    duck = Duck()
    make_gold(duck, duck.load(World(servers).first))
    return duck


def written_by(world: World, later: list[Record], *loads: list[Record]) -> set[str]:
    """Tables of the first phases that the last load writes; all tables are those of one load of everything."""
    step_by_step, at_once = loaded(len(world.servers)), Duck()
    make_gold(at_once, at_once.load([*world.first, *later, *(record for load in loads for record in load)]))
    with step_by_step.harmed():
        for load in (later, *loads):
            make_gold(step_by_step, step_by_step.load(load))
        assert [name for name in GOLD if step_by_step.gold(name) != at_once.gold(name)] == []
        return set(step_by_step.written) & SKIPPED


def test_signs_of_life_and_checkpoints_that_confirm_write_no_history():
    world = World(servers=2)
    for server in world.servers:
        for hour in (8, 12, 30):
            world.pass_quietly(server, hour)
    assert written_by(world, world.later()) == {"known_span"}


def test_signs_of_life_alone_write_no_checkpoint_either():
    world = World()
    for server in world.servers:
        server.activity(CONFIRMED)
    assert written_by(world, world.later()) == set()


CHANGES: list[tuple[Callable[[NameServer, int], None], set[str]]] = [
    (lambda server, at: server.set_kv(at, "kv", ("n", "k"), "w"), {"kv"}),
    (lambda server, at: server.set_kv(at, "config", ("p",), "1"), {"config"}),
    (lambda server, at: server.set_topic(at, "a", "new", SPEC), {"topic_row"}),
    (
        lambda server, at: server.register(
            at, Broker("c", "a", 1, "10.0.0.2:10911", False, None, {}, {}, filters=("f:1",))
        ),
        {"broker_live", "broker_group", "filter_servers"},
    ),
    (
        lambda server, at: server.register(
            at, Broker("d", "b", 0, "10.0.0.3:10911", False, None, {}, {"static": {"epoch": 1}})
        ),
        {"broker_live", "broker_group", "cluster_row", "topic_mapping"},
    ),
    (lambda server, at: server.write(at, [{"kind": "clock_changed", "step_ms": 1_000}]), {"server"}),
]  # fmt: skip
"""What happens at a name server, and the facts that tell of it."""


def test_a_change_writes_the_tables_that_its_kind_feeds():
    """Each change happens at a name server of its own, and is loaded alone."""
    world = World(len(CHANGES))
    duck, at_once = Duck(), Duck()
    make_gold(duck, duck.load(world.first))
    for server, (change, facts) in zip(world.servers, CHANGES, strict=True):
        change(server, CONFIRMED + 60_000)
        world.pass_quietly(server, 8)
        make_gold(duck, duck.load(r for r in world.later() if r["namesrv"] == server.name))
        fed = {table for table in OF_RECORDS if not facts.isdisjoint(facts_of(GRAPH, table))}
        assert (set(duck.written) & SKIPPED) - {"known_span"} == fed, facts
    make_gold(at_once, at_once.load([*world.first, *world.later()]))
    assert [name for name in GOLD if duck.gold(name) != at_once.gold(name)] == []


def test_a_checkpoint_that_says_something_else_writes_its_table():
    """No record tells of the change, and nothing was lost."""
    world = World()
    world.servers[0].state["kv"]["n", "k"] = "another"
    world.pass_quietly(world.servers[0], 8)
    assert written_by(world, world.later()) == {"known_span", "kv_history", "change_log"}


def test_a_checkpoint_without_any_row_of_a_kind_writes_its_table():
    world = World()
    world.servers[0].state["kv"].clear()
    world.pass_quietly(world.servers[0], 8)
    assert written_by(world, world.later()) == {"known_span", "kv_history", "change_log"}


def test_a_loss_and_its_repair_write_everything():
    world = World()
    server = world.servers[0]
    server.losing = True
    server.activity(CONFIRMED)
    server.losing = False
    server.activity(CONFIRMED + 60_000)
    lossy = world.later()
    assert {"name_server_timeline", "lost_records", "kv_history"} <= written_by(world, lossy)
    complete = World()
    server = complete.servers[0]
    server.activity(CONFIRMED)
    server.activity(CONFIRMED + 60_000)
    late = [record for record in complete.later() if record not in lossy]
    assert late
    assert {"name_server_timeline", "lost_records", "kv_history"} <= written_by(world, lossy, late)


def test_a_restart_writes_the_histories():
    world = World()
    world.servers[0].stop(CONFIRMED)
    world.servers[0].start(CONFIRMED + 60_000)
    world.servers[0].register(CONFIRMED + 70_000, world.broker)
    assert {"name_server_timeline", "broker_session", "kv_history"} <= written_by(world, world.later())


@pytest.fixture(scope="module")
def rich() -> tuple[Duck, list[NewRecords], dict[str, list[dict[str, Any]]]]:
    """A warehouse whose facts all have rows, its records as new ones, and its tables."""
    duck = Duck()
    new = duck.load(records_of(histories(11, 4)))
    make_gold(duck, new)
    return duck, new, {name: duck.gold(name) for name in OF_RECORDS}


@pytest.mark.parametrize(
    "fact", sorted({fact for name in OF_RECORDS for fact in facts_of(GRAPH, name)} - {"server"})
)
def test_a_table_depends_on_the_facts_that_its_query_states_and_on_no_other(
    fact: str, rich, monkeypatch: pytest.MonkeyPatch
):
    """Without `server` losses have other times, on which all tables depend. Tables of days come after these tables."""
    duck, new, before = rich
    for later in ("_make_window", "_make_last_tables"):
        monkeypatch.setattr(steps, later, lambda *_: None)
    with duck.harmed(*(f"DELETE FROM stored_{name}" for name in (fact, *GOLD))):
        make_gold(duck, new)
        changed = {name for name in OF_RECORDS if duck.gold(name) != before[name]}
    assert changed == {name for name in OF_RECORDS if fact in facts_of(GRAPH, name)}


def test_the_facts_of_each_table():
    """Here is the list, so that a change of it is seen."""
    found = {table: facts_of(GRAPH, table) for table in ("topic_route", "broker_session", "kv_history")}
    assert found == {
        "topic_route": {"topic_row", "broker_name_removed"},
        "broker_session": {"broker_live"},
        "kv_history": {"kv"},
    }
    assert facts_of(GRAPH, "heartbeat_gap_daily") == {"broker_minute"}
    assert facts_of(GRAPH, "change_log") <= FACTS.keys()
