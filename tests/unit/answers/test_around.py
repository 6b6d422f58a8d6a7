"""A hole beside the time that people remember is found."""

from namekeeper.answers.around import AROUND_MS
from namekeeper.answers.explain import explain
from namekeeper.answers.verdict import Verdict
from tests.unit.answers.story import Story


def why(story: Story, at: int):
    (found,) = explain([story.evidence()], at)
    return found


def test_a_hole_of_ten_seconds_beside_the_time_is_found():
    """It had a route at 03:12:00, and none from 03:11:48 to 03:11:58."""
    story = Story()
    story.registers()
    story.later()
    gone = story.connection_breaks()
    story.later(9_000)
    back = story.registers()
    story.later(2_000)
    story.alive()
    found = why(story, story.now)
    assert (found.verdict, found.summary) == (
        Verdict.HAS_ROUTE,
        "it had a route with queues to write to; no queue to write to for 10 s, until 3 s before",
    )
    hole = found.facts[-1]
    assert (hole.at, hole.until) == (gone, back)
    assert hole.text == "no queue to write to for 10 s: b0 lost its connection"


def test_a_hole_after_the_time_is_found_too_and_may_have_no_end():
    story = Story()
    at = story.registers()
    wiped = story.wiped()
    hole = why(story, at).facts[-1]
    assert (hole.at, hole.until) == (wiped, None)
    assert hole.text == "no queue to write to from here on: write permission was wiped by peer:99"


def test_what_is_not_known_is_told_apart_from_a_hole():
    """A name server was killed, and nobody knows what it held until it was started again."""
    story = Story()
    lost = story.registers()
    started = story.crashes()
    back = story.registers()
    story.later(2_000)
    story.alive()
    found = why(story, story.now)
    texts = [(fact.text, fact.at, fact.until) for fact in found.facts[1:]]
    started_text = "the name server had just started; 0 of 1 known broker was back"
    assert texts == [
        (f"no queue to write to for 1 s: {started_text}", started, back),
        ("not known for 2 s: unknown, because records were lost", lost, started),
    ]


def test_what_was_not_known_began_at_the_loss_whatever_was_recorded_after_it():
    story = Story()
    story.registers()
    lost = story.alive()
    story.journal.drop(1)
    story.later()
    story.registers("b1", "a1:1")
    story.later(AROUND_MS)
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(1_000)
    known, at = story.now, story.later(2_000)
    story.alive()
    fact = why(story, at).facts[-1]
    assert (fact.at, fact.until) == (lost, known)
    assert fact.text == "not known for 6 min 1 s: unknown, because records were lost"


def test_a_hole_began_when_it_began_whatever_changed_in_it():
    """The master was gone, and then the permission of its name was wiped."""
    story = Story()
    story.registers()
    story.registers(addr="a1:1", broker_id=1)
    gone = story.connection_breaks()
    story.wiped()
    story.later(2 * AROUND_MS)
    back = story.registers()
    story.alive()
    fact = why(story, back).facts[-1]
    assert (fact.at, fact.until) == (gone, back)


def test_what_is_far_away_is_not_told():
    story = Story()
    story.registers()
    gone = story.connection_breaks()
    story.registers()
    story.later(2 * AROUND_MS)
    story.alive()
    assert len(why(story, gone + 999 + AROUND_MS).facts) == 2
    assert why(story, gone + 999 + AROUND_MS).facts[-1].at == gone
    assert len(why(story, gone + 1_000 + AROUND_MS).facts) == 1


def test_when_it_had_a_route_again_is_told():
    story = Story()
    story.registers()
    gone = story.connection_breaks()
    back = story.registers()
    fact = why(story, gone).facts[-1]
    assert (fact.text, fact.at) == ("it had a route with queues to write to again from here on", back)
