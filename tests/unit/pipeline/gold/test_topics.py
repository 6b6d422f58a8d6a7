"""Checkpoints that only confirm what is known are left out, and nobody sees it."""

import random

import pytest

from namekeeper.pipeline.gold.chains import runs_start_at
from tests.support.pipeline.duck import DuckQueries
from tests.support.pipeline.quiet_topics import NOTHING_CONFIRMED, QuietServer, history_of

SERVERS = 300
FEW_SERVERS = 6
"""Their checkpoints are few enough to be named to the reader of files."""


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (0, SERVERS),
        *((seed, FEW_SERVERS) for seed in range(2)),
        pytest.param(1, SERVERS, marks=pytest.mark.long),
        *(pytest.param(seed, FEW_SERVERS, marks=pytest.mark.long) for seed in range(2, 6)),
    ],
)
def test_the_history_is_the_same_as_if_every_row_of_checkpoints_were_looked_at(seed: int, count: int):
    rng = random.Random(seed)
    servers = [QuietServer(f"namesrv-{number}", rng) for number in range(count)]
    found, confirmed = history_of(servers)
    expected, _ = history_of(servers, {"checkpoint_run": NOTHING_CONFIRMED})
    assert found == expected
    assert confirmed > 2 * count
    assert len(found) > count


@pytest.mark.parametrize(("count", "named"), [(0, 0), (1, 1), (64, 64), (65, 0)])
def test_checkpoints_are_named_in_the_query_unless_they_are_many(count: int, named: int):
    duck = DuckQueries()
    duck.put("checkpoint_run_start", "checkpoint bigint", [(number,) for number in range(count)])
    assert runs_start_at(duck).count("checkpoint = ") == named


def test_without_a_checkpoint_no_row_of_one_is_read():
    duck = DuckQueries()
    duck.put("checkpoint_run_start", "checkpoint bigint", [])
    assert runs_start_at(duck) == "false"
