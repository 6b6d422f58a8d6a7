"""The law of the journal (docs/decisions/0013): what a server held is what its records make, outside of losses."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.journal.reading.coverage import Coverage, Knowledge, TimeRange
from namekeeper.journal.reading.history import steps
from namekeeper.journal.reading.replay import Replay, state_at
from tests.property.histories import random_history
from tests.property.journalled import JournalledServer, complete_checkpoints, unknown
from tests.property.known import JournalOracle, held, read
from tests.property.live_law import small_pieces

LAW = settings(suppress_health_check=list(HealthCheck))
chances = st.randoms(use_true_random=True)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """What takes turns and comes in pieces with thousands of topics does so with four."""
    with small_pieces():
        yield


def time_of(server: JournalledServer, position):
    return None if position is None else next(e.ts for e in server.written if (e.boot, e.seq) == position)


def is_unknown(ranges, position) -> bool:
    return any(since < position and (until is None or position < until) for since, until in ranges)


def check_law(server: JournalledServer) -> int:
    """Follow the replay beside the truth; returns how many places were compared."""
    whole, ranges = complete_checkpoints(server), unknown(server)
    replay, compared = Replay(), 0
    for step in steps(read(server)):
        replay.take(step)
        position = (step.boot, step.seq)
        if not whole or position < whole[0] or is_unknown(ranges, position) or step.seq == 1:
            continue
        assert held(replay.state, server, whole, position) == server.truth[position], position
        compared += 1
    check_unknown(server, replay.coverage, ranges)
    return compared


def check_unknown(server: JournalledServer, coverage: Coverage, ranges) -> None:
    times = [(time_of(server, since), time_of(server, until)) for since, until in ranges]
    assert coverage.unknown == joined(times)


def joined(times: list[tuple[int, int | None]]) -> list[TimeRange]:
    """Ranges without the empty ones; two that touch are one."""
    begins = {since for since, until in times if since != until}
    ends = {until for since, until in times if since != until}
    return [
        TimeRange(since, until)
        for since, until in zip(sorted(begins - ends), sorted(ends - begins, key=last_if_open), strict=True)
    ]


def last_if_open(until: int | None) -> tuple[bool, int]:
    return (until is None, until or 0)


@given(chances)
@LAW
def test_the_replay_is_what_the_server_held(chance):
    check_law(random_history(chance, 80))


def test_many_places_are_known():
    """So that the law says something."""
    server = random_history(Random(5), 300)
    assert check_law(server) > 50
    assert len(server.boots) > 2
    assert any(b'"cause":"restored"' in each.line for each in server.written)
    assert unknown(server)


@given(chances)
@LAW
def test_the_state_at_an_instant_goes_by_effective_time(chance):
    """Whatever the clock did: an instant is the position of the last record that is not later."""
    server = random_history(chance, 40, clock_jumps=True)
    known = JournalOracle(server)
    for at in known.instants(chance, 3):
        found = state_at(read(server), at)
        assert found.knowledge == known.knowledge(at)
        position = known.position(at)
        if found.knowledge is Knowledge.KNOWN and position[1] > 1:
            assert held(found.state, server, known.whole, position) == server.truth[position]
