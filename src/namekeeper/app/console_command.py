"""The command of the console that the operators' page shows: over the journal of this name server."""

import sys
from collections.abc import Sequence

from namekeeper.http.console_process import NoConsoleError
from namekeeper.http.stats import JournalStats

__all__ = ["console_command"]


def console_command(
    journal: JournalStats | None, host: str, port: int, *, has_journal: bool, history_bytes: int
) -> Sequence[str]:
    """The words of the command; it ends when its input does.

    Args:
        journal: the journal; None without one, and at first.
        host: where the name server listens; empty: everywhere.
        port: its port.
        has_journal: whether it is to have one. Without one that can be written the name server is asked, from
            now on.
        history_bytes: bounds the memory of its history.

    Raises:
        NoConsoleError: the journal is not open yet.
    """
    if journal is not None and journal.namesrv:
        source = ("--journal", journal.folder)
    elif has_journal and (journal is None or journal.is_writable):
        raise NoConsoleError("the name server opens its journal: it is asked again every second")
    else:
        source = ("--namesrv", f"{_reachable(host)}:{port}")
    limit = ("--history-bytes", str(history_bytes))
    return (sys.executable, "-m", "namekeeper", "console", "--port", "0", "--until-eof", *limit, *source)


def _reachable(host: str) -> str:
    """An address by which a name server on this host is reached."""
    everywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - not to bind to it
    return everywhere.get(host, f"[{host}]" if ":" in host else host)
