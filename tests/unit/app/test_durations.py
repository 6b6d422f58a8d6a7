"""How long requests take: counted when they are answered, also when that is later or an error."""

import pytest

from namekeeper.app.durations import Durations
from namekeeper.http.stats import DURATION_BOUNDS
from namekeeper.wire.codec import encode_command
from tests.unit.app.parts import Parts, frame, registration


def test_a_duration_is_counted_at_the_least_bound_that_it_does_not_exceed():
    durations = Durations([103, 105], -1)
    for seconds in (0.0, DURATION_BOUNDS[0], 0.0051, 99.0):
        durations.note(103, seconds)
    found = durations.stats()[103]
    assert found.buckets == (2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert found.seconds == pytest.approx(99.005105)
    assert sum(durations.stats()[105].buckets) == 0


def test_look_ups_that_were_timed_together_share_the_time():
    durations = Durations([105], -1)
    durations.note_lookups(0.004, 4)
    found = durations.stats()[105]
    assert found.buckets[DURATION_BOUNDS.index(0.001)] == 4
    assert found.seconds == pytest.approx(0.004)


@pytest.fixture
async def parts(tmp_path):
    return Parts(tmp_path)


def timed(parts: Parts) -> dict[int, int]:
    """Code -> requests that were timed."""
    counts = {code: sum(each.buckets) for code, each in parts.requests.durations.stats().items()}
    return {code: count for code, count in counts.items() if count}


async def test_a_request_that_is_answered_later_has_taken_its_time_then(parts):
    parts.connect().deliver(encode_command(registration()))
    assert timed(parts) == {}
    parts.run_turns()
    assert timed(parts) == {103: 1}


async def test_every_request_is_timed_once_but_look_ups(parts):
    connection = parts.connect()
    for code in (105, 106, 206, 999, 322):
        connection.deliver(frame(code, topic="T"))
        parts.run_turns()
    assert len(connection.answers) == 5
    assert timed(parts) == {106: 1, 206: 1, 322: 1, -1: 1}


async def test_a_request_that_is_refused_takes_time_too(parts):
    bad = registration()
    bad.ext_fields["bodyCrc32"] = "1"
    connection = parts.connect()
    connection.deliver(encode_command(bad))
    parts.run_turns()
    connection.deliver(frame(101, namespace="a", key="b"))
    assert [answer.code for answer in connection.answers] == [1, 22]
    assert timed(parts) == {101: 1, 103: 1}
