"""Steps that don't need each other, done in several threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

__all__ = ["run_concurrently", "run_in_background"]

AT_ONCE = 3
"""While one plans its queries, which takes Spark one core, others run theirs."""


def run_concurrently(steps: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do all steps; when one fails, or somebody interrupts, those that have not begun are left out.

    Returns:
        What each of them returned.

    Raises:
        Exception: What the first of the steps raised that failed.
    """
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        return [done.result() for done in [pool.submit(step) for step in steps]]
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def run_in_background(step: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Do a step beside what is done inside; it has ended when that is left.

    Yields:
        A function that waits for the step, and returns what it returned.

    Raises:
        Exception: What the step raised.
    """
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(step)
        yield begun.result
        begun.result()
