"""The law (docs/decisions/0013): what Spark derives from journals is what the name servers held, and what the replay says."""

import random

import pytest

from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from tests.spark.lawful import SEED, WORLDS, Lawful
from tests.support.pipeline.duck import Duck, by_key
from tests.support.pipeline.law import records_of

pytestmark = [pytest.mark.timeout(1_200), pytest.mark.slow]


def test_many_name_servers_go_through_one_run(lawful: Lawful):
    servers = lawful.law.servers()
    assert len(servers) > 1.8 * WORLDS
    assert len(lawful.outcome.loads) == 1
    assert lawful.spark.catalog.listTables() == [], "no view is left behind"
    kinds = {record["kind"] for record in records_of(lawful.law.histories)}
    assert {
        "topic_mapping",
        "filter_servers",
        "kv",
        "config",
        "broker_name_removed",
        "clock_changed",
    } <= kinds
    assert sum(each.restored for each in lawful.law.histories) > WORLDS / 3
    assert sum(each.crashed for each in lawful.law.histories) > WORLDS / 3
    assert sum(each.dropped for each in lawful.law.histories) > WORLDS / 3
    assert sum(each.jumped for each in lawful.law.histories) > WORLDS / 3


def test_the_oracle_is_what_the_name_servers_held(lawful: Lawful):
    assert lawful.law.assert_beliefs() > 50 * WORLDS


def test_the_replay_is_what_the_oracle_says(lawful: Lawful):
    assert lawful.law.assert_replays(random.Random(SEED), instants=10) > 10 * WORLDS


def test_the_tables_are_what_the_oracle_says(lawful: Lawful):
    lawful.law.assert_states(lawful.rows, random.Random(SEED), instants=80)


def test_unknown_time_is_that_of_losses(lawful: Lawful):
    lawful.law.assert_periods(lawful.rows)
    lawful.law.assert_known_up_to(lawful.rows)
    lawful.law.assert_joined(lawful.rows)


def test_sums_over_days_and_name_servers_are_those_of_plain_loops(lawful: Lawful):
    lawful.law.assert_brokers(lawful.rows)
    lawful.law.assert_topics(lawful.rows)
    lawful.law.assert_activity(lawful.rows)
    assert lawful.law.assert_drift(lawful.rows) > WORLDS / 3


def test_another_engine_makes_the_same_of_every_table(lawful: Lawful):
    """So that what is shown on DuckDB, which is quick, is shown for Spark."""
    duck = Duck()
    make_gold(duck, duck.load(records_of(lawful.law.histories)))
    assert [name for name in GOLD if by_key(name, lawful.rows(name)) != duck.gold(name)] == []
