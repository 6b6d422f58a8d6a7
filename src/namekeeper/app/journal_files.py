"""The files of a running journal, for the operators' pages."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from namekeeper.http.stats import JournalStats

__all__ = ["journal_files"]


def journal_files(journal: JournalStats | None) -> tuple[Path, Callable[[], list[str]]] | None:
    """The folder of a journal, and a function that lists its files; None until it is open."""
    if journal is None or not journal.namesrv:
        return None
    return Path(journal.folder), partial(_files_in, journal.folder)


def _files_in(folder: str) -> list[str]:
    from namekeeper.journal.disk.folder import (
        list_segments,  # it imports modules that a start does not need
    )
    from namekeeper.journal.disk.identity import IDENTITY_FILE

    try:
        return [IDENTITY_FILE, *map(str, list_segments(folder))]
    except OSError:
        return []
