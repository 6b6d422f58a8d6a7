"""Journals of name servers that are gone: how long readers follow them, and when the observer removes them.

Each new address behind a name in the DNS has a journal of its own. Nobody writes to it once the address is
gone.
"""

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from namekeeper.clock import Clock
from namekeeper.errors import JournalError
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.folder import QUARANTINE
from namekeeper.journal.disk.heard_file import HEARD_FILE, load_heard
from namekeeper.journal.disk.identity import IDENTITY_FILE, load_identity
from namekeeper.journal.disk.last_boot import last_boot_path
from namekeeper.journal.disk.lock import LOCK_FILE, is_locked, take_lock
from namekeeper.journal.disk.missing_file import MISSING_FILE
from namekeeper.journal.disk.recovery import is_of
from namekeeper.journal.disk.retention import AgePause
from namekeeper.journal.reading.reader import FoundJournal, JournalReader
from namekeeper.model.now import Now

__all__ = ["DEPARTED_MS", "DepartedJournals"]

log = logging.getLogger("namekeeper.observe")

DEPARTED_MS = 60 * 60 * 1_000
"""How long the observer asks a name server that is gone from the DNS and answers, and how long readers follow
its journal after the last answer."""

_BESIDE = (HEARD_FILE, MISSING_FILE, LOCK_FILE)
"""Files of a journal that mean nothing without its records."""


class DepartedJournals:
    """The journals in a folder whose name servers are not observed any more.

    Args:
        folder: the folder of an observer, with a folder for each name server.
        max_age_ms: a journal is removed once its last record is older.
        is_wanted: tells whether a name server, by its id, is observed or may be.
        clock: the time.
    """

    def __init__(self, folder: str, max_age_ms: int, is_wanted: Callable[[str], bool], clock: Clock) -> None:
        self._folder, self._max_age_ms = Path(folder), max_age_ms
        self._is_wanted, self._clock = is_wanted, clock
        self._pause = AgePause()
        self._looked: Now | None = None

    def begin(self) -> None:
        """Compare the clock with the journals; if it may be wrong, `remove_old` removes nothing for a day.

        Call it before an observer writes to the journals: until then `remove_old` removes nothing.
        """
        now = self._clock.now()
        newest = max((load_heard(str(path)).ts for path in self._folders()), default=0)
        self._pause.note_start(newest_ts=newest, wall_ms=now.wall_ms, mono_ms=now.mono_ms)
        self._looked = now

    def has_left(self, found: FoundJournal) -> bool:
        """Whether the name server of a journal is gone for so long that nobody follows it any more."""
        path = Path(found.folder)
        last = None if self._is_wanted(path.name) else _last_answer(path)
        return last is not None and self._clock.now().wall_ms - last >= DEPARTED_MS

    def remove_old(self) -> list[str]:
        """Remove the journals that are older than the retention as a whole; returns their ids."""
        now = self._clock.now()
        if self._looked is None:
            return []
        self._pause.note_step(_offset(now) - _offset(self._looked), now.mono_ms)
        self._looked = now
        if not self._pause.is_over(now.mono_ms):
            return []
        oldest = now.wall_ms - self._max_age_ms
        unwanted = (path for path in self._folders() if not self._is_wanted(path.name))
        return [path.name for path in unwanted if _remove(path, oldest)]

    def _folders(self) -> list[Path]:
        with contextlib.suppress(OSError):
            return sorted(each for each in self._folder.iterdir() if each.is_dir() and not each.is_symlink())
        return []


def _offset(now: Now) -> int:
    return now.wall_ms - now.mono_ms


def _last_answer(folder: Path) -> int | None:
    """Wall ms of the last answer in a journal; None if no observer made it, or if somebody writes to it."""
    heard = load_heard(str(folder))
    return heard.ts if heard.is_observed and not is_locked(str(folder)) else None


def _remove(folder: Path, oldest: int) -> bool:
    """Remove the journal in a folder if its last record is older; returns whether it did.

    The folder has to hold nothing but a journal that an observer made under the name of the folder.
    """
    last = _last_answer(folder)
    if last is None or last >= oldest:
        return False
    try:
        release = take_lock(str(folder))
    except (OSError, JournalError):
        return False
    try:
        segments = _segments_of_own(folder)
        if (
            segments is None
            or JournalReader(FoundJournal(str(folder)), segments=segments).last_ts() >= oldest
        ):
            return False
        for each in segments:
            (folder / str(each)).unlink()
        last_boot_path(str(folder)).unlink(missing_ok=True)
        for name in (IDENTITY_FILE, *_BESIDE):
            (folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # recovery keeps what it put aside
            folder.rmdir()
    except JournalError:
        return False
    except OSError as error:
        log.warning("observe: %s was not removed: %s", folder, error)
        return False
    finally:
        release()
    return True


def _segments_of_own(folder: Path) -> list[SegmentName] | None:
    """The segments in a folder in order; None if it has another name than its journal, or other files.

    Raises:
        JournalError: its identity is not valid.
        OSError: it can't be read.
    """
    identity = load_identity(str(folder))
    if identity is None or identity.namesrv != folder.name:
        return None
    names = {each.name for each in folder.iterdir()}
    segments = [each for each in map(SegmentName.parse, names) if each is not None and is_of(each, identity)]
    is_own = names <= {*map(str, segments), *_BESIDE, IDENTITY_FILE, QUARANTINE}
    return sorted(segments, key=lambda name: name.order) if is_own else None
