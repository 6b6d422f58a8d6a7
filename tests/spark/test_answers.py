"""Answers out of a warehouse, as DataFrames and as rows of evidence."""

import random

import pytest

from namekeeper.answers.explain import explain
from namekeeper.answers.from_rows import evidence_from_rows, route_from_rows
from namekeeper.pipeline.answers import daily, topics, warehouse
from namekeeper.pipeline.errors import WarehouseError
from tests.spark.lawful import SEED, Lawful
from tests.support.history.oracle import Story

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]

NASTY = "it's; DROP TABLE --"


def instants(lawful: Lawful, count: int) -> list[tuple[str, Story, str, int]]:
    """(name server, story, topic, instant) where the topic had a route."""
    rng = random.Random(SEED)
    found = []
    for _, namesrv, story in rng.sample(lawful.law.servers(), len(lawful.law.servers())):
        ends = [step.ts for step in story.steps[1:]]
        for step, end in zip(story.steps, ends, strict=False):
            topics = sorted(key[1] for key in step.state["topic"])
            if step.status == "up" and topics and step.ts + 1 < end <= story.knows_up_to:
                topic = NASTY if NASTY in topics else rng.choice(topics)
                found.append((namesrv, story, topic, rng.randrange(step.ts, end)))
                break
        if len(found) == count:
            break
    return found


def test_the_route_of_a_topic_is_that_of_the_oracle(lawful: Lawful):
    chosen = instants(lawful, 4)
    assert NASTY in {topic for _, _, topic, _ in chosen}
    for namesrv, story, topic, at in chosen:
        rows = topics.route_at(lawful.spark, lawful.tables, topic, at, namesrv).collect()
        held = {key[0]: row for key, row in story.at(at).state["topic"].items() if key[1] == topic}
        columns = ("read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag")
        assert {row["broker_name"]: tuple(row[name] for name in columns) for row in rows} == held
        assert {row["knowledge"] for row in rows} == {"known"}
        assert all(row["since"] <= at and row["members"] for row in rows)


def test_every_name_server_answers_and_says_what_it_knows(lawful: Lawful):
    at = max(story.knows_up_to for _, _, story in lawful.law.servers()) - 3 * 86_400_000
    rows = topics.route_at(lawful.spark, lawful.uri, "no such topic", at).collect()
    found = {row["namesrv"]: (row["knowledge"], row["knows_up_to"], row["broker_name"]) for row in rows}
    wanted = {}
    for _, namesrv, story in lawful.law.servers():
        step = story.at(at)
        knowledge = (
            "not known yet"
            if at > story.knows_up_to
            else "before the journal"
            if step is None
            else step.status
        )
        knowledge = "known" if knowledge == "up" else knowledge
        wanted[namesrv] = (knowledge, story.knows_up_to, None)
    assert found == wanted
    assert len({knowledge for knowledge, _, _ in found.values()}) >= 3


def test_the_rows_of_a_route_make_it(lawful: Lawful):
    namesrv, story, topic, at = instants(lawful, 1)[0]
    (found,) = topics.route_rows(lawful.spark, lawful.tables, topic, at, namesrv)
    assert (found.namesrv, found.knowledge, found.knows_up_to) == (namesrv, "known", story.knows_up_to)
    route = route_from_rows(topic, found.tables)
    held = {key[0]: row for key, row in story.at(at).state["topic"].items() if key[1] == topic}
    assert {each.broker_name: each.write_queue_nums for each in route.queue_datas} == {
        name: row[1] for name, row in held.items()
    }
    groups = story.at(at).state["group"]
    assert {each.broker_name: tuple(sorted(each.broker_addrs.items())) for each in route.broker_datas} == {
        name: groups[name,][3] for name in held
    }


def test_the_evidence_of_why_is_understood(lawful: Lawful):
    namesrv, story, topic, at = instants(lawful, 1)[0]
    found = topics.why_rows(lawful.spark, lawful.tables, topic, at, namesrv)
    assert found.knows_up_to == {namesrv: story.knows_up_to}
    assert set(found.tables) == {
        "name_server_timeline",
        "topic_route",
        "broker_session",
        "unknown_topic_minute",
    }
    (verdict,) = explain(evidence_from_rows(topic, found.tables, found.knows_up_to), at)
    assert verdict.namesrv == namesrv
    (nobody,) = explain(
        evidence_from_rows("never", {**found.tables, "topic_route": []}, found.knows_up_to), at
    )
    assert nobody.verdict == "never_registered"


def test_a_table_that_does_not_exist_and_a_place_without_a_warehouse(lawful: Lawful, tmp_path):
    with pytest.raises(WarehouseError, match="there is no table 'x'"):
        warehouse.table(lawful.spark, lawful.tables, "x")
    with pytest.raises(WarehouseError, match="is no warehouse"):
        topics.route_at(lawful.spark, str(tmp_path), "t", 0)


def test_sums_over_days_are_those_of_the_rows(lawful: Lawful):
    rows = lawful.rows("broker_availability_daily")
    last = max(row["day"] for row in rows)
    total = daily.availability(lawful.spark, lawful.tables, last_day=last).collect()
    assert sum(row["down_ms"] for row in total) == sum(row["down_ms"] for row in rows)
    shares = [row["availability"] for row in total if row["availability"] is not None]
    assert shares == sorted(shares)
    assert shares[0] < 1 == shares[-1]
    of_one_day = daily.availability(lawful.spark, lawful.tables, last, last).collect()
    assert sum(row["up_ms"] for row in of_one_day) == sum(row["up_ms"] for row in rows if row["day"] == last)


def test_differences_of_brokers_and_topics_are_in_one_table(lawful: Lawful):
    rows = daily.drift(lawful.spark, lawful.tables).collect()
    assert len(rows) == len(lawful.rows("view_drift_broker")) + len(lawful.rows("view_drift_topic"))
    about_a_broker = next(row for row in rows if row["topic"] is None)
    assert {view.rpartition(": ")[2] for view in about_a_broker["views"]} == {"there", "missing"}


def test_changes_of_a_topic_tell_who_asked(lawful: Lawful):
    rows = daily.changes(lawful.spark, lawful.tables, topic=NASTY).collect()
    assert {row["topic"] for row in rows} == {NASTY}
    assert {"delete_topic", "register_topic"} <= {row["cause"] for row in rows}
    assert [row["at_ts"] for row in rows] == sorted((row["at_ts"] for row in rows), reverse=True)
