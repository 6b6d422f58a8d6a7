"""Steps that don't need each other, done in several threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

__all__ = ["do_together"]

AT_ONCE = 3
"""While one plans its queries, which takes Spark one core, others run theirs."""


def do_together(steps: Sequence[Callable[[], None]]) -> None:
    """Do all steps; when one fails, or somebody interrupts, those that have not begun are left out.

    Raises:
        Exception: What the first of the steps raised that failed.
    """
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        for done in [pool.submit(step) for step in steps]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)
