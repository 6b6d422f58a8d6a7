"""What waits for the journal in the first second of a server."""

from typing import Any

import pytest

from namekeeper.app.journaling import Beginning
from namekeeper.model.now import Now
from namekeeper.route.events import Cause, Change

BEGAN, LATER = Now(1_000, 0), Now(1_500, 500)


class Recorder:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def begin(self, now: Now, snapshot: object) -> None:
        self.seen.append(("begin", now, snapshot))

    def record(self, change: Change, now: Now) -> None:
        self.seen.append((change.cause, now))

    def lose(self, changes: int) -> None:
        self.seen.append(("lose", changes))


def passed_on(beginning: Beginning) -> list[Any]:
    recorder = Recorder()
    beginning.pass_on(recorder)
    return recorder.seen


@pytest.fixture
def beginning() -> Beginning:
    return Beginning(BEGAN, "the snapshot")


def test_changes_are_passed_on_in_their_order_with_their_times(beginning):
    beginning.change(Change(Cause.REGISTER, None, ()), LATER)
    beginning.change(Change(Cause.EXPIRED, None, ()), LATER)
    begin = ("begin", BEGAN, "the snapshot")
    assert passed_on(beginning) == [begin, (Cause.REGISTER, LATER), (Cause.EXPIRED, LATER)]


def test_restored_routes_are_there_from_the_beginning(beginning):
    beginning.change(Change(Cause.RESTORED, None, ()), LATER)
    assert passed_on(beginning)[1:] == [(Cause.RESTORED, BEGAN)]


def test_what_is_counted_leaves_half_of_the_room_to_changes(beginning, monkeypatch):
    monkeypatch.setattr("namekeeper.app.journaling.MAX_NOTES", 4)
    for number in range(9):
        beginning.count(lambda recorder, number=number: recorder.seen.append(number))
    for _ in range(3):
        beginning.change(Change(Cause.REGISTER, None, ()), LATER)
    assert passed_on(beginning)[1:] == [0, 1, (Cause.REGISTER, LATER), (Cause.REGISTER, LATER), ("lose", 1)]
