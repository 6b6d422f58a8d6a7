"""Rows and the time for which they held."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.answers.evidence import (
    DAY_MS,
    BrokerSession,
    Evidence,
    KnownPeriod,
    TopicRoute,
    ValidRow,
    evidence_of,
)
from namekeeper.history.history import History
from namekeeper.history.rows import Rows
from namekeeper.journal.contract.record import BrokerLive
from namekeeper.journal.reading.history import Changed, CheckpointApplied
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import TOPICS, random_history
from tests.support.journal.folder import read_records
from tests.support.journal.history import history_of
from tests.unit.answers.story import Story


@pytest.mark.parametrize(
    ("valid_to", "at", "holds", "has_ended"),
    [(20, 9, False, False), (20, 10, True, False), (20, 19, True, False), (20, 20, False, True), (None, 99, True, False)],
)  # fmt: skip
def test_a_row_holds_from_its_first_instant_until_before_its_end(valid_to, at, holds, has_ended):
    row = ValidRow(valid_from=10, valid_to=valid_to)
    assert (row.is_valid(at), row.has_ended(at)) == (holds, has_ended)


def evidence(*periods: KnownPeriod) -> Evidence:
    return Evidence(
        namesrv="n", topic="T", known_from=1, knows_up_to=9, periods=list(periods), routes=[], sessions=[], lookups=[]
    )  # fmt: skip


def test_what_is_known_of_an_instant():
    up, down = (
        KnownPeriod(valid_from=5, valid_to=7, state="up", boot=3),
        KnownPeriod(valid_from=7, state="stopped"),
    )
    found = evidence(up, down)
    assert [found.period_at(at) for at in (4, 5, 6, 7, 99)] == [None, up, up, down, down]


def test_a_boot_began_at_the_time_that_it_is_named_by_unless_the_clock_was_put_back():
    """Its first known time may be later: after a loss the state is known from the next checkpoint on."""
    periods = [
        KnownPeriod(valid_from=at, valid_to=at + 1, state="up", boot=boot)
        for at, boot in ((5, 3), (7, 3), (9, 99))
    ]
    found = evidence(*periods)
    assert (found.began(3), found.began(99)) == (3, 9)


def test_when_the_state_is_known_again():
    periods = [
        KnownPeriod(valid_from=1, valid_to=3, state="up", boot=3),
        KnownPeriod(valid_from=3, valid_to=8, state="unknown"),
        KnownPeriod(valid_from=8, valid_to=9, state="stopped"),
        KnownPeriod(valid_from=9, state="unknown"),
    ]
    found = evidence(*periods)
    assert [found.unknown_until(at) for at in (0, 2, 3, 7, 8, 9)] == [None, None, 8, 8, None, None]


def test_a_row_without_a_master_needs_the_session_of_the_one_it_had():
    """So that `why` can say how that ended, it reads further back."""
    route = TopicRoute(
        broker_name="b", read_queue_nums=4, write_queue_nums=4, perm=6, valid_from=5, from_cause="register_broker"
    )  # fmt: skip
    master = BrokerSession(
        cluster="c", broker_addr="a:1", broker_name="b", broker_id=0, boot=1, gen=1, valid_from=5, valid_to=7
    )  # fmt: skip
    slave = structs.replace(master, broker_id=1, broker_addr="a:2", valid_to=None)
    found = structs.replace(evidence(), routes=[route], sessions=[master, slave])
    assert [found.shows_cause(at) for at in (4, 5, 8)] == [False, True, True]
    assert not structs.replace(found, sessions=[slave]).shows_cause(8)


def test_a_row_has_its_beginning_and_its_end_with_cause_and_peer():
    story = Story()
    since = story.registers()
    wiped = story.wiped()
    gone = story.unregisters()
    first, second = story.evidence().routes
    assert (first.valid_from, first.valid_to, first.perm) == (since, wiped, 6)
    assert (first.from_cause, first.from_peer) == ("register_broker", "peer:1")
    assert (first.ended_by, first.to_cause, first.to_peer) == ("changed", "wipe_write_perm", "peer:99")
    assert (second.valid_from, second.valid_to, second.perm) == (wiped, gone, 4)
    assert (second.ended_by, second.to_cause, second.reason) == (
        "gone",
        "unregister_broker",
        "broker_name_removed",
    )


def test_a_session_has_its_end_with_reason_and_silence():
    story = Story()
    since = story.registers()
    story.heard()
    again = story.connection_breaks()
    (session,) = story.evidence().sessions
    assert (session.cluster, session.broker_addr, session.broker_name) == ("c", "a0:1", "b0")
    assert (session.boot, session.gen) == (story.journal.boot, 1)
    assert (session.valid_from, session.valid_to, session.ended_by) == (since, again, "gone")
    assert (session.reason, session.idle_ms) == ("channel_closed", 1_000)


def test_a_new_generation_is_another_session():
    story = Story()
    story.registers()
    story.connections["a0:1"] = 7
    again = story.registers()
    first, second = story.evidence().sessions
    assert (first.valid_to, first.ended_by, second.valid_from) == (again, "changed", again)
    assert (first.gen, second.gen) == (1, 2)


def test_a_session_goes_on_when_the_changes_at_its_start_are_dropped():
    history = History("ns", "T", limit_bytes=20_000)
    live = BrokerLive(cluster="c", broker_addr="a:1", broker_name="b", broker_id=0, gen=1)
    history.take(CheckpointApplied(7, 1, 1, Rows()))
    for seq in range(2, 100):
        history.take(Changed(7, seq, seq, [structs.replace(live, data_version=(0, 0, seq))]))
    assert history.dropped_until is not None
    (session,) = evidence_of(history).sessions
    assert (session.boot, session.valid_from, session.valid_to) == (7, history.dropped_until, None)


def test_what_says_the_same_again_begins_nothing():
    story = Story()
    story.registers()
    story.registers()
    evidence = story.evidence()
    assert (len(evidence.routes), len(evidence.sessions)) == (1, 1)


def test_a_stop_ends_every_row_and_has_a_stretch():
    story = Story()
    begun = story.now
    story.registers()
    story.restarts(down_ms=5_000)
    stop, start = story.now - 5_000, story.now
    evidence = story.evidence()
    assert [(row.ended_by, row.valid_to) for row in (*evidence.routes, *evidence.sessions)] == [
        ("stopped", stop)
    ] * 2
    found = [(each.valid_from, each.valid_to, each.state) for each in evidence.periods]
    assert found == [(begun, stop, "up"), (stop, start, "stopped"), (start, None, "up")]


def test_a_loss_cuts_rows_and_boots_until_the_next_whole_checkpoint():
    story = Story()
    begun = story.now
    story.registers()
    since = story.alive()
    story.journal.drop(1)
    story.later()
    story.journal.begin_checkpoint("recovery")
    until = story.now
    story.journal.go_on_with_checkpoint(1_000)
    evidence = story.evidence()
    found = [(each.valid_from, each.valid_to, each.state) for each in evidence.periods]
    assert found == [(begun, since, "up"), (since, until, "unknown"), (until, None, "up")]
    first, second = evidence.routes
    assert (first.valid_to, first.ended_by) == (since, "unknown")
    assert (second.valid_from, second.from_cause) == (until, None)
    assert [session.gen for session in evidence.sessions] == [1, 1]


def test_a_row_that_a_checkpoint_does_not_name_has_ended():
    story = Story()
    story.registers()
    story.alive()
    server = story.journal.server
    server.changed, journalled = lambda change: None, server.changed
    story.deleted()
    server.changed = journalled
    story.later()
    story.journal.begin_checkpoint("interval")
    story.journal.go_on_with_checkpoint(1_000)
    (row,) = story.evidence().routes
    assert (row.valid_to, row.ended_by) == (story.now, "checkpoint")


def test_look_ups_in_vain_are_those_of_the_topic():
    story = Story()
    story.asked_in_vain("T", 3)
    story.asked_in_vain("U", 4)
    assert [(each.count, each.language, each.client_version) for each in story.evidence().lookups] == [
        (3, "JAVA", 1)
    ]


def test_without_a_complete_checkpoint_nothing_is_known():
    story = Story()
    del story.journal.written[1:]
    evidence = story.evidence()
    assert (evidence.known_from, evidence.periods) == (None, [])
    assert evidence.knows_up_to == story.now


@given(st.randoms(use_true_random=True))
@settings(suppress_health_check=list(HealthCheck))
def test_rows_that_hold_at_an_instant_are_those_of_the_replay(chance):
    """What an answer says of an instant does not depend on how it was found."""
    journal = random_history(chance, 50, clock_jumps=True)
    topic = chance.choice(TOPICS)
    evidence = evidence_of(history_of(journal.namesrv, read_records(journal.lines(), topic), topic))
    for at in [chance.choice(journal.written).ts + chance.choice((0, 1)) for _ in range(3)]:
        period = evidence.period_at(at)
        if at > (evidence.knows_up_to or 0) or period is None or period.state != "up":
            continue
        tables = state_at(read_records(journal.lines()), at).state.tables
        rows = {name: row.effective for name, row in tables.rows_of(topic)}
        found = {route.broker_name: route for route in evidence.routes_at(at)}
        assert found.keys() == rows.keys()
        assert all(found[name].perm == spec.perm for name, spec in rows.items())
        live = {(each.key, each.gen) for each in tables.broker_live_table}
        assert {
            ((each.cluster, each.broker_addr), each.gen) for each in evidence.sessions if each.is_valid(at)
        } == live


def test_the_day_before_a_last_row_ended_is_needed_however_long_ago_that_was():
    route = TopicRoute(
        broker_name="b", read_queue_nums=4, write_queue_nums=4, perm=6, valid_from=5, valid_to=9,
        from_cause="register_broker",
    )  # fmt: skip
    found = structs.replace(evidence(), routes=[route])
    assert [found.needed_from(at) for at in (8, 9, 9 + DAY_MS - 1)] == [8 - DAY_MS, 9 - DAY_MS, 8]
    assert found.needed_from(9 + DAY_MS) == found.needed_from(9 + 7 * DAY_MS) == 9 - DAY_MS
