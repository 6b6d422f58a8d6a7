"""Checkpoints that only confirm what is known are left out, and nobody sees it."""

import random

import pytest

from namekeeper.pipeline.gold.sql_text import sql_text
from tests.support.quiet_topics import NOTHING_CONFIRMED, QuietLife, history_of

LIVES = 300


def every_row_looked_at(name: str) -> str:
    return NOTHING_CONFIRMED if name == "topic_run" else sql_text(name)


@pytest.mark.parametrize("seed", range(3))
def test_the_history_is_the_same_as_if_every_row_of_checkpoints_were_looked_at(seed: int):
    rng = random.Random(seed)
    lives = [QuietLife(f"namesrv-{number}", rng) for number in range(LIVES)]
    found, confirmed = history_of(lives)
    expected, _ = history_of(lives, every_row_looked_at)
    assert found == expected
    assert confirmed > 2 * LIVES
    assert len(found) > LIVES
