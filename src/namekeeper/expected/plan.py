"""Starts and ends maintenance windows, and replaces the expected state."""

import hashlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from namekeeper.common.durations import LATEST_MS
from namekeeper.common.near_names import did_you_mean
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.expected.maintenance import Author, MaintenanceLog, MaintenanceWindow, Scope, log_beside
from namekeeper.expected.state_file import FILE_LIMIT, parse_expected, read_expected
from namekeeper.files import atomic_replace, problem_with, read_if_exists

__all__ = ["UNEXPECTED_LIMIT", "ChangedMeanwhileError", "PlanFiles", "StartedWindow", "digest_of"]

UNEXPECTED_LIMIT = 5
"""Most names in notes because the expected state lacks them: each is compared with all of
its names, which may take a second."""


class ChangedMeanwhileError(NamekeeperError):
    """The expected state is not the one that was to be replaced."""


class StartedWindow(Struct, frozen=True):
    """A window, and lines for the person who started it."""

    window: MaintenanceWindow
    notes: Sequence[str]


def digest_of(text: bytes) -> str:
    """SHA-256 of the text of an expected state, in hexadecimal."""
    return hashlib.sha256(text).hexdigest()


class PlanFiles:
    """The file of an expected state and the log beside it. Thread-safe.

    Args:
        path: of the file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.notes: Sequence[str] = ()
        """Lines of the log that could not be read at the last look."""
        self._changing = threading.Lock()

    def windows(self) -> list[MaintenanceWindow]:
        """All windows, in order of their start.

        Raises:
            ConfigError: the file is not there, or the log can't be read.
        """
        log = self._log()
        found = log.windows()
        self.notes = log.notes
        return found

    def start(
        self, scope: Scope, *, for_ms: int, begin: int | None, by: Author, why: str, now: int
    ) -> StartedWindow:
        """Start a window.

        Args:
            scope: what is worked on, at least one name.
            for_ms: how long.
            begin: wall ms; None: now.
            by: who starts it.
            why: the reason; it may be empty.
            now: wall ms.

        Raises:
            ConfigError: it names nothing, has no end, or the log can't be written.
        """
        if not (scope.brokers or scope.topics or scope.clusters or scope.name_servers):
            raise ConfigError("say what is worked on: a broker, a topic, a cluster or a name server")
        begin = now if begin is None else begin
        end = begin + for_ms
        if not 0 <= begin < end <= LATEST_MS:
            raise ConfigError("a window begins after 1970, and ends before the year 10000")
        with self._changing:
            id_ = self._log().start(scope, begin, end, who=by.who, rule=by.rule, why=why, now=now)
        unexpected = _unexpected_names(scope, self.path)
        notes = [*itertools.islice(unexpected, UNEXPECTED_LIMIT)]
        if next(unexpected, None) is not None:
            notes.append("further names are not there: only the first are named")
        if end <= now:
            notes.append("the window is over: it covers only what began and ended in it")
        window = MaintenanceWindow(id=id_, begin=begin, end=end, scope=scope, who=by.who, why=why)
        return StartedWindow(window, notes)

    def lasting(self, ids: Sequence[str], now: int) -> list[MaintenanceWindow]:
        """The windows with some ids.

        Raises:
            ConfigError: one is not there or over, or the log can't be read.
        """
        found = {each.id: each for each in self.windows() if now < each.end}
        for id_ in ids:
            if id_ not in found:
                raise ConfigError(f"no window {id_!r} lasts: see `namekeeper maintenance list`")
        return [found[id_] for id_ in ids]

    def end(self, ids: Sequence[str], *, by: Author, why: str, now: int) -> None:
        """End windows now: all of them, or none if one does not last.

        Raises:
            ConfigError: as `lasting`, or the log can't be written.
        """
        with self._changing:
            self.lasting(ids, now)
            log = self._log()
            for id_ in dict.fromkeys(ids):
                log.end(id_, who=by.who, rule=by.rule, why=why, now=now)

    def text(self) -> bytes:
        """The text of the expected state.

        Raises:
            ConfigError: it can't be read.
        """
        try:
            data = read_if_exists(self.path, limit=FILE_LIMIT)
        except OSError as error:
            raise ConfigError(f"{self.path}: {problem_with(self.path, error)}") from None
        if data is None:
            raise ConfigError(f"{self.path} does not exist")
        return data

    def replace(self, text: bytes, before: str, *, by: Author, why: str, now: int) -> str:
        """Replace the expected state; the file keeps its mode, and its content stays in FILE.bak.

        The log has the replacement before the file does, so no text comes into effect without a line.

        Args:
            text: the new text.
            before: digest of the text that is replaced.
            by: who does it.
            why: the reason; it may be empty.
            now: wall ms.

        Returns:
            The digest of the new text.

        Raises:
            ConfigError: the text has an error, or a file can't be written.
            ChangedMeanwhileError: the text there has another digest.
        """
        try:
            parse_expected(text.decode(), source=Path(self.path).name)
        except UnicodeDecodeError:
            raise ConfigError("the text is not UTF-8") from None
        after = digest_of(text)
        with self._changing:
            present = digest_of(self.text())
            if present != before:
                raise ChangedMeanwhileError(
                    f"the expected state has changed: its digest is {present[:12]} now, and not"
                    f" {before[:12]}; get it again, and repeat your edit"
                )
            if after == before:
                return after
            log = self._log()
            log.replace(before, after, is_done=True, by=by, why=why, now=now)
            try:
                atomic_replace(self.path, text)
            except OSError as error:
                log.replace(before, after, is_done=False, by=by, why=str(error), now=now)
                raise ConfigError(f"{self.path}: {problem_with(self.path, error)}") from None
        return after

    def _log(self) -> MaintenanceLog:
        if not Path(self.path).is_file():
            raise ConfigError(f"{self.path} does not exist: `namekeeper expect learn` writes it")
        return MaintenanceLog(log_beside(self.path))


def _unexpected_names(scope: Scope, expected_file: str) -> Iterator[str]:
    """A note on each name of a window that the file should have and does not: it may be misspelt.

    A file that can't be used is a note, too: the window counts all the same.
    """
    try:
        clusters = read_expected(expected_file).clusters
    except ConfigError as error:
        yield str(error)
        return
    known = (
        ("broker", scope.brokers, {name for each in clusters for name in each.brokers},
         any(each.allow_other_brokers for each in clusters)),
        ("topic", scope.topics, {name for each in clusters for name in (*each.topics, *each.writable)},
         any(each.allow_other_topics for each in clusters)),
        ("cluster", scope.clusters, {each.name for each in clusters}, False),
        ("name server", scope.name_servers, {name for each in clusters for name in each.name_servers}, False),
    )  # fmt: skip
    for word, names, expected, has_others in known:
        for name in names:
            if name not in expected and not has_others:
                yield f"{expected_file} has no {word} {name!r}{did_you_mean(name, expected)}"
