"""Tests that share something dear run in one process, when a run has several."""

from collections.abc import Callable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

__all__ = ["GroupScheduling"]


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Each group of tests is in one process; xdist begins with the largest group.

    `group_of` gives the group of a test by its name. xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2.
    """

    def __init__(self, config: pytest.Config, log: Producer, group_of: Callable[[str], str]) -> None:
        super().__init__(config, log)
        self._group_of = group_of

    def _split_scope(self, nodeid: str) -> str:
        return self._group_of(nodeid)
