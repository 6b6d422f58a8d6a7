"""Lists are made one at a time, in turns; equal requests that wait share one."""

import gc
import weakref
from collections.abc import Callable, Generator
from types import SimpleNamespace

import pytest

from namekeeper.app.lists import ListAnswers, giving
from namekeeper.remoting.scheduler import ITERATION_SECONDS, Scheduler
from namekeeper.wire.command import RemotingCommand, Response


class Making:
    """What is asked for, with a clock that moves with each slice, and iterations that the test runs."""

    def __init__(self) -> None:
        self.time = 1.0
        self.soon: list[Callable[[], None]] = []
        self.made: list[str] = []
        self.answers: list[tuple[str, object]] = []
        self.later: list[Callable[[], None]] = []
        self.has_room = True
        self.lists = ListAnswers(Scheduler(lambda: self.time, self.soon.append), call_later=self.later.append)

    def ask(
        self,
        who: str,
        *,
        name: str = "all",
        slices: int = 3,
        error: Exception | None = None,
        leaves: bool = False,
    ) -> weakref.ref[Callable[[object], bool]]:
        def make() -> Generator[None, None, Response]:
            self.made.append(name)
            for _ in range(slices):
                self.time += ITERATION_SECONDS
                yield
            if error is not None:
                raise error
            return Response(remark=name)

        def done(outcome: object) -> bool:
            if self.has_room:
                self.answers.append((who, outcome))
            return self.has_room

        self.lists.ask((206, name, True), make, done, lambda: leaves)
        return weakref.ref(done)

    def run(self) -> int:
        turns = 0
        while self.soon:
            self.soon.pop()()
            turns += 1
        return turns


def test_a_short_list_is_answered_at_once() -> None:
    making = Making()
    making.ask("a", slices=0)
    assert making.answers == [("a", Response(remark="all"))]
    assert making.run() == 1  # ends the time of this iteration


def test_a_long_list_takes_turns() -> None:
    making = Making()
    making.ask("a", slices=5)
    assert making.answers == []
    assert making.run() == 6  # one for each slice, and the one without work
    assert making.answers == [("a", Response(remark="all"))]


def test_who_waits_for_the_same_list_shares_it_and_who_came_later_gets_a_newer_one() -> None:
    making = Making()
    for who in "abcd":
        making.ask(who)
    making.run()
    assert [who for who, _ in making.answers] == ["a", "b", "c", "d"]
    assert making.made == ["all", "all"]  # the first was under way when the others came


def test_lists_are_made_one_at_a_time_in_the_order_of_asking() -> None:
    making = Making()
    for name in ("x", "y", "z"):
        making.ask(name, name=name)
    assert making.made == ["x"]
    making.run()
    assert making.made == ["x", "y", "z"]


def test_an_error_is_the_answer_of_all_who_asked_and_holds_up_nobody() -> None:
    making = Making()
    error = ValueError("no")
    making.ask("a", name="bad", slices=1, error=error)
    making.ask("b", name="good")
    making.run()
    assert making.answers == [("a", error), ("b", Response(remark="good"))]


def test_who_has_no_room_for_the_answer_gets_it_later() -> None:
    making = Making()
    making.has_room = False
    making.ask("a", slices=0)
    making.ask("b", name="other", slices=0)
    making.run()
    assert (making.answers, making.made) == ([], ["all"])
    making.has_room = True
    making.later.pop()()
    making.run()
    assert [who for who, _ in making.answers] == ["a", "b"]


@pytest.mark.parametrize("name", ["all", "other{}"], ids=["the_same_list", "other_lists"])
def test_while_there_is_no_room_those_who_left_are_forgotten_and_the_others_get_their_lists(
    name: str,
) -> None:
    making = Making()
    making.has_room = False
    making.ask("first", slices=0)
    left = [making.ask(f"left{n}", name=name.format(n), slices=0, leaves=True) for n in range(500)]
    making.ask("stayed", slices=0)
    left += [making.ask(f"left{n}", name=name.format(n), slices=0, leaves=True) for n in range(500, 1_000)]
    making.run()
    gc.collect()
    assert sum(each() is not None for each in left) < 100
    making.has_room = True
    making.later.pop()()
    making.run()
    assert [who for who, _ in making.answers if "left" not in who] == ["first", "stayed"]
    making.ask("later", slices=0)
    assert making.answers[-1][0] == "later"
    assert not making.later


def test_a_list_that_nobody_waits_for_any_more_holds_up_no_other_one() -> None:
    making = Making()
    making.has_room = False
    for n in range(200):
        making.ask(f"left{n}", slices=0, leaves=True)
    making.run()
    making.has_room = True
    making.ask("later", name="other", slices=0)
    making.later.pop()()
    making.run()
    assert making.answers[-1] == ("later", Response(remark="other"))


def test_an_answer_waits_for_room_and_is_counted_once() -> None:
    given: list[tuple[str, object]] = []
    counted: list[object] = []
    answers = SimpleNamespace(
        has_room=False,
        respond=lambda _request, answer: given.append(("answer", answer)),
        respond_failure=lambda _request, error: given.append(("failure", error)),
    )

    def conclude(outcome: object) -> object:
        counted.append(outcome)
        return None if outcome == "later" else outcome

    done = giving(RemotingCommand(code=206), answers, conclude)  # type: ignore[arg-type]
    error = ValueError("no")
    outcomes: list[object] = ["all", error, "later"]
    assert [done(each) for each in outcomes] == [False] * 3  # type: ignore[arg-type]
    assert (given, counted) == ([], [])
    answers.has_room = True
    assert [done(each) for each in outcomes] == [True] * 3  # type: ignore[arg-type]
    assert given == [("answer", "all"), ("failure", error)]
    assert counted == outcomes
