"""The work for incidents grows with the number of changes, and not with its square."""

from collections.abc import Callable
from functools import partial

import pytest

from namekeeper.answers.incidents.incident import incidents
from namekeeper.history.history import History
from tests.support.system.lines_run import lines_run
from tests.unit.answers.story import Story


def flaps(story: Story) -> None:
    story.connection_breaks()
    story.registers()


def loses_its_permission(story: Story) -> None:
    story.registers(perm=4)
    story.registers(perm=6)


def is_wiped(story: Story) -> None:
    story.wiped()
    story.registers()


def is_deleted(story: Story) -> None:
    story.deleted()
    story.asked_in_vain()
    story.registers()


def restarts(story: Story) -> None:
    story.restarts()
    story.registers()


def history_of(happens: Callable[[Story], None], times: int) -> History:
    story = Story()
    story.registers()
    for _ in range(times):
        happens(story)
    return story.history()


@pytest.mark.parametrize("happens", [flaps, loses_its_permission, is_wiped, is_deleted, restarts])
def test_twice_as_many_changes_take_about_twice_the_work(happens: Callable[[Story], None]):
    few, many = (lines_run(partial(incidents, [history_of(happens, times)])) for times in (60, 120))
    assert many < 2.5 * few
