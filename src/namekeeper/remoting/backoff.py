"""How long to wait before an unreachable address is tried again: longer after each failure in a row."""

from msgspec import Struct

__all__ = ["Backoff"]

FIRST_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 3.0
"""A peer that is back is noticed within this time."""
MAX_REMEMBERED_FAILURES = 1_024


class _Failures(Struct):
    """Attempts in a row to reach one address that led to nothing."""

    count: int
    retry_at: float
    last: str


class Backoff:
    """Failures by address; instants are seconds of any one clock."""

    def __init__(self) -> None:
        self._failures: dict[str, _Failures] = {}

    def why_not(self, addr: str, now: float) -> str | None:
        """Return why the address is not tried now, and when it will be; None if it may be tried."""
        failures = self._failures.get(addr)
        if failures is None or failures.retry_at <= now:
            return None
        return f"{failures.last} (next attempt in {(failures.retry_at - now) * 1000:.0f} ms)"

    def failed(self, addr: str, message: str, now: float) -> None:
        """Note one more failure; if there are too many addresses, the oldest are forgotten."""
        before = self._failures.pop(addr, None)
        count = before.count + 1 if before is not None else 1
        wait_seconds = min(FIRST_BACKOFF_SECONDS * 2 ** (count - 1), MAX_BACKOFF_SECONDS)
        if len(self._failures) >= MAX_REMEMBERED_FAILURES:
            del self._failures[next(iter(self._failures))]
        self._failures[addr] = _Failures(count, now + wait_seconds, message)

    def forget(self, addr: str) -> None:
        """Forget the failures of an address."""
        self._failures.pop(addr, None)
