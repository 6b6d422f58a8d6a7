"""The law on DuckDB: the same SQL and the same steps as on Spark, held against plain folds (docs/decisions/0013)."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.gold.tables import GOLD
from tests.support.history.histories import HOUR, MARCH, History, NameServer, Record, histories
from tests.support.history.labels import labelled
from tests.support.history.pieces import arrivals, pieces
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import Law, records_of

SEED = 11


class World:
    """Histories, and what the SQL makes of them."""

    def __init__(self, count: int) -> None:
        self.law = Law(histories(SEED, count))
        self.duck = Duck()
        make_gold(self.duck, self.duck.load(records_of(self.law.histories)), block_records=20)


@pytest.fixture(scope="module", params=[24, pytest.param(40, marks=pytest.mark.long)])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


def test_the_oracle_agrees_with_what_the_name_servers_held(world: World):
    """Both are of the generator's making: this keeps the oracle honest."""
    assert world.law.assert_beliefs() > 1_000


def test_the_tables_are_what_the_oracle_says_at_many_instants(world: World):
    world.law.assert_states(world.duck.gold, random.Random(SEED), instants=60)


def test_what_is_unknown_begins_at_a_loss_and_ends_at_a_checkpoint_and_nothing_else_is(world: World):
    world.law.assert_periods(world.duck.gold)
    assert {row["state"] for row in world.duck.gold("name_server_timeline")} == {"up", "unknown", "stopped"}


def test_equal_neighbours_are_one_row(world: World):
    world.law.assert_joined(world.duck.gold)


def test_each_is_known_up_to_its_last_record(world: World):
    world.law.assert_known_up_to(world.duck.gold)


def test_times_of_brokers_add_up_as_in_a_plain_loop(world: World):
    world.law.assert_brokers(world.duck.gold)


def test_times_of_topics_add_up_as_in_a_plain_loop(world: World):
    world.law.assert_topics(world.duck.gold)


def test_activity_adds_up_as_in_plain_loops(world: World):
    world.law.assert_activity(world.duck.gold)


def test_name_servers_disagree_when_a_plain_loop_says_so(world: World):
    assert world.law.assert_drift(world.duck.gold) > 20


def gold_of(duck: Duck) -> Mapping[str, list[dict[str, Any]]]:
    return {name: duck.gold(name) for name in GOLD}


@pytest.mark.long  # in CI those below, which also come in several runs
@pytest.mark.parametrize("seed", [1, 4])
def test_it_does_not_matter_in_which_runs_and_in_what_order_records_come(seed: int):
    some = histories(seed, 8)
    for namesrv, records in some[0].records.items():
        some[0].records[namesrv] = labelled(records, "east")
    at_once = Duck("Asia/Kolkata")
    make_gold(at_once, at_once.load(records_of(some)))
    step_by_step = Duck("Asia/Kolkata")
    for batch in arrivals(some, random.Random(seed), runs=4):
        make_gold(step_by_step, step_by_step.load(batch))
    wanted, found = gold_of(at_once), gold_of(step_by_step)
    assert [name for name in GOLD if found[name] != wanted[name]] == []
    assert [name for name in GOLD if not wanted[name]] == [], "every table has rows to compare"


def test_it_does_not_matter_when_a_step_is_done_that_others_do_not_wait_for():
    some = histories(4, 4)
    late, soon = Duck(), Duck(soon=True)
    for duck in (late, soon):
        make_gold(duck, duck.load(records_of(some)))
    assert gold_of(late) == gold_of(soon)


@pytest.fixture(scope="module")
def gold_in_one_block() -> Mapping[str, list[dict[str, Any]]]:
    duck = Duck()
    make_gold(duck, duck.load(records_of(histories(4, 6))), block_records=1 << 30)
    return gold_of(duck)


@pytest.mark.parametrize(
    "block_records", [1, *(pytest.param(each, marks=pytest.mark.long) for each in (5, 40))]
)
def test_it_does_not_matter_how_many_records_are_looked_at_together(block_records: int, gold_in_one_block):
    found = Duck()
    for batch in arrivals(histories(4, 6), random.Random(block_records), runs=3):
        make_gold(found, found.load(batch), block_records=block_records)
    gold_in_blocks = gold_of(found)
    assert [name for name in GOLD if gold_in_blocks[name] != gold_in_one_block[name]] == []


def cut_late(each: History, share: float) -> tuple[list[Record], list[Record]]:
    """What is there of each name server, and the last part of it, behind a change."""
    early, late = [], []
    for records in each.records.values():
        end = len(records) - int(len(records) * share)
        cut = max(place for place, record in enumerate(records[:end]) if record.get("end")) + 1
        early += records[:cut]
        late += records[cut:]
    return early, late


@pytest.mark.parametrize("seed", [5, *(pytest.param(seed, marks=pytest.mark.long) for seed in (6, 7))])
def test_a_run_writes_only_the_days_that_changed(seed: int):
    (each,) = histories(seed, 1, actions=200)
    early, late = cut_late(each, 0.1)
    duck, at_once = Duck(), Duck()
    make_gold(duck, duck.load(early))
    before = {row["day"] for row in duck.gold("broker_availability_daily")}
    make_gold(duck, duck.load(late))
    rewritten = duck.written["broker_availability_daily"]
    assert rewritten is not None
    assert len(before - rewritten) >= 3
    closed = (duck.written["topic_route"] or set()) - {"open"}
    assert not {day for day in closed if day < min(rewritten)}
    make_gold(at_once, at_once.load([*early, *late]))
    wanted, found = gold_of(at_once), gold_of(duck)
    assert [name for name in GOLD if found[name] != wanted[name]] == []


@pytest.mark.parametrize("seed", [8, pytest.param(9, marks=pytest.mark.long)])
def test_a_segment_that_comes_late_changes_what_lies_around_it(seed: int):
    """A hole in the middle is filled: the days long before and long after it are not written again."""
    (each,) = histories(seed, 1, actions=250)
    early, late = [], []
    for records in each.records.values():
        cut = pieces(records, random.Random(seed))
        early += [record for piece in cut[: len(cut) // 3] + cut[len(cut) // 3 + 1 :] for record in piece]
        late += cut[len(cut) // 3]
    duck, at_once = Duck(), Duck()
    make_gold(duck, duck.load(early))
    before = {row["day"] for row in duck.gold("broker_availability_daily")}
    make_gold(duck, duck.load(late))
    rewritten = duck.written["broker_availability_daily"]
    assert rewritten is not None
    assert min(before) < min(rewritten) or max(rewritten) < max(before)
    make_gold(at_once, at_once.load([*early, *late]))
    wanted, found = gold_of(at_once), gold_of(duck)
    assert [name for name in GOLD if found[name] != wanted[name]] == []


@pytest.mark.parametrize("boots_before", [0, 1])
def test_a_segment_in_the_middle_of_a_checkpoint_may_come_before_what_lies_around_it(boots_before: int):
    """Its rows have the time of the checkpoint's begin, which is not there yet: they tell of no time at all."""
    rng = random.Random(SEED)
    several = (records for each in histories(SEED, 20) for records in each.records.values())
    records = next(some for some in several if len({record["boot"] for record in some}) > 1)
    boots = sorted({record["boot"] for record in records})
    before = [record for record in records if record["boot"] in boots[:boots_before]]
    rows = [each for each in records if each["boot"] == boots[boots_before] and "checkpoint" in each][1:-1]
    duck, at_once = Duck(), Duck()
    make_gold(duck, duck.load([*before, *rows]))
    assert [row["boot"] for row in duck.gold("name_server_session")] == boots[:boots_before]
    rest = [record for record in records if record not in before and record not in rows]
    rng.shuffle(rest)
    make_gold(duck, duck.load(rest))
    make_gold(at_once, at_once.load(records))
    wanted, found = gold_of(at_once), gold_of(duck)
    assert [name for name in GOLD if found[name] != wanted[name]] == []


def test_an_unknown_time_ends_at_the_checkpoint_after_which_a_late_record_tells_of_the_time():
    """Without the record nothing is known after the checkpoint: then the unknown time goes on to the next boot."""
    history = History("late")
    server = NameServer("ns-1_9876", random.Random(1), history)
    server.start(MARCH)
    server.losing = True
    server.set_kv(MARCH + HOUR, "kv", ("lost", "k"), "v")
    server.recover(MARCH + 2 * HOUR)
    server.stop(MARCH + 3 * HOUR)
    server.start(MARCH + 4 * HOUR)
    (records,) = history.records.values()
    late, at_once = Duck(), Duck()
    make_gold(at_once, at_once.load(records))
    make_gold(late, late.load(each for each in records if each["kind"] != "server_stopped"))
    assert len(late.gold("name_server_timeline")) < len(at_once.gold("name_server_timeline"))
    make_gold(late, late.load(each for each in records if each["kind"] == "server_stopped"))
    assert late.gold("name_server_timeline") == at_once.gold("name_server_timeline")


def test_nothing_new_makes_nothing():
    duck = Duck()
    make_gold(duck, [])
    assert duck.written == {}


def test_what_no_journal_tells_of_is_not_computed(monkeypatch: pytest.MonkeyPatch):
    """Nor is a name server that is alone compared with others."""
    defined: list[str] = []
    define = Duck.define
    monkeypatch.setattr(
        Duck,
        "define",
        lambda self, name, *rest, **named: (defined.append(name), define(self, name, *rest, **named)),
    )
    (namesrv, records), *_ = histories(SEED, 1)[0].records.items()
    kinds = {"topic_mapping", "filter_servers"}
    duck = Duck()
    make_gold(duck, duck.load(record for record in records if record["kind"] not in kinds))
    made = {name.removeprefix("computed_") for name in defined if name.startswith("computed_")}
    assert {"config_history", "topic_route", "name_server_timeline"} < made
    assert not made & {
        "topic_mapping_history",
        "filter_server_history",
        "view_drift_topic",
        "view_drift_broker",
    }
    assert not {"registration_sample", "new_name_server_clock_daily", "new_propagation_lag"} & {*defined}
    assert {row["namesrv"] for row in duck.gold("name_server_session")} == {namesrv}


def test_before_the_first_broker_comes_there_are_tables_without_rows():
    kinds = {"server_started", "server_alive", "checkpoint_begin", "checkpoint_end"}
    duck = Duck()
    made = duck.load(record for record in records_of(histories(SEED, 1)) if record["kind"] in kinds)
    make_gold(duck, made)
    assert duck.gold("name_server_session")
    assert duck.gold("broker_session") == duck.gold("topic_route") == []
