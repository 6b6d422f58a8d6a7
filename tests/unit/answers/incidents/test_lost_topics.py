"""Which topics incidents are about, by the steps of one name server."""

from collections.abc import Iterable

import pytest

from namekeeper.answers.incidents.lost_topics import KeptRecords, TopicFinder, topics_of_incidents
from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.journal.contract.record import (
    BrokerLive,
    BrokerNameRemovedRecord,
    Record,
    ServerStarted,
    TopicQueues,
)
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step, Stopped

GOOD, READ_ONLY, NO_QUEUE = (4, 4, 6, 0), (4, 4, 4, 0), (4, 0, 6, 0)
STARTED = ServerStarted(uuid="u", server_version="0")


def live(name: str = "b0", **more: object) -> BrokerLive:
    values = {
        "cluster": "c",
        "broker_addr": f"{name}:1",
        "broker_name": name,
        "broker_id": 0,
        "gen": 1,
        **more,
    }
    return BrokerLive(**values)  # type: ignore[arg-type]


def rows(*topics: str, name: str = "b0", queues: tuple[int, ...] = GOOD, cause: str = "") -> TopicQueues:
    return TopicQueues(broker_name=name, rows=[[topic, *queues] for topic in topics], cause=cause)


def at(ts: int, *records: Record) -> Step:
    return Changed(1, ts, ts, list(records))


def checkpoint(ts: int, *records: Record) -> Step:
    kept = KeptRecords()
    kept.apply(records)
    return CheckpointApplied(1, ts, ts, kept)


def found(*steps: Step) -> TopicFinder:
    finder = TopicFinder()
    for step in steps:
        finder.take(step)
    finder.finish()
    return finder


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (at(9, rows("T", queues=())), {"T"}),
        (at(9, rows("T", queues=READ_ONLY)), {"T"}),
        (at(9, rows("T", queues=NO_QUEUE)), {"T"}),
        (at(9, rows("new", queues=READ_ONLY)), {"new"}),
        (at(9, live(gone=True)), {"T"}),
        (at(9, live(broker_id=1)), {"T"}),
        (at(9, live(broker_name="b9")), {"T"}),
        (at(9, BrokerNameRemovedRecord(broker_name="b0")), {"T"}),
        (at(9, rows("T", "both", queues=READ_ONLY, cause="wipe_write_perm")), {"T", "both"}),
        (checkpoint(9, live(), live("b1"), rows("both"), rows("both", name="b1")), {"T"}),
        (at(9, rows("T", queues=(8, 8, 6, 0))), set()),
        (at(9, live("b1", gone=True)), set()),
        (at(9, live(data_version=(0, 0, 2))), set()),
        (at(9, rows("T", queues=()), rows("T", name="b1")), set()),
        (at(9, live(gone=True), live(broker_addr="b0:2")), set()),
    ],
)
def test_a_topic_is_lost_when_no_master_has_a_queue_to_write_to(change: Step, lost: set[str]):
    before = checkpoint(1, live(), live("b1"), rows("T", "both"), rows("both", name="b1"))
    assert found(before, change).lost == lost


def test_a_topic_comes_before_its_master_in_one_change():
    assert found(checkpoint(1), at(2, rows("T"), live())).lost == set()
    assert found(checkpoint(1), at(2, rows("T")), at(3, live())).lost == {"T"}


@pytest.mark.parametrize("away", [Stopped(1, 5, 5), Lost(1, 5, 5)])
@pytest.mark.parametrize(("back", "lost"), [(WITNESS_AFTER_MS - 1, set()), (WITNESS_AFTER_MS, {"T"})])
def test_a_topic_that_is_back_soon_after_a_start_was_not_lost(away: Step, back: int, lost: set[str]):
    finder = found(
        checkpoint(1, live(), rows("T")), away, Began(2, 1, 10, STARTED), CheckpointApplied(2, 2, 10, KeptRecords()),
        Seen(2, 3, 10 + back, None), Changed(2, 4, 10 + back, [live(), rows("T")]),
    )  # fmt: skip
    assert finder.lost == lost
    assert finder.was_away


def test_a_checkpoint_after_a_loss_shows_what_was_lost():
    finder = found(checkpoint(1, live(), rows("T", "U")), Lost(1, 5, 5), checkpoint(9, live(), rows("U")))
    assert finder.lost == {"T"}
    assert finder.topics == 1


def of(*steps: Iterable[Step]) -> set[str]:
    every = [found(*some) for some in steps]
    return topics_of_incidents(every, max(each.up_to for each in every))


def test_a_name_server_that_never_had_a_topic_misses_it_while_the_other_one_is_away():
    one = [checkpoint(1, live(), rows("T", "U")), Seen(1, 9, 9, None)]
    two = [checkpoint(1, live(), rows("U")), Seen(1, 9, 9, None)]
    assert of(one, two) == set()
    assert of([*one, Stopped(1, 9, 9)], two) == {"T"}
    assert of(one, [*two, Seen(1, 10, 10, None)]) == {"T"}
    assert of([*one, Stopped(1, 9, 9)], [*two, at(9, rows("T"))]) == {"T"}


def test_of_topics_that_a_history_has_dropped_only_those_that_are_there_are_kept():
    there = checkpoint(1, live(), rows("there", "known", "dropped", "wiped"))
    finder = found(there, at(2, rows("known", "dropped", queues=())), at(3, rows("late")))
    finder.take(at(4, rows("wiped", queues=READ_ONLY)))
    before = finder.names
    finder.keep({"known"})
    assert (finder.lost, finder.held, finder.late) == ({"known"}, {"there", "known", "late"}, {"late"})
    assert finder.names < before
    finder.take(at(5, rows("there", queues=())))
    assert finder.lost == {"known", "there"}
