"""Values of the present that take long: one thread at a time computes a value, others get the last one."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from namekeeper.clock import Clock

__all__ = ["Computed", "LastOf", "cached_until"]

K = TypeVar("K")
T = TypeVar("T")

AGAIN_MS = 1_000
"""How long such a value, as the incidents and the drift of the present, is cached at least."""
SHARE = 10
"""Each of them is computed for at most one of so many parts of the time."""


def cached_until(began_ms: int, ended_ms: int) -> int:
    """How long an answer is cached whose computation began and ended then, all in monotonic ms.

    Every page asks at each change, and histories are not read on while somebody looks at them.
    """
    return ended_ms + max(AGAIN_MS, (ended_ms - began_ms) * SHARE)


class Computed(Generic[T]):
    """The value, computed again after a while.

    Args:
        compute: makes it; callers of `value` hold the lock of the histories.
        clock: tells the present.
    """

    def __init__(self, compute: Callable[[], T], clock: Clock) -> None:
        self._compute, self._clock = compute, clock
        self._computing = threading.Lock()
        self._found: tuple[T] | None = None
        """The value."""
        self._until_ms = 0
        """The end of the time in which it is cached, monotonic ms."""

    @property
    def is_due(self) -> bool:
        """Whether the next call of `value` computes it, unless another thread does so now."""
        return self._found is None or self._clock.now().mono_ms >= self._until_ms

    def expire(self) -> None:
        """Have the next call of `value` compute it."""
        self._until_ms = 0

    def value(self) -> T:
        """The value; while another thread computes it, the last one. Thread-safe."""
        found = self._found
        if self.is_due and self._computing.acquire(blocking=found is None):
            try:
                if self.is_due:  # it was not computed while this thread waited
                    self._found = (self._computed(),)
            finally:
                self._computing.release()
        found = self._found
        assert found is not None
        return found[0]

    def _computed(self) -> T:
        began_ms = self._clock.now().mono_ms
        value = self._compute()
        self._until_ms = cached_until(began_ms, self._clock.now().mono_ms)
        return value


class LastOf(Generic[K, T]):
    """The value for the last key that was asked for."""

    def __init__(self) -> None:
        self._last: tuple[K, T] | None = None

    def has(self, key: K) -> bool:
        """Whether the next call of `value` with the key computes nothing."""
        last = self._last
        return last is not None and last[0] == key

    def value(self, key: K, compute: Callable[[], T]) -> T:
        """The value for a key. Thread-safe; two threads may compute the same."""
        last = self._last
        if last is None or last[0] != key:
            last = self._last = key, compute()
        return last[1]
