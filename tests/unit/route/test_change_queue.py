"""In which order changes happen: lanes, builds, waiting (docs/decisions/0003)."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.route.build_order import SHORT_SLICES
from namekeeper.route.change import Applied
from namekeeper.route.change_queue import DROPPED_KEPT, ChangeQueue
from namekeeper.route.events import Cause
from namekeeper.route.tables import RouteTables
from namekeeper.route.topics import ChangeWritePerm, DeleteTopic, RegisterTopic
from tests.support.server.builders import RW4, World, at, body, channel, header, register, unregister

OTHER = "10.0.0.2:10911"


class Step:
    """A change that writes down each of its slices; the last of the build has the commit with it."""

    cause = Cause.REGISTER
    remote_addr = None

    def __init__(self, log, title, *names, slices=0, cleaning=0, fails_at=None):
        self.log, self.title, self.names = log, title, names
        self.slices, self.cleaning, self.fails_at = slices, cleaning, fails_at

    def touches(self, tables):
        return self.names

    def build(self, tables):
        for number in range(self.slices):
            self._note(number)
            yield

    def commit(self, tables, now):
        self._note(self.slices)
        return Applied(self.title)

    def clean_up(self, tables, applied):
        for number in range(self.cleaning):
            yield
            self._note(f"-{number + 1}")

    def _note(self, number):
        self.log.append(f"{self.title}{number}")
        if self.fails_at == number:
            raise RequestError(1, self.title)


class Lanes:
    def __init__(self):
        self.log, self.done = [], []
        self.queue = ChangeQueue(RouteTables())

    def submit(self, title, *names, **more):
        return self.queue.submit(Step(self.log, title, *names, **more), self._over, now=at(0))

    def _over(self, change, outcome):
        self.done.append(change.title if isinstance(outcome, Applied) else f"{change.title} failed")

    def turn(self, count=1):
        for _ in range(count):
            self.queue.turn(at(1))


@pytest.fixture
def lanes():
    return Lanes()


def test_a_change_without_slices_happens_at_once(lanes):
    lanes.submit("x", "a")
    assert (lanes.log, lanes.done, lanes.queue.is_busy, len(lanes.queue)) == (["x0"], ["x"], False, 0)


def test_a_build_takes_one_slice_a_turn(lanes):
    lanes.submit("b", "a", slices=2)
    assert (lanes.log, lanes.queue.is_busy, len(lanes.queue)) == (["b0"], True, 1)
    lanes.turn()
    assert (lanes.log, lanes.done) == (["b0", "b1"], [])
    lanes.turn()
    assert (lanes.log, lanes.done, lanes.queue.is_busy) == (["b0", "b1", "b2"], ["b"], False)


def test_a_turn_with_nothing_to_do_is_no_error(lanes):
    lanes.turn()
    assert not lanes.queue.is_busy


def test_builds_advance_one_after_the_other_in_the_order_in_which_they_came(lanes):
    for title, name in (("p", "a"), ("q", "b"), ("r", "c")):
        lanes.submit(title, name, slices=2)
    lanes.turn(20)
    assert lanes.log == ["p0", "q0", "r0", "p1", "p2", "q1", "q2", "r1", "r2"]
    assert lanes.done == ["p", "q", "r"]


def test_what_touches_the_name_of_a_build_waits(lanes):
    lanes.submit("b", "a", slices=1)
    lanes.submit("x", "a")
    assert (lanes.done, len(lanes.queue)) == ([], 2)
    lanes.turn()
    assert (lanes.log, lanes.done) == (["b0", "b1", "x0"], ["b", "x"])


def test_what_touches_another_name_does_not(lanes):
    lanes.submit("b", "a", slices=1)
    lanes.submit("x", "c")
    lanes.submit("y")
    assert lanes.done == ["x", "y"]


def test_what_touches_the_name_of_one_that_waits_waits_behind_it(lanes):
    lanes.submit("b", "a", slices=1)
    lanes.submit("x", "a", "c")
    lanes.submit("y", "c")
    assert lanes.done == []
    lanes.turn()
    assert lanes.done == ["b", "x", "y"]


def test_a_build_that_comes_later_is_waited_for_too(lanes):
    lanes.submit("p", "a", slices=1)
    lanes.submit("q", "b", slices=1)
    lanes.submit("x", "b")
    lanes.turn()
    assert lanes.done == ["p"]
    lanes.turn()
    assert lanes.done == ["p", "q", "x"]


def test_a_build_that_waits_holds_its_name(lanes):
    lanes.submit("p", "a", slices=1)
    lanes.submit("q", "a", slices=1)
    lanes.submit("x", "a")
    lanes.turn()
    assert (lanes.log, lanes.done) == (["p0", "p1", "q0"], ["p"])
    lanes.turn()
    assert lanes.done == ["p", "q", "x"]


def test_a_change_of_several_names_waits_for_all_of_them(lanes):
    lanes.submit("p", "a", slices=1)
    lanes.submit("q", "b", slices=1)
    lanes.submit("x", "a", "b")
    lanes.submit("y", "a")
    lanes.turn()
    assert lanes.done == ["p"]
    lanes.turn()
    assert lanes.done == ["p", "q", "x", "y"]


def test_a_failure_is_reported_and_opens_the_lane(lanes):
    lanes.submit("b", "a", slices=2, fails_at=1)
    lanes.submit("x", "a")
    lanes.submit("z", "c", fails_at=0)
    lanes.turn(3)
    assert lanes.done == ["z failed", "b failed", "x"]


def test_a_failure_in_the_first_slice_holds_nothing(lanes):
    lanes.submit("b", "a", slices=2, fails_at=0)
    lanes.submit("x", "a")
    assert lanes.done == ["b failed", "x"]


def test_a_bug_in_the_callback_does_not_close_the_lane(lanes):
    def bug(change, outcome):
        raise ZeroDivisionError

    lanes.queue.submit(Step(lanes.log, "b", "a", slices=1), bug, now=at(0))
    lanes.queue.submit(Step(lanes.log, "x", "a"), bug, now=at(0))
    lanes.submit("y", "a")
    lanes.submit("z", "a")
    with pytest.raises(ZeroDivisionError):
        lanes.turn()
    assert (lanes.queue.is_busy, lanes.done) == (True, [])
    lanes.submit("late", "a")
    lanes.turn()
    assert (lanes.done, lanes.queue.is_busy, len(lanes.queue)) == (["y", "z", "late"], False, 0)


def test_a_change_is_reported_in_the_turn_of_its_commit(lanes):
    lanes.submit("b", "a", cleaning=2)
    assert (lanes.log, lanes.done, lanes.queue.is_busy) == (["b0"], ["b"], True)
    lanes.submit("x", "a")
    lanes.submit("y", "c")
    lanes.turn(2)
    assert (lanes.log, lanes.done) == (["b0", "y0", "b-1", "b-2", "x0"], ["b", "y", "x"])


def test_the_commit_follows_the_last_slice_of_the_build_without_a_break(lanes):
    lanes.submit("b", "a", slices=1, cleaning=1)
    lanes.turn()
    assert (lanes.log, lanes.done) == (["b0", "b1"], ["b"])
    lanes.turn()
    assert (lanes.log, lanes.queue.is_busy) == (["b0", "b1", "b-1"], False)


def test_a_failure_in_the_commit_is_reported_and_nothing_is_cleaned_up(lanes):
    lanes.submit("b", "a", slices=1, cleaning=1, fails_at=1)
    lanes.submit("x", "a")
    lanes.turn()
    assert (lanes.log, lanes.done) == (["b0", "b1", "x0"], ["b failed", "x"])


def test_a_bug_in_the_clean_up_is_raised_and_not_reported_a_second_time(lanes):
    lanes.submit("b", "a", cleaning=2, fails_at="-1")
    lanes.submit("x", "a")
    with pytest.raises(RequestError):
        lanes.turn()
    assert (lanes.done, lanes.queue.is_busy) == (["b", "x"], False)


def test_a_bug_in_the_first_slice_of_the_clean_up_is_raised_after_the_report(lanes):
    class Broken(Step):
        def clean_up(self, tables, applied):
            raise ZeroDivisionError
            yield

    with pytest.raises(ZeroDivisionError):
        lanes.queue.submit(Broken(lanes.log, "b", "a"), lanes._over, now=at(0))
    assert (lanes.done, lanes.queue.is_busy) == (["b"], False)


def test_a_bug_in_the_callback_does_not_end_the_clean_up(lanes):
    def bug(change, outcome):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lanes.queue.submit(Step(lanes.log, "b", "a", cleaning=2), bug, now=at(0))
    lanes.submit("x", "a")
    lanes.turn(2)
    assert (lanes.log, lanes.done) == (["b0", "b-1", "b-2", "x0"], ["x"])


def test_a_commit_has_the_time_of_its_turn():
    class Clocked(Step):
        def commit(self, tables, now):
            self.log.append(now)
            return super().commit(tables, now)

    log = []
    queue = ChangeQueue(RouteTables())
    queue.submit(Clocked(log, "b", "a", slices=1), lambda *_: None, now=at(1))
    queue.turn(at(2))
    queue.submit(Clocked(log, "x", "c"), lambda *_: None, now=at(3))
    assert log == ["b0", at(2), "b1", at(3), "x0"]


def test_a_small_registration_passes_large_ones_of_another_connection(lanes):
    for number in range(20):
        step = Step(lanes.log, f"large{number}:", f"n{number}", slices=2_000)
        step.remote_addr = "10.0.0.1:1"
        lanes.queue.submit(step, lanes._over, now=at(0))
    small = Step(lanes.log, "small", "other", slices=4)
    small.remote_addr = "10.0.0.1:2"
    lanes.queue.submit(small, lanes._over, now=at(0))
    lanes.turn(2 * SHORT_SLICES)
    assert lanes.done == ["small"]
    while lanes.queue.is_busy:
        lanes.turn()
    assert len(lanes.done) == 21
    assert len(lanes.log) < 20 * (2_000 + SHORT_SLICES + 2)


# with the real changes


@pytest.fixture
def world():
    world = World()
    world.register()
    return world


@pytest.mark.parametrize(
    "change",
    [
        register(header(), body(["T1"]), channel()),
        unregister(channel()),
        unregister(channel(), name="another"),
        ChangeWritePerm("broker-a", Cause.WIPE_WRITE_PERM),
        ChangeWritePerm("broker-a", Cause.ADD_WRITE_PERM),
        DeleteTopic("T1"),
        RegisterTopic("T1", (("broker-a", RW4),)),
    ],
    ids=["103", "104", "104 under a wrong name", "205", "327", "216", "217"],
)
def test_every_change_of_a_name_waits_for_its_build(world, change):
    build = world.begin(content=body(version=2))
    world.submit(change)
    assert change not in [done for done, _ in world.answers]
    world.run_turns()
    assert [done for done, _ in world.answers][-2:] == [build, change]


def test_expiry_and_the_end_of_a_connection_wait_for_the_build_of_their_name(world):
    over = channel(2)
    world.register(header(addr=OTHER, broker_id=1), over=over)
    world.begin(content=body(version=2))
    count = len(world.answers)
    world.close(over)
    world.now = at(1_000)
    world.scan()
    assert (len(world.answers), len(world.queue)) == (count, 4)
    assert world.live(OTHER) is not None
    world.run_turns()
    assert world.live(OTHER) is None


def test_a_registration_under_another_name_touches_the_old_one_too(world):
    world.begin(content=body(version=2))
    move = register(header("broker-b"), body(), channel())
    world.submit(move)
    assert move not in [done for done, _ in world.answers]
    world.run_turns()
    assert set(world.tables.broker_addr_table) == {"broker-b"}


def test_what_waits_is_judged_when_its_turn_comes(world):
    """216 is asked for while the topic is on one name; when it is executed it is on two."""
    world.begin(content=body(["T1", "T3"], version=2))
    delete = DeleteTopic("T1")
    world.submit(delete)
    world.submit(register(header("broker-b", OTHER), body(["T1", "T4"]), channel(2)))
    assert len(world.tables.rows_of("T1")) == 2
    world.run_turns()
    assert world.tables.rows_of("T1") == []
    assert sorted(world.tables.topics()) == ["T2", "T3", "T4"]


def test_what_waits_may_have_to_wait_for_others_when_its_turn_comes(world):
    """216 touches a name that got the topic, and is building again, while 216 waited for another one."""
    first = world.begin(content=body(version=2))
    delete = DeleteTopic("T1")
    world.submit(delete)
    over = channel(2)
    world.submit(register(header("broker-b", OTHER), body(), over))
    second = world.begin(header("broker-b", OTHER), body(version=2), over)
    world.run_turns()
    assert [done for done, _ in world.answers[-3:]] == [first, second, delete]
    assert world.tables.rows_of("T1") == []


def test_changes_of_other_names_do_not_wait(world):
    world.begin(content=body(version=2))
    world.submit(register(header("broker-b", OTHER), body(), channel(2)))
    assert world.answers[-1][1].outcome == "new"
    assert world.tables.broker_addr_table.keys() == {"broker-a", "broker-b"}


def never():
    return False


def test_changes_that_waited_start_over_several_turns_when_time_is_short(lanes):
    lanes.submit("A", "n", slices=1)
    for title in "BCD":
        lanes.submit(title, "n")
    lanes.queue.turn(at(0), never)
    assert (lanes.done, len(lanes.queue), lanes.queue.is_busy) == (["A", "B"], 2, True)
    lanes.queue.turn(at(0), never)
    lanes.queue.turn(at(0), never)
    assert (lanes.done, len(lanes.queue), lanes.queue.is_busy) == (["A", "B", "C", "D"], 0, False)


def test_a_change_that_comes_meanwhile_does_not_overtake(lanes):
    lanes.submit("A", "n", slices=1)
    lanes.submit("B", "n")
    lanes.submit("C", "n", slices=1)
    lanes.submit("D", "n")
    lanes.queue.turn(at(0), never)
    lanes.submit("E", "n")
    lanes.submit("F", "m")
    assert lanes.done == ["A", "B", "F"]
    while lanes.queue.is_busy:
        lanes.queue.turn(at(0), never)
    assert lanes.done == ["A", "B", "F", "C", "D", "E"]
    lanes.submit("G", "n")
    assert lanes.done[-1] == "G"


def test_a_change_of_a_lane_that_a_build_took_meanwhile_waits_for_it(lanes):
    lanes.submit("A", "n", slices=1)
    lanes.submit("B", "n", slices=3)
    lanes.submit("C", "n")
    lanes.queue.turn(at(0), never)
    assert lanes.log[-1] == "B0"
    lanes.submit("D", "n")
    while lanes.queue.is_busy:
        lanes.queue.turn(at(0), never)
    assert lanes.done == ["A", "B", "C", "D"]


def test_a_change_that_waits_is_dropped_and_the_others_keep_their_order(lanes):
    lanes.submit("b", "a", slices=2)
    waiting = [lanes.submit(f"w{number}", "a") for number in range(4)]
    assert [lanes.queue.drop(waiting[number]) for number in (1, 3)] == [True, True]
    assert len(lanes.queue) == 3
    assert not lanes.queue.drop(waiting[1])
    lanes.turn(3)
    assert (lanes.done, lanes.queue.is_busy, len(lanes.queue)) == (["b", "w0", "w2"], False, 0)


def test_a_change_that_has_started_or_is_over_is_not_dropped(lanes):
    over, started = lanes.submit("x", "b"), lanes.submit("b", "a", slices=2)
    assert [lanes.queue.drop(each) for each in (over, started)] == [False, False]
    lanes.turn(2)
    assert lanes.done == ["x", "b"]


def test_dropped_changes_do_not_stay_in_line(lanes):
    lanes.submit("b", "a", slices=2)
    kept = lanes.submit("kept", "a")
    for number in range(10 * DROPPED_KEPT):
        lanes.queue.drop(lanes.submit(f"w{number}", "a"))
        assert len(lanes.queue._waiting) <= DROPPED_KEPT + 2
    assert (len(lanes.queue), kept.is_waiting) == (2, True)
    lanes.turn(3)
    assert lanes.done == ["b", "kept"]


def test_a_change_is_dropped_while_the_line_is_sorted(lanes):
    lanes.submit("b", "a", slices=1)
    waiting = [lanes.submit(f"w{number}", "a") for number in range(3)]
    lanes.queue.turn(at(1), lambda: False)  # the build ends, and one change starts
    assert lanes.done == ["b", "w0"]
    assert lanes.queue.drop(waiting[1])
    lanes.turn(2)
    assert (lanes.done, lanes.queue.is_busy, len(lanes.queue)) == (["b", "w0", "w2"], False, 0)
