"""What follows from the SQL files of gold: what is kept, and what runs beside what."""

import pytest

from namekeeper.pipeline.gold.gold_graph import VALUES, gold_graph
from namekeeper.pipeline.gold.graph import Graph
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from tests.support.history.histories import histories
from tests.support.history.labels import labelled
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of


@pytest.fixture(scope="module")
def graph() -> Graph:
    return gold_graph()


def chains(graph: Graph, phase: str) -> list[set[str]]:
    return [{view.name for view in chain} for chain in graph.chains(lambda view: view.phase == phase)]


@pytest.mark.parametrize("is_first", [True, False])
def test_every_table_of_gold_is_written_by_one_view(is_first: bool):
    written = [view.writes for view in gold_graph(is_first=is_first) if view.writes]
    assert sorted(written) == sorted(GOLD)


def test_the_columns_of_each_header_are_those_of_the_result():
    duck = Duck()
    records = labelled(records_of(histories(3, 3)), "east")
    for some in (records, records[:3]):
        make_gold(duck, duck.load(some))
    found = {view.name: tuple(duck.columns(view.name)) for view in gold_graph()}
    assert {view.name: view.columns for view in gold_graph()} == found


def test_phases_come_one_after_another(graph: Graph):
    """A view reads only what phases before its own make, and views of its own phase."""
    order = (
        {"records", "fingerprint", "activity"},
        {"content", "session", "history", "change_log"},
        {"known"}, {"cluster"}, {"state"}, {"daily"}, {"drift"}, {"finish"},
    )  # fmt: skip
    rank = {phase: number for number, phases in enumerate(order) for phase in phases}
    for view in graph:
        assert all(rank[view.phase] <= rank[reader.phase] for reader in graph.readers(view.name)), view.name
    assert set(rank) == {view.phase for view in graph}


def test_what_needs_no_order_runs_beside_it(graph: Graph):
    assert len(chains(graph, "records")) == 1
    everything = {name for view in graph for name in (view.name, view.writes)}
    for phase in ("records", "fingerprint", "activity"):
        made = set().union(*chains(graph, phase))
        read = {name for view in graph if view.name in made for name in view.reads}
        assert read & everything <= made, phase


def test_states_of_brokers_run_beside_names_and_samples(graph: Graph):
    of_topics = graph.from_table("topic_route")
    found = graph.chains(lambda view: view.phase == "state" and view.name not in of_topics)
    brokers, *others = [{view.name for view in chain} for chain in found]
    assert brokers == {
        "recently_seen_cluster",
        "cluster_witness",
        "broker_witness",
        "horizon",
        "broker_state",
    }
    assert sorted(map(sorted, others)) == [
        ["cluster_of_broker_name"],
        ["registered_broker_name"],
        ["registration_sample"],
    ]


def test_days_of_topics_are_those_that_wait_for_topics(graph: Graph):
    assert {view.writes for name in graph.from_table("topic_route") if (view := graph[name]).writes} == {
        "topic_availability_daily",
        "topic_outage_daily",
        "incident",
        "capacity_daily",
        "view_drift_topic",
    }


def test_what_is_kept_is_small_or_read_by_several(graph: Graph):
    """Each reason is in the header; here is the list, so that a change of it is seen."""
    kept = {view.name for view in graph if view.kept and not view.name.startswith("merged_")}
    assert kept == {
        "record_block", "loss", "complete_checkpoint", "event_time", "position", "boundary", "known_position",
        "up_period", "registered_broker", "cluster_witness", "broker_witness", "broker_state", "registered_topic",
        "registration_sample", "cluster_of_broker_name", "registered_broker_name", "computed_change_log",
        "computed_name_server_session", "topic_fingerprint", "checkpoint_run", "topic_state",
        "incident_part", "topic_outage_cause", "asked_topic_row",
    }  # fmt: skip
    alone = {name for name in kept if len(graph.readers(name)) < 2}
    assert alone == {"complete_checkpoint", "topic_fingerprint", "topic_outage_cause", "asked_topic_row"}


def test_every_value_that_python_makes_is_read(graph: Graph):
    read = {name for view in graph for name in view.reads}
    assert set(VALUES) <= read
