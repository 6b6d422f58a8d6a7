"""The life of a broker: sessions, how long it was away between them, flaps."""

from namekeeper.console.broker_sessions import FLAPS_FROM, WAS_THERE, broker_absences, broker_sessions
from namekeeper.history.history import History
from namekeeper.history.rows import Rows
from namekeeper.journal.contract.record import BrokerLive
from namekeeper.journal.reading.history import CheckpointApplied
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories

HOUR = 3_600_000


def sessions_of(*stories, name="b0"):
    return broker_sessions([story.history() for story in stories], name)


def test_the_sessions_of_a_broker_newest_first():
    one, _ = two_stories()
    newest, first = sessions_of(one, name="b1")
    assert (newest["until"], newest["from_cause"], newest["to_cause"]) == (None, "register_broker", "")
    assert (first["from_cause"], first["to_cause"]) == ("register_broker", "channel_closed")
    assert first["until"] < newest["since"]
    assert sessions_of(one, name="a1:1") == [newest, first]


def test_a_session_ends_when_its_name_server_stops_and_that_is_no_absence():
    story = Story()
    story.registers()
    began = story.restarts(down_ms=5_000)
    (session,) = sessions_of(story)
    assert (session["until"], session["to_cause"]) == (began - 5_000, "stopped")
    story.registers()
    newest, _ = sessions_of(story)
    assert newest["away_ms"] is None
    (absence,) = broker_absences(sessions_of(story))
    assert (absence["went"], absence["away_ms"], absence["is_away"]) == (0, 0, False)


def test_between_two_sessions_it_was_away():
    story = Story()
    story.registers()
    gone = story.unregisters()
    story.later(90_000)
    back = story.registers()
    newest, first = sessions_of(story)
    assert (first["away_ms"], newest["away_ms"]) == (None, back - gone)
    (absence,) = broker_absences(sessions_of(story))
    assert (absence["namesrv"], absence["addr"]) == ("ns_9876", newest["addr"])
    assert (absence["went"], absence["away_ms"], absence["longest_ms"]) == (1, back - gone, back - gone)
    assert absence["flaps"] == []


def test_who_did_not_come_back_is_away():
    story = Story()
    story.registers()
    gone = story.unregisters()
    story.later(90_000)
    story.alive()
    (absence,) = broker_absences(sessions_of(story))
    assert (absence["is_away"], absence["went"], absence["away_ms"]) == (True, 1, story.now - gone)


def test_what_is_unknown_is_no_absence():
    story = Story()
    story.registers()
    gone = story.unregisters()
    story.later(1_000)
    story.restarts(down_ms=500_000)
    back = story.registers()
    newest, _ = sessions_of(story)
    assert 1_000 <= newest["away_ms"] <= back - gone - 500_000


def test_a_broker_that_goes_often_within_an_hour_flaps():
    story = Story()
    story.later(HOUR - story.now % HOUR)
    hour = story.now
    story.registers()
    for _ in range(FLAPS_FROM):
        story.unregisters()
        story.later(10_000)
        story.registers()
    story.later(2 * HOUR)
    story.unregisters()
    (absence,) = broker_absences(sessions_of(story))
    assert absence["flaps"] == [{"hour": hour, "went": FLAPS_FROM}]
    assert (absence["went"], absence["is_away"]) == (FLAPS_FROM + 1, True)


def test_each_address_at_each_name_server_has_its_absences():
    found = broker_absences(sessions_of(*two_stories(), name="b1"))
    assert [(each["namesrv"], each["addr"], each["went"]) for each in found] == [
        ("a_1", "a1:1", 1), ("b_1", "a1:1", 1),
    ]  # fmt: skip
    assert broker_absences([]) == []


def test_a_broker_that_the_first_checkpoint_shows_was_there_before():
    history = History("ns")
    rows = Rows()
    rows.apply([BrokerLive(cluster="c", broker_addr="a0:1", broker_name="b0", broker_id=0, gen=1)])
    history.take(CheckpointApplied(boot=1, seq=1, ts=1_000, state=rows))
    (session,) = broker_sessions([history], "b0")
    assert (session["since"], session["from_cause"]) == (1_000, WAS_THERE)


def test_a_session_ends_when_its_name_server_stops_for_good():
    story = Story()
    story.registers()
    stopped = story.stops()
    (session,) = sessions_of(story)
    assert (session["until"], session["to_cause"]) == (stopped, "stopped")
