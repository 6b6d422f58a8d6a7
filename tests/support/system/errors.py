"""Calls that must not fail, for tests in which that is the whole point; failures that name their case."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["assert_no_error", "case"]


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Name one of the many cases of a test in its failure: a test for each would cost more than what it checks."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {', '.join(map(str, names))}")
        raise


def assert_no_error(
    call: Callable[..., object], *arguments: object, allowed: type[Exception] | tuple[()] = ()
) -> None:
    """Make a call; fail if it raises anything but `allowed`."""
    try:
        call(*arguments)
    except allowed:
        return
    except Exception as error:
        raise AssertionError(f"{call} of {arguments!r:.200} raised {error!r}") from error
