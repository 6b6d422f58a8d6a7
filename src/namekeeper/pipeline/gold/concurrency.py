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

    After an interrupt nobody waits for the steps that are under way: they may take minutes.

    Returns:
        The result of each of them.

    Raises:
        Exception: The exception of the first failed step.
    """
    with _threads(AT_ONCE) as pool:
        return [done.result() for done in [pool.submit(step) for step in steps]]


@contextmanager
def run_in_background(step: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Run a step in a thread during the body of the `with`; it has ended when the body is left.

    After an interrupt of the body it may still be under way.

    Yields:
        A function that waits for the step, and returns what it returned.

    Raises:
        Exception: The exception that the step raised.
    """
    with _threads(1) as pool:
        begun = pool.submit(step)
        yield begun.result
        begun.result()


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(count)
    wait = True
    try:
        yield pool
    except KeyboardInterrupt:
        wait = False
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)
