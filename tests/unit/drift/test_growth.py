"""The work for drift grows with the number of changes, and not with its square."""

from functools import partial

from namekeeper.drift.report import find_drift
from namekeeper.history.history import History
from tests.support.system.lines_run import lines_run
from tests.unit.answers.story import MINUTE, Story


def histories_of(changes: int) -> list[History]:
    """Of two name servers that never have the same permission of a topic, which one changes again and again."""
    one, other = stories = Story("a_1"), Story("b_1")
    for story in stories:
        story.registers(perm=2)
    for _ in range(changes):
        one.registers(perm=4)
        one.registers(perm=6)
    other.later(one.now - other.now)
    for story in stories:
        story.later(5 * MINUTE)
        story.alive()
    return [story.history() for story in stories]


def test_twice_as_many_changes_of_a_row_take_about_twice_the_work():
    few, many = histories_of(100), histories_of(200)
    assert len(find_drift(many, None).verdicts) == 1
    assert lines_run(partial(find_drift, many, None)) < 2.5 * lines_run(partial(find_drift, few, None))
