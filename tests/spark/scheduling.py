"""Which tests of this folder run in one process when `make spark` has several."""

from pathlib import Path

__all__ = ["group_of"]

ALONE = {"test_lost_executors", "test_processes"}
"""Modules that do without the session, and whose tests share nothing."""
APART = {"test_iceberg", "test_java_broker", "test_walks"}
"""Modules whose tests share something of their own; for one that needs a session another is started."""


def group_of(nodeid: str) -> str:
    """Name of the group of tests that share a process."""
    module = Path(nodeid.partition("::")[0])
    if module.parent.name != "spark" or module.stem in ALONE:
        return nodeid
    return module.stem if module.stem in APART else "session"
