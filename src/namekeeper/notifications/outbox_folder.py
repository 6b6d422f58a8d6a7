"""The folder of the outbox on disk: one process owns it, and its file is replaced atomically."""

from pathlib import Path

import msgspec

from namekeeper.errors import ConfigError, JournalError
from namekeeper.files import make_folder, problem_with, read_own_file, replace_own_file, sweep_temporaries
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.journal.disk.lock import take_lock
from namekeeper.notifications.outbox import Outbox

__all__ = ["OUTBOX_BYTES", "OUTBOX_FILE", "OutboxFolder", "read_outbox"]

OUTBOX_FILE = "outbox.json"
OUTBOX_BYTES = 64 << 20
"""Largest file: 5,000 incidents of two kilobytes, and the messages of twenty receivers, take less."""


class OutboxFolder:
    """The folder while this process owns it; `close` gives it back.

    Args:
        path: of the folder, which is created.

    Raises:
        ConfigError: another process owns it, or it can't be used.
    """

    def __init__(self, path: str) -> None:
        self._file = str(Path(path) / OUTBOX_FILE)
        try:
            make_folder(path)
            self._release = take_lock(path, instead="name another outbox")
            sweep_temporaries(self._file)
        except JournalError as error:
            raise ConfigError(str(error)) from None
        except OSError as error:
            raise ConfigError(f"{path}: {problem_with(error.filename or path, error)}") from None

    def load(self) -> Outbox:
        """The outbox as it was saved last; an empty one if there is none.

        Raises:
            ConfigError: it can't be read.
        """
        return _outbox_in(self._file) or Outbox()

    def save(self, outbox: bytes) -> None:
        """Replace the file; after a crash it has the old content or the new one.

        Args:
            outbox: JSON.

        Raises:
            OSError: it can't be written; the old content is still there.
        """
        replace_own_file(self._file, outbox)

    def close(self) -> None:
        """Let other processes own the folder."""
        self._release()


def read_outbox(path: str) -> Outbox | None:
    """The outbox in a folder that another process may own; None: there is none.

    Raises:
        ConfigError: it can't be read.
    """
    return _outbox_in(str(Path(path) / OUTBOX_FILE))


def _outbox_in(file: str) -> Outbox | None:
    try:
        data = read_own_file(file, limit=OUTBOX_BYTES)
    except OSError as error:
        raise ConfigError(f"{file}: {problem_with(file, error)}") from None
    if data is None:
        return None
    try:
        found = msgspec.json.decode(data, type=Outbox)
    except UNREADABLE_JSON as error:
        raise ConfigError(
            f"{file} is no outbox: {error}; move it away: open incidents are then sent once more"
        ) from None
    if not found.is_consistent:
        raise ConfigError(
            f"{file} is no outbox: a message waits about an incident that it lacks; move it away"
        )
    if found.version != Outbox().version:
        raise ConfigError(f"{file} was written by a later release: it has version {found.version}")
    return found
