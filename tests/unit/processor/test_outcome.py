"""What a handler gives back."""

from namekeeper.processor.outcome import Deferred, Outcome, Save
from namekeeper.route.events import Cause
from namekeeper.route.topics import ChangeWritePerm
from namekeeper.wire.command import Response


def test_an_answer_may_have_no_consequences():
    assert Outcome(Response()) == Outcome(Response(), change=None, save=None)


def test_a_deferred_answer_is_made_from_what_the_change_came_to():
    deferred = Deferred(
        ChangeWritePerm("a", Cause.WIPE_WRITE_PERM), lambda count: Response(remark=str(count))
    )
    assert deferred.answer(3).remark == "3"


def test_there_are_two_files():
    assert {save.value for save in Save} == {"kv_config", "config"}
