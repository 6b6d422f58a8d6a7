"""Which front the servers under test have: `FRONT_UNDER_TEST=native make test`, or `python`; else what is installed.

With the native one sockets are lent as early as can be, so that tests which ask a few times reach it.
"""

import os
import sys

from namekeeper.remoting import lending

__all__ = ["EARLY_READS", "FRONT_UNDER_TEST", "lend_early", "serve_command"]

FRONT_UNDER_TEST = os.environ.get("FRONT_UNDER_TEST", "auto")
"""A value of the property `front`; with `native` a server refuses to start where the front is not installed."""

EARLY_READS = 2
"""Look-ups in a row before a socket is lent."""

_EARLY = f"""\
from namekeeper.cli.main import main
from namekeeper.remoting import lending
lending.MIN_LOOKUP_READS = {EARLY_READS}
main()
"""


def lend_early() -> None:
    """Have this process lend early, if this run is about the native front."""
    if FRONT_UNDER_TEST == "native":
        lending.MIN_LOOKUP_READS = EARLY_READS


def serve_command() -> list[str]:
    """The words that start a server as a process of its own; options follow."""
    started = ["-c", _EARLY] if FRONT_UNDER_TEST == "native" else ["-m", "namekeeper"]
    return [sys.executable, *started, "serve"]
