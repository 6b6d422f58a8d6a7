"""Long work as a generator: wherever it yields, a turn of the event loop may end."""

from collections.abc import Generator
from typing import TypeVar

__all__ = ["run_slices"]

T = TypeVar("T")


def run_slices(slices: Generator[None, None, T]) -> T:
    """Run all slices in one turn; return the result."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
