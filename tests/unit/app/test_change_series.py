"""A series of changes lets others be served when its time is over."""

from types import SimpleNamespace

import pytest

from namekeeper.app.change_series import ChangeSeries, turn_timer
from tests.support.server.builders import at


class Rig:
    def __init__(self, step_ms: float) -> None:
        self.ms, self.step_ms = 0.0, step_ms
        self.clock = SimpleNamespace(now=lambda: at(self.ms / 1_000))
        self.made, self.turns = [], []
        self.series = ChangeSeries(self.make, clock=self.clock, call_soon=self.turns.append)

    def make(self, change):
        self.ms += self.step_ms
        self.made.append(change)


@pytest.mark.parametrize(("step_ms", "made"), [(0, [2, 4, 6]), (1, [2, 2, 4, 6]), (2, [1, 1, 2, 3, 4, 5, 6])])
def test_it_goes_on_in_the_next_turn_in_order(step_ms, made):
    rig = Rig(step_ms)
    counts = []
    for number in range(3):
        rig.series.add(iter([f"{number}a", f"{number}b"]))
        assert len(rig.turns) <= 1
        if number == 0 or step_ms == 0:
            counts.append(len(rig.made))
    while rig.turns:
        rig.turns.pop()()
        counts.append(len(rig.made))
    assert rig.made == ["0a", "0b", "1a", "1b", "2a", "2b"]
    assert sorted(set(counts)) == sorted(set(made))


def test_a_turn_has_two_milliseconds():
    rig = Rig(1)
    has_time = turn_timer(rig.clock)
    rig.make("")
    assert has_time()
    rig.make("")
    assert not has_time()
