"""Which tests of a release repeat those of another release of its line: CI has one release of each line."""

from collections.abc import Iterable

__all__ = ["STAND_IN", "repeated"]

STAND_IN = {"4.9.7": "4.8.0", "5.3.3": "5.5.0"}
"""A release, and the one of the same line that CI has."""


def repeated(names: Iterable[str]) -> set[str]:
    """Names of tests that run with the other release, too. A test that only one release of a line has is not among them."""
    every = set(names)
    return {
        name
        for name in every
        for release, other in STAND_IN.items()
        if release in name and name.replace(release, other) in every
    }
