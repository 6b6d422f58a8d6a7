"""The command of the console that the operators' page shows: over the journal of this name server."""

import sys
from collections.abc import Sequence

from namekeeper.http.stats import JournalStats

__all__ = ["console_command"]


def console_command(journal: JournalStats | None, host: str, port: int) -> Sequence[str]:
    """The words of the command; it ends when its input does.

    Args:
        journal: the journal; None without one: then the name server is asked, from now on.
        host: where the name server listens; empty: everywhere.
        port: its port.
    """
    if journal is not None and journal.namesrv:
        source = ("--journal", journal.folder)
    else:
        source = ("--namesrv", f"{_reachable(host)}:{port}")
    return (sys.executable, "-m", "namekeeper", "console", "--port", "0", "--until-eof", *source)


def _reachable(host: str) -> str:
    """An address by which a name server on this host is reached."""
    everywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - not to bind to it
    return everywhere.get(host, f"[{host}]" if ":" in host else host)
