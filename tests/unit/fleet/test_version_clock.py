"""A clock that stands still while one thing happens."""

from namekeeper.fleet.fleet import VersionClock
from tests.unit.app.parts import FakeClock


def test_it_says_when_it_was_stamped():
    clock = FakeClock()
    stamps = VersionClock(clock)
    first = stamps.now()
    clock.advance(5)
    assert stamps.now() == first
    stamps.stamp()
    assert stamps.now() == clock.now()
