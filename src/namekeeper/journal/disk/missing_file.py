"""`.missing`: the brokers that went without unregistering, written again when they change, for a restart.

It is not synced: if a crash of the machine takes the newest version, the journal still has the changes.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from namekeeper.files import Os, read_own_file, replace_own_file
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.route.missing import MissingRows

__all__ = ["MISSING_FILE", "load_missing", "save_missing"]

MISSING_FILE = ".missing"


def save_missing(folder: str, rows: Callable[[], MissingRows], *, system: Os = os) -> bool:
    """Write the file; return whether the disk took it: only a restart reads it, so an error may wait."""
    path = str(Path(folder) / MISSING_FILE)
    try:
        replace_own_file(path, msgspec.json.encode(rows()), is_synced=False, system=system)
    except OSError:
        return False
    return True


def load_missing(folder: str, *, system: Os = os) -> MissingRows:
    """Read the file; empty if there is none, or if it can't be read."""
    try:
        data = read_own_file(str(Path(folder) / MISSING_FILE), system=system)
        return MissingRows([], {}) if data is None else msgspec.json.decode(data, type=MissingRows)
    except (OSError, *UNREADABLE_JSON):
        return MissingRows([], {})
