"""Drift out of histories is that of the pipeline's tables: at the end, and at instants before it (decision 12)."""

import random
from collections.abc import Iterator

import pytest

from namekeeper.common.expected import SHORTEST_DRIFT_MS
from namekeeper.drift.compared import compared
from namekeeper.drift.disagreement import disagreements
from namekeeper.history.history import History
from namekeeper.pipeline.gold import steps
from tests.support.history.histories import History as Written
from tests.support.history.histories import histories
from tests.support.journal.history import history_of
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import read, records_of

SEED = 11
INSTANTS = 25

Drift = tuple[object, ...]


class World:
    """Histories, what gold says of their drift, and the same name servers as live histories."""

    def __init__(self, seed: int, count: int) -> None:
        self.written = [each for each in histories(seed, count) if len(each.records) > 1]
        duck = Duck()
        steps.make_gold(duck, duck.load(records_of(self.written)))
        self.rows = [*duck.gold("view_drift_broker"), *duck.gold("view_drift_topic")]

    def gold(self, world: Written, at: int) -> set[Drift]:
        """The drift of one world that had lasted for long enough at an instant."""
        return {
            _row(row)
            for row in self.rows
            if row["cluster"] == world.name
            and (row["valid_from"] <= at < row["valid_to"] or (row["is_open"] and row["valid_to"] == at))
            and at - row["valid_from"] >= SHORTEST_DRIFT_MS
        }

    def instants(self, world: Written, rng: random.Random) -> list[int]:
        """Instants around each start and end of a drift."""
        edges = {
            edge + step
            for row in self.rows
            if row["cluster"] == world.name
            for edge in (row["valid_from"], row["valid_to"])
            for step in (-1, 0, 1, SHORTEST_DRIFT_MS - 1, SHORTEST_DRIFT_MS)
        }
        return rng.sample(sorted(edges), min(INSTANTS, len(edges)))


def _row(row: dict[str, object]) -> Drift:
    if "topic" in row:
        return (row["broker_name"], row["topic"], tuple(row["views"]), row["valid_from"])  # type: ignore[arg-type]
    held_by, missing_at = tuple(row["held_by"]), tuple(row["missing_at"])  # type: ignore[arg-type]
    broker = row["broker_name"], row["broker_id"], row["broker_addr"]
    return (*broker, held_by, missing_at, row["valid_from"])


def live(found: list[History], at: int) -> set[Drift] | None:
    """The same out of histories; None if gold can't be compared.

    Gold finds the clusters of a whole day, and a record at the last instant lasts no time in it.
    """
    groups = compared(found, at)
    is_last = any(event.at == at == each.knows_up_to for each in found for event in each.all_events)
    if len(groups.clusters) > 1 or is_last:
        return None
    (cluster,) = groups.clusters
    drift = disagreements(cluster, at)
    return {
        each
        for each in (*_brokers(drift.brokers), *_topics(drift.topics))
        if at - each[-1] >= SHORTEST_DRIFT_MS
    }  # type: ignore[operator]


def _brokers(found) -> Iterator[Drift]:
    for each in found:
        broker = each.subject.broker
        key = broker.broker_name, broker.broker_id, broker.addr
        yield (*key, each.held_by, each.missing_at, each.views_since)


def _topics(found) -> Iterator[Drift]:
    for each in found:
        views = tuple(
            f"{name}: absent" if row is None else "{}: read {}, write {}, perm {}, flag {}".format(name, *row)
            for name, row in each.views.items()
        )
        yield (each.subject.broker_name, each.subject.topic, views, each.views_since)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "LEAST_SAMPLES", 1 << 40)  # clocks are not corrected
        yield World(SEED, 20)


def test_live_drift_at_the_end_is_the_open_drift_of_gold(world):
    compared_worlds = found_drifts = 0
    for each in world.written:
        found = [history_of(namesrv, list(read(records))) for namesrv, records in each.records.items()]
        at = compared(found, None).at
        drift = live(found, at)
        if drift is not None:
            assert drift == world.gold(each, at), each.name
            compared_worlds += 1
            found_drifts += len(drift)
    assert compared_worlds > 10
    assert found_drifts > 5


def test_live_drift_at_an_instant_is_that_of_gold(world):
    rng = random.Random(SEED)
    compared_instants = found_drifts = 0
    for each in world.written:
        found = [history_of(namesrv, list(read(records))) for namesrv, records in each.records.items()]
        for at in world.instants(each, rng):
            drift = live(found, at)
            if drift is not None:
                assert drift == world.gold(each, at), (each.name, at)
                compared_instants += 1
                found_drifts += len(drift)
    assert compared_instants > 100
    assert found_drifts > 200
