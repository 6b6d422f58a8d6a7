"""Calls that must not fail, for tests in which that is the whole point."""

from collections.abc import Callable

__all__ = ["assert_no_error"]


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
