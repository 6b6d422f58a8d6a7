"""Files that seem to belong to another user, also where the tests run as root."""

import os
import stat
from pathlib import Path

import pytest

__all__ = ["OTHER_USER", "give_away"]

OTHER_USER = 12_345


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `os.lstat` say that a file or link belongs to another user."""
    lstat = os.lstat

    def of_another(asked: Path) -> os.stat_result:
        found = list(lstat(asked))
        if Path(asked) == path:
            found[stat.ST_UID] = OTHER_USER
        return os.stat_result(found)

    monkeypatch.setattr(os, "lstat", of_another)
