"""Two name servers, and two instants, compared."""

from namekeeper.console.difference import difference
from namekeeper.console.instants import held_by, held_by_each
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories


def facts(found):
    return [(row.part, row.name, row.detail, row.a, row.b) for row in found["rows"]]


def test_what_one_has_and_the_other_has_not():
    a, b = held_by_each([story.history() for story in two_stories()], None)
    found = difference(a, b)
    assert facts(found) == [("topic", "payments", "", "yes", None)]
    assert (found["total"], found["why_not"]) == (1, "")


def test_two_instants_of_one_name_server():
    story = Story()
    first = story.registers()
    story.wiped()
    story.registers("b1", "a1:1", ("new",))
    history = story.history()
    found = facts(difference(held_by(history, first), held_by(history, None)))
    assert ("broker", "b1", "", None, "yes") in found
    assert (
        "topic",
        "T",
        "queues of b0",
        "read 4, write 4, perm 6 RW-",
        "read 4, write 4, perm 4 R--",
    ) in found
    assert not [row for row in found if row[2] == "queues of b1"]


def test_the_same_instant_has_no_difference():
    history = two_stories()[0].history()
    held = held_by(history, None)
    assert difference(held, held) == {"rows": [], "total": 0, "why_not": ""}


def test_an_unknown_instant_can_not_be_compared():
    story = Story()
    story.registers()
    history = story.history()
    found = difference(held_by(history, None), held_by(history, story.now + 1))
    assert found["why_not"] == "ns_9876: not known yet"
