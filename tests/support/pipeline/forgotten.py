"""Two brokers that go for good, one because it unregistered, and what the tables say of them days later."""

import json
from typing import Any

from namekeeper.common.expected import MEMORY_MS
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.pipeline.duck import Duck
from tests.unit.answers.story import Story

__all__ = ["assert_forgotten", "gone_for"]

DAY_MS = 86_400_000


def gone_for(days: int) -> tuple[Duck, dict[str, int]]:
    """A broker that stays, and two that went so long ago: `retired` unregistered, `lost` was cut off.

    Returns:
        The tables, and when each of the two went, wall ms.
    """
    story = Story()
    for number, name in enumerate(("stays", "retired", "lost")):
        story.registers(name, f"a{number}:1")
    went = {"retired": story.unregisters("a1:1"), "lost": story.connection_breaks("a2:1")}
    for _ in range(days):
        story.later(DAY_MS)
        story.alive()
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))
    return duck, went


def assert_forgotten() -> None:
    """Check that both count for seven days, each in its state, and not at all later."""
    for days in (5, 9):
        duck, went = gone_for(days)
        is_forgotten = days * DAY_MS > MEMORY_MS
        for name, state, kind in (
            ("retired", "unregistered", "broker_unregistered"), ("lost", "down", "broker_away"),
        ):  # fmt: skip
            rows = [row for row in duck.gold("broker_state_daily") if row["broker_name"] == name]
            states = {row["state"] for row in rows if row["valid_from"] >= went[name]}
            assert states == {state}
            last = max(row["valid_to"] for row in rows)
            assert (last == went[name] + MEMORY_MS) == is_forgotten
            to_ts = went[name] + MEMORY_MS if is_forgotten else None
            assert _incidents(duck, name) == [(kind, went[name], to_ts, is_forgotten)]


def _incidents(duck: Duck, name: str) -> list[tuple[Any, ...]]:
    """The kind of each incident of a broker, when it began and ended, and whether it was forgotten."""
    found = [row for row in duck.gold("incident") if row["broker_names"] == [name]]
    return [tuple(row[column] for column in ("kind", "from_ts", "to_ts", "is_forgotten")) for row in found]
