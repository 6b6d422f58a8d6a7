"""Availability over a restart: a restored broker is up as long as it was heard within its timeout, and no longer."""

import json

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.pipeline.duck import Duck
from tests.unit.answers.story import MINUTE, Story

TIMEOUT_MS = 120_000


def states_of(duck: Duck, broker_name: str) -> list[tuple[str, int, int]]:
    rows = [row for row in duck.gold("broker_state_daily") if row["broker_name"] == broker_name]
    return sorted(
        ((row["state"], row["valid_from"], row["valid_to"]) for row in rows), key=lambda row: row[1:]
    )


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
