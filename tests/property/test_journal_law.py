"""The law of the journal (design.md 7): what a server held is what its records make, outside of losses."""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.journal.coverage import Coverage, Knowledge, Span
from namekeeper.journal.decode import RecordReader
from namekeeper.journal.history import steps
from namekeeper.journal.lines import split_lines
from namekeeper.journal.replay import Replay, state_at
from namekeeper.route import registration as registration_rules
from namekeeper.route import removal
from tests.property.histories import random_history
from tests.property.journalled import JournalledServer, shown, unknown, whole_checkpoints

EXAMPLES = int(os.environ.get("NAMEKEEPER_EXAMPLES", "200"))
LAW = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
chances = st.randoms(use_true_random=True)


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """Registrations of four topics take turns, as those of thousands do."""
    monkeypatch.setattr(registration_rules, "ROW_SLICE", 2)
    monkeypatch.setattr(removal, "INDEX_SLICE", 1)


@pytest.fixture(autouse=True, scope="module")
def small_records():
    """And their records come in pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("namekeeper.journal.encode.ROWS_IN_A_RECORD", 2)
        yield


def read(server: JournalledServer):
    reader = RecordReader()
    records = [reader(line) for line in split_lines(iter(server.lines()))]
    assert not reader.unreadable, reader.first_unreadable
    assert not reader.unknown_kinds
    return records


def time_of(server: JournalledServer, place):
    return None if place is None else next(e.ts for e in server.written if (e.boot, e.seq) == place)


def is_unknown(spans, place) -> bool:
    return any(since < place and (until is None or place < until) for since, until in spans)


def check_law(server: JournalledServer) -> int:
    """Follow the replay beside the truth; returns how many places were compared."""
    whole, spans = whole_checkpoints(server), unknown(server)
    replay, compared = Replay(), 0
    for step in steps(read(server)):
        replay.take(step)
        place = (step.boot, step.seq)
        if not whole or place < whole[0] or is_unknown(spans, place) or step.seq == 1:
            continue
        assert held(replay.state, server, whole, place) == server.truth[place], place
        compared += 1
    check_unknown(server, replay.coverage, spans)
    return compared


def held(state, server, whole, place):
    """What was replayed. A new process may have other properties: its first whole checkpoint tells them."""
    is_told = any(boot == place[0] and seq <= place[1] for boot, seq in whole)
    properties = state.properties if is_told else server.truth[place]["properties"]
    return shown(state.tables, state.kv, properties)


def check_unknown(server: JournalledServer, coverage: Coverage, spans) -> None:
    expected = [Span(time_of(server, since), time_of(server, until)) for since, until in spans]
    assert coverage.unknown == [span for span in expected if span.since != span.until]


@given(chances)
@LAW
def test_the_replay_is_what_the_server_held(chance):
    check_law(random_history(chance, 80))


def test_many_places_are_known():
    """So that the law says something."""
    server = random_history(Random(5), 300)
    assert check_law(server) > 50
    assert len(server.boots) > 2
    assert unknown(server)


@given(chances)
@LAW
def test_the_state_at_an_instant_goes_by_effective_time(chance):
    """Whatever the clock did: an instant is the place of the last record that is not later."""
    server = random_history(chance, 40, clock_jumps=True)
    in_order = [each for each in server.written if not each.checkpoint]
    whole, spans = whole_checkpoints(server), unknown(server)
    for at in {chance.choice(in_order).ts + chance.choice((-1, 0, 1)) for _ in range(3)}:
        found = state_at(read(server), at)
        effective = effective_times(in_order)
        expected = knowledge_at(at, effective, whole, spans)
        place = max((place for place, ms in effective.items() if ms <= at), default=(0, 0))
        if expected is Knowledge.KNOWN and is_stop(server, place):
            expected = Knowledge.STOPPED
        assert found.knowledge == expected
        if found.knowledge is Knowledge.KNOWN and place[1] > 1:
            assert held(found.state, server, whole, place) == server.truth[place]


def is_stop(server, place):
    """Whether a boot ended there in an orderly way."""
    return any(b'"server_stopped"' in e.line[:30] for e in server.written if (e.boot, e.seq) == place)


def effective_times(in_order):
    """The minimum of a record's time and of all later ones'."""
    times, least = {}, in_order[-1].ts
    for each in reversed(in_order):
        least = times[each.boot, each.seq] = min(least, each.ts)
    return times


def knowledge_at(at, effective, whole, spans):
    """By the definition."""
    if at > effective[max(effective)]:
        return Knowledge.NOT_YET
    if not whole or at < effective[whole[0]]:
        return Knowledge.BEFORE
    if any(effective[since] <= at and (until is None or at < effective[until]) for since, until in spans):
        return Knowledge.UNKNOWN
    return Knowledge.KNOWN
