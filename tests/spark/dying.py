"""Runs that die: a method of a transaction that ends the run when it is called for the n-th time."""

from collections.abc import Callable
from typing import Any

__all__ = ["DiedError", "dying"]


class DiedError(Exception):
    """The process ended here."""


def dying(method: Callable[..., Any], *, at: int, after: bool = False) -> Callable[..., Any]:
    """The method, which dies from the `at`-th call on, of whatever thread, before or after it has done its work."""
    calls = 0

    def instead(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        is_dead = calls >= at
        if is_dead and not after:
            raise DiedError
        result = method(*arguments, **named)
        if is_dead:
            raise DiedError
        return result

    return instead
