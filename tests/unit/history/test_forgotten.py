"""What a history still says of the changes that it dropped: their times and names, within a limit."""

import gc
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.answers.search import found_names
from namekeeper.console.changes import beside
from namekeeper.history.forgotten import Forgotten, SearchKind, peer_host
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent, Rows, What
from namekeeper.journal.reading.history import steps
from tests.property.histories import random_history
from tests.support.journal.folder import read_records
from tests.support.journal.history import history_of
from tests.unit.answers.story import Story

MUCH = 1 << 32


def limited(journal, limit_bytes: int, forgotten_bytes: int) -> History:
    history = History(journal.namesrv, limit_bytes=limit_bytes)
    history.forgotten.limit_bytes = forgotten_bytes
    for step in steps(read_records(journal.lines()), Rows):
        history.take(step)
    return history


def changed(at: int, peer: str = "") -> HistoryEvent:
    """An event that counts without rows."""
    return HistoryEvent(at, "ns", What.STARTED, peer=peer)


@given(st.randoms(use_true_random=True), st.integers(0, 12))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_times_and_names_are_those_of_a_history_without_a_limit(chance, share):
    """Whatever the clock did, and whatever was lost."""
    journal = random_history(chance, 40, clock_jumps=True)
    whole = history_of(journal.namesrv, read_records(journal.lines()))
    part = limited(journal, whole.size * share // 12, MUCH)
    times = {event.at for event in whole.events}
    assert sorted({*part.forgotten.times, *(event.at for event in part.events)}) == sorted(times)
    for at in {each + more for each in times for more in (-1, 0, 1)}:
        assert beside([part], at) == beside([whole], at)
    for found, wanted in zip(found_names([part], "").kinds, found_names([whole], "").kinds, strict=True):
        assert structs.replace(found, dropped=[]) == wanted
        assert set(found.dropped) <= set(wanted.names)


@given(st.randoms(use_true_random=True), st.integers(0, 2_000))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_with_a_limit_it_says_from_when_on_it_has_every_time(chance, room):
    journal = random_history(chance, 40, clock_jumps=True)
    whole = history_of(journal.namesrv, read_records(journal.lines()))
    part = limited(journal, 1, room)
    since = part.forgotten.times_from or 0
    assert {at for at in part.forgotten.times if at >= since} | {event.at for event in part.events} >= {
        event.at for event in whole.events if event.at >= since
    }


def test_names_of_every_kind_are_kept():
    """Also a zone that a broker left while it stayed."""
    story = Story()
    story.registers("moves", "a1:1", zone="zone-1")
    story.registers("moves", "a1:1", zone="zone-2")
    story.registers("leaves", "a9:1", ("Gone",), cluster="c-gone", zone="zone-3")
    story.unregisters("a9:1")
    for _ in range(20):
        story.wiped("moves")
        story.registers("moves", "a1:1", zone="zone-2")
    names = limited(story.journal, 1, MUCH).forgotten.names
    assert {kind: set(names[kind]) for kind in SearchKind if kind is not SearchKind.PEER} == {
        "topic": {"Gone"}, "broker": {"leaves"}, "address": {"a9:1"}, "cluster": {"c-gone"}, "zone": {"zone-1", "zone-3"},
    }  # fmt: skip
    assert list(names[SearchKind.PEER])


def test_without_room_it_knows_nothing_and_says_so():
    forgotten = Forgotten()
    forgotten.take([changed(5), changed(7, "10.0.0.1:5")], [(SearchKind.TOPIC, "T")])
    assert (list(forgotten.times), forgotten.times_from) == ([], 8)
    assert not any(list(names) for names in forgotten.names.values())
    assert forgotten.names_from == 8


def test_the_oldest_go_first():
    forgotten = Forgotten(2_000)
    for at in range(200):
        forgotten.take([changed(at)], [(SearchKind.TOPIC, f"T{at}")])
    assert list(forgotten.times) == list(range(forgotten.times_from, 200))
    assert list(forgotten.names[SearchKind.TOPIC]) == [f"T{at}" for at in range(forgotten.names_from, 200)]
    assert 80 < len(forgotten.times) < 120


def test_a_name_that_comes_again_is_as_new_as_the_last_time():
    forgotten = Forgotten(2_000)
    for at in range(200):
        forgotten.take([changed(at)], [(SearchKind.TOPIC, f"T{at}"), (SearchKind.ZONE, "z")])
    assert list(forgotten.names[SearchKind.ZONE]) == ["z"]


def test_times_after_the_clock_was_put_back_are_one():
    forgotten = Forgotten(MUCH)
    forgotten.take([changed(at) for at in (1, 3, 5, 5, 7)], [])
    forgotten.put_back(4)
    forgotten.put_back(6)
    assert list(forgotten.times) == [1, 3, 4]
    forgotten.put_back(3)
    assert list(forgotten.times) == [1, 3]


def fill(forgotten: Forgotten, number: int) -> None:
    """Ever new times, topics with long names, and peers."""
    for at in range(number):
        name = f"{at:0>60}"
        forgotten.take(
            [changed(at, f"10.{at // 65_536}.{at // 256 % 256}.{at % 256}:1")], [(SearchKind.TOPIC, name)]
        )


@pytest.mark.parametrize("limit_bytes", [1 << 16, 1 << 18])
def test_its_memory_is_bounded(limit_bytes):
    """Who registers ever new topics gets no more memory."""
    forgotten = Forgotten(limit_bytes)
    fill(forgotten, 100)
    tracemalloc.start()
    try:
        fill(forgotten, 6 * limit_bytes // 100)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 1.1 * limit_bytes
    finally:
        tracemalloc.stop()
    assert forgotten.names_from is not None


def test_the_host_of_a_peer_has_no_port():
    assert [peer_host(each) for each in ("10.0.0.1:5", "[::1]:5", "peer")] == ["10.0.0.1", "[::1]", "peer"]
