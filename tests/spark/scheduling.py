"""Which tests of this folder run in one process when `make spark` has several."""

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

__all__ = ["SparkScheduling", "group_of"]

ALONE = {"test_processes"}
"""Modules that do without the session, and whose tests share nothing."""
APART = {"test_iceberg", "test_java_broker", "test_walks"}
"""Modules whose tests share something of their own; for one that needs a session another is started."""


class SparkScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """All other tests of the session are in one process. xdist begins with the largest group."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Name of the group of tests that share a process."""
    module = Path(nodeid.partition("::")[0])
    if module.parent.name != "spark" or module.stem in ALONE:
        return nodeid
    return module.stem if module.stem in APART else "session"
