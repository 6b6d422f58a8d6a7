"""Checkpoints that only confirm what is known are left out, and nobody sees it."""

import random

import pytest

from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.gold.topics import define_recorded_topics
from tests.support.pipeline.quiet_topics import NOTHING_CONFIRMED, QuietServer, history_of

SERVERS = 300
FEW_SERVERS = 6
"""Their checkpoints are few enough to be named to the reader of files."""


def every_row_looked_at(name: str) -> str:
    return NOTHING_CONFIRMED if name == "checkpoint_run" else sql_text(name)


@pytest.mark.parametrize(
    ("seed", "count"), [*((seed, SERVERS) for seed in range(3)), *((seed, FEW_SERVERS) for seed in range(10))]
)
def test_the_history_is_the_same_as_if_every_row_of_checkpoints_were_looked_at(seed: int, count: int):
    rng = random.Random(seed)
    servers = [QuietServer(f"namesrv-{number}", rng) for number in range(count)]
    found, confirmed = history_of(servers)
    expected, _ = history_of(servers, every_row_looked_at)
    assert found == expected
    assert confirmed > 2 * count
    assert len(found) > count


@pytest.mark.parametrize(("count", "named"), [(0, 0), (1, 1), (64, 64), (65, 0)])
def test_checkpoints_are_named_to_the_reader_of_files_unless_they_are_many(count: int, named: int):
    views = TextOnlyViews([{"checkpoint": number} for number in range(count)])
    define_recorded_topics(views)
    assert views.texts["topic_recorded"].count("checkpoint = ") == named


class TextOnlyViews:
    """Views of which only the text is known."""

    def __init__(self, begins: list[dict[str, int]]) -> None:
        self.texts: dict[str, str] = {}
        self._begins = begins

    def define(self, name: str, sql: str, args: dict, *, keep: bool = False) -> None:
        self.texts[name] = sql

    def rows(self, name: str) -> list[dict[str, int]]:
        return self._begins
