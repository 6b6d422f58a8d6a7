import pytest

from namekeeper.remoting import client as module
from namekeeper.remoting.client import Backoff


def wait_of(backoff: Backoff, addr: str = "a:1", now: float = 0.0) -> float:
    """How long it is left alone, found by asking."""
    return next(ms for ms in range(10_000) if backoff.why_not(addr, now + ms / 1000) is None) / 1000


def test_an_address_may_be_tried_until_it_fails():
    backoff = Backoff()
    assert backoff.why_not("a:1", 0.0) is None
    backoff.failed("a:1", "refused", 0.0)
    assert backoff.why_not("a:1", 0.0) == "refused (next attempt in 100 ms)"
    assert backoff.why_not("b:1", 0.0) is None
    backoff.forget("a:1")
    backoff.forget("a:1")
    assert backoff.why_not("a:1", 0.0) is None


def test_the_wait_doubles_up_to_a_limit_and_begins_anew():
    backoff = Backoff()
    waits = []
    for _ in range(8):
        backoff.failed("a:1", "why", 0.0)
        waits.append(wait_of(backoff))
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0])
    backoff.forget("a:1")
    backoff.failed("a:1", "why", 50.0)
    assert wait_of(backoff, now=50.0) == pytest.approx(module.FIRST_BACKOFF_SECONDS)


def test_failures_of_many_addresses_are_not_all_remembered():
    backoff = Backoff()
    for n in range(module.MAX_REMEMBERED_FAILURES + 10):
        backoff.failed(f"a:{n}", "why", 0.0)
    assert len(backoff._failures) == module.MAX_REMEMBERED_FAILURES
    assert backoff.why_not("a:9", 0.0) is None
    assert backoff.why_not("a:10", 0.0)
