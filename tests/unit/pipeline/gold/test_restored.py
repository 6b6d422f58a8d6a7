"""Availability over a restart: a restored broker is up as long as it was heard within its timeout, and no longer."""

import json

import pytest

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.pipeline.duck import Duck
from tests.unit.answers.story import MINUTE, Story

TIMEOUT_MS = 120_000


def states_of(duck: Duck, broker_name: str) -> list[tuple[str, int, int]]:
    rows = [row for row in duck.gold("broker_state_daily") if row["broker_name"] == broker_name]
    return sorted(
        ((row["state"], row["valid_from"], row["valid_to"]) for row in rows), key=lambda row: row[1:]
    )


def test_a_restart_of_four_seconds_is_down_for_four_seconds():
    """Though nothing was recorded for nine seconds before it."""
    story = Story()
    story.registers("b0", "a0:1")
    killed = story.is_killed(silent_ms=9_000, down_ms=4_000)
    started = story.now
    story.registers("b0", "a0:1")
    story.later()
    story.alive()
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))

    (down,) = (row for row in duck.gold("incident") if row["kind"] == "name_server_down")
    assert (down["from_ts"], down["to_ts"], down["cause"]) == (killed, started, "no_stop")
    (lost,) = duck.gold("lost_records")
    assert (lost["unknown_from"], lost["unknown_to"]) == (killed, started)
    assert started - killed == 4_000
    assert ("up", killed) in [(state, until) for state, _, until in states_of(duck, "b0")]
    unknown = [each for each in story.evidence().periods if each.state == "unknown"]
    assert [(each.valid_from, each.valid_to) for each in unknown] == [(killed, started)]


@pytest.mark.parametrize("back_ms", [6_000, 20_000])
def test_a_clock_that_was_set_back_at_a_restart_takes_no_time_twice(back_ms):
    story = Story()
    story.registers("b0", "a0:1")
    story.journal.crash_later(9_000)
    story.journal.ts -= back_ms
    story.journal.start()
    started = story.now
    story.later()
    story.alive()
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))
    (lost,) = duck.gold("lost_records")
    assert lost["unknown_from"] == lost["unknown_to"] == started
    periods = [
        (row["state"], row["valid_from"], row["valid_to"]) for row in duck.gold("name_server_timeline")
    ]
    known = [(each.state, each.valid_from, each.valid_to) for each in story.evidence().periods]
    assert periods == known


def test_a_restored_broker_that_never_comes_back_is_down_from_its_expiry_on():
    story = Story()
    registered = story.registers("b1", "a1:1")
    story.registers("b0", "a0:1")
    down_ms = 10_000
    story.restarts_with_its_routes(down_ms)
    restored = story.now
    story.registers("b0", "a0:1")
    story.later(TIMEOUT_MS - down_ms - 1_000)  # it is silent since the boot before
    story.heard("a0:1")
    story.journal.server.scan(story.journal.up_ms)
    expired = story.now
    story.later(MINUTE)
    story.heard("a0:1")
    last = story.alive()
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))

    gone = states_of(duck, "b1")
    assert [(state, since) for state, since, _ in gone if state in {"up", "down"}] == [
        ("up", registered), ("up", restored), ("down", expired),
    ]  # fmt: skip
    assert expired - restored == TIMEOUT_MS - down_ms + 1_000
    assert gone[-1][2] == last
    assert states_of(duck, "b0")[-1][0] == "up"
    causes = {row["from_cause"] for row in duck.gold("topic_route") if row["broker_name"] == "b1"}
    assert causes == {"register_broker", "restored"}
    sessions = [row for row in duck.gold("broker_session") if row["broker_name"] == "b0"]
    assert sorted(row["from_cause"] for row in sessions) == ["register_broker", "register_broker", "restored"]
