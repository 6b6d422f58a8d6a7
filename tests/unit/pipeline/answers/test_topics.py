"""Answers about a topic, out of a warehouse of Parquet files, held against the oracle."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from namekeeper.answers.from_rows import route_from_rows, state_from_rows
from namekeeper.pipeline.answers import topics
from tests.support.history.oracle import Story
from tests.support.pipeline.file_warehouse import SEED, FileWarehouse

NASTY = "it's; DROP TABLE --"


def instants(warehouse: FileWarehouse, count: int) -> list[tuple[str, Story, str, int]]:
    """(name server, story, topic, instant) where the topic had a route; of the first ones the nasty one."""
    rng = random.Random(SEED)
    found = []
    for _, namesrv, story in rng.sample(warehouse.law.servers(), len(warehouse.law.servers())):
        ends = [step.ts for step in story.steps[1:]]
        for step, end in zip(story.steps, ends, strict=False):
            names = sorted(key[1] for key in step.state["topic"])
            if step.status == "up" and names and step.ts + 1 < end <= story.knows_up_to:
                topic = NASTY if NASTY in names else rng.choice(names)
                found.append((namesrv, story, topic, rng.randrange(step.ts, end)))
                break
    return sorted(found, key=lambda each: each[2] != NASTY)[:count]


def test_the_rows_of_a_route_make_that_of_the_oracle(warehouse: FileWarehouse):
    chosen = instants(warehouse, 20)
    assert NASTY in {topic for _, _, topic, _ in chosen}
    for namesrv, story, topic, at in chosen:
        (found,) = topics.route_rows(warehouse.tables, topic, at, namesrv)
        assert (found.namesrv, found.knowledge, found.knows_up_to) == (namesrv, "known", story.knows_up_to)
        route = route_from_rows(topic, found.tables)
        held = {key[0]: row for key, row in story.at(at).state["topic"].items() if key[1] == topic}
        assert {
            each.broker_name: (
                each.read_queue_nums, each.write_queue_nums, each.perm, each.topic_sys_flag,
            )
            for each in route.queue_datas
        } == held  # fmt: skip
        groups = story.at(at).state["group"]
        assert {
            each.broker_name: tuple(sorted(each.broker_addrs.items())) for each in route.broker_datas
        } == {name: groups[name,][3] for name in held}


def test_all_that_a_name_server_held_makes_the_state_of_the_oracle(warehouse: FileWarehouse):
    """All but live registrations, which no read request shows."""
    for namesrv, story, _, at in instants(warehouse, 20):
        (found,) = topics.held_rows(warehouse.tables, at, namesrv)
        assert (found.namesrv, found.knowledge, found.knows_up_to) == (namesrv, "known", story.knows_up_to)
        state, wanted = state_from_rows(found.tables), story.at(at).state
        tables = state.tables
        assert {
            (name, topic): (queues.read_queue_nums, queues.write_queue_nums, queues.perm, queues.topic_sys_flag)
            for topic in tables.topics()
            for name, row in tables.rows_of(topic)
            for queues in [row.effective]
        } == wanted["topic"]  # fmt: skip
        assert {
            (name,): (group.cluster, group.zone_name, group.enable_acting_master,
                      tuple(sorted(group.broker_addrs.items())))
            for name, group in tables.broker_addr_table.items()
        } == wanted["group"]  # fmt: skip
        clusters = tables.cluster_addr_table.items()
        assert {(name,): tuple(sorted(names)) for name, names in clusters} == wanted["cluster"]
        assert {key: tuple(each) for key, each in tables.filter_server_table.items()} == wanted["filter"]
        mappings = tables.topic_queue_mapping_info_table.items()
        assert {(topic, name) for topic, names in mappings for name in names} == wanted["mapping"].keys()
        assert {(space, key): value for space, rows in state.kv.items() for key, value in rows.items()} == (
            wanted["kv"]
        )
        assert {(name,): value for name, value in state.properties.items()} == wanted["config"]


def test_every_name_server_answers_and_says_what_it_knows(warehouse: FileWarehouse):
    at = max(story.knows_up_to for _, _, story in warehouse.law.servers()) - 3 * 86_400_000
    rows = topics.route_rows(warehouse.tables, "no such topic", at)
    found = {row.namesrv: (row.knowledge, row.knows_up_to) for row in rows}
    wanted = {}
    for _, namesrv, story in warehouse.law.servers():
        step = story.at(at)
        status = "before the journal" if step is None else step.status
        knowledge = "not known yet" if at > story.knows_up_to else "known" if status == "up" else status
        wanted[namesrv] = (knowledge, story.knows_up_to)
    assert found == wanted
    assert len({knowledge for knowledge, _ in found.values()}) >= 3
    assert not any(table for row in rows for name, table in row.tables.items() if name == "topic_route")


def test_names_that_may_be_near_a_misspelt_one_are_all_that_were_ever_held(warehouse: FileWarehouse):
    """Of brokers both names and addresses; what is gone is there too, but nothing that was held for no time."""
    states = [state for _, _, story in warehouse.law.servers() for state in held_states(story)]
    brokers = {text for state in states for key, row in state["live"].items() for text in (row[0], key[1])}
    found = {
        name: [row[column] for row in warehouse.tables.ask(name, {}).rows]
        for name, column in (("topic_names", "topic"), ("broker_names", "name"))
    }
    assert found == {
        "topic_names": sorted({key[1] for state in states for key in state["topic"]}),
        "broker_names": sorted(brokers),
    }
    ends = [story.steps[-1].state["live"] for _, _, story in warehouse.law.servers()]
    assert brokers > {key[1] for live in ends for key in live}


def held_states(story: Story) -> Iterator[Mapping[str, Mapping[Any, Any]]]:
    """The states of a running name server that were there for some time."""
    ends = [step.ts for step in story.steps[1:]] + [story.knows_up_to + 1]
    return (
        step.state
        for step, end in zip(story.steps, ends, strict=True)
        if step.status == "up" and step.ts < end
    )
