"""Runs steps that don't need each other in several threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

__all__ = ["run_concurrently", "run_in_background"]

AT_ONCE = 3
"""Threads. Spark plans the queries of one step on one core, while the queries of other steps run."""


def run_concurrently(steps: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all steps. After a failure or an interrupt no further step is begun.

    Returns:
        The result of each of them.

    Raises:
        Exception: The exception of the first failed step.
    """
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        return [done.result() for done in [pool.submit(step) for step in steps]]
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def run_in_background(step: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Run a step in a thread during the body of the `with`; it has ended when the body is left.

    Yields:
        A function that waits for the step, and returns what it returned.

    Raises:
        Exception: What the step raised.
    """
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(step)
        yield begun.result
        begun.result()
