"""From what happened to rows with the time for which they held, and who began and ended them."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.answers.collector import EvidenceCollector
from namekeeper.journal.reading.history import steps
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import TOPICS, random_history
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story


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
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_rows_that_hold_at_an_instant_are_those_of_the_replay(chance):
    """What an answer says of an instant does not depend on how it was found."""
    journal = random_history(chance, 50, clock_jumps=True)
    topic = chance.choice(TOPICS)
    collector = EvidenceCollector(journal.namesrv, topic)
    for step in steps(read_records(journal.lines(), topic)):
        collector.take(step)
    evidence = collector.result()
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
