"""Maintenance windows, and the log beside the expected state that has them: one line of JSON for each action.

The log is all there is: a window is what its lines say. So each window has who, when and why, and no second
file can disagree. A line that can't be read makes no window. A line of a kind that is not known here is left
alone: a later release wrote it.
"""

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from namekeeper.answers.incidents.deviation import Deviation
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.times import iso_text
from namekeeper.common.counts import shown_count
from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, open_plain_file, problem_with, read_if_exists, write_all
from namekeeper.foreign_json import UNREADABLE_JSON

__all__ = [
    "EARLY_MS",
    "KEPT_BACK_BYTES",
    "NOTES_LIMIT",
    "Author",
    "MaintenanceEntry",
    "MaintenanceLog",
    "MaintenanceWindow",
    "Scope",
    "WindowsByName",
    "log_beside",
    "planned_deviation",
    "window_of",
    "window_value",
    "with_plan",
]

EARLY_MS = 5_000
"""An incident that began so long before a window is still a part of it: clocks differ."""
_TEXT_LIMIT = 500
"""Most characters of a reason."""
NOTES_LIMIT = 20
"""Most lines that are named because they can't be read."""
KEPT_BACK_BYTES = 256 << 10
"""The last part of a log, which no start takes: windows can be ended, and the expected state replaced."""
USER_BYTES = 1 << 20
"""Bytes of lines of one user of access rules from which on the user starts no windows, and gives no reasons:
one who may plan little must not keep others from planning."""
_KINDS = ("clusters", "topics", "brokers", "name_servers")


class Scope(Struct, frozen=True, kw_only=True):
    """The subjects of a window, each by its exact name."""

    brokers: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    name_servers: tuple[str, ...] = ()


class Author(Struct, frozen=True, kw_only=True):
    """The person behind a line of the log."""

    who: str
    """User and host, as the system knows them; or, as access rules do, a user with the address of a peer."""
    rule: str = ""
    """The access rules that allow it; empty: the rights of the file do."""


class MaintenanceEntry(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    at: int
    """Wall ms."""
    at_iso: str
    who: str
    """See `Author`."""
    action: str
    """`start` or `end` of a window; `replace` of the expected state, and `not_replaced` if that failed then.
    """
    window: str = ""
    """The id of the window."""
    why: str = ""
    begin: int = 0
    """Start of the window, wall ms; 0 in a line that ends it."""
    end: int = 0
    """End of the window, wall ms; 0 in a line that ends it."""
    scope: Scope = Scope()
    rule: str = ""
    """See `Author`."""
    before: str = ""
    after: str = ""
    """SHA-256 of the text of the expected state, before and after a replacement; empty in other lines."""


class MaintenanceWindow(Struct, frozen=True, kw_only=True):
    """A time in which some things are worked on."""

    id: str
    begin: int
    end: int
    """Wall ms."""
    scope: Scope
    who: str
    why: str

    def has(self, since: int, to: int) -> bool:
        """Whether something that lasted from a time to another, wall ms, is a part of it."""
        return self.begin - EARLY_MS <= since and to <= self.end


def window_value(window: MaintenanceWindow) -> dict[str, Any]:
    """A window for JSON."""
    return {
        "id": window.id,
        "from": window.begin,
        "from_iso": iso_text(window.begin),
        "to": window.end,
        "to_iso": iso_text(window.end),
        **structs.asdict(window.scope),
        "who": window.who,
        "why": window.why,
    }


def window_of(value: Mapping[str, Any]) -> MaintenanceWindow:
    """The window of such a value.

    Raises:
        msgspec.MsgspecError: another program made it.
    """
    values = {**value, "begin": value.get("from"), "end": value.get("to"), "scope": value}
    return msgspec.convert(values, MaintenanceWindow)


def log_beside(expected_file: str) -> str:
    """The log that belongs to a file of an expected state."""
    return str(Path(expected_file).with_suffix(".maintenance.jsonl"))


class MaintenanceLog:
    """The log on disk. The rights of the file decide who may write to it.

    Args:
        path: of the log; it need not be there.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.notes: list[str] = []
        """Lines of the log that could not be read."""
        self.replaced: MaintenanceEntry | None = None
        """The last replacement of the expected state that the log has."""

    def windows(self) -> list[MaintenanceWindow]:
        """All windows, in order of their start.

        Raises:
            ConfigError: the log can't be read.
        """
        found: dict[str, MaintenanceWindow] = {}
        for entry in self._entries():
            window = found.get(entry.window)
            if entry.action == "start":
                found[entry.window] = MaintenanceWindow(
                    id=entry.window, begin=entry.begin, end=entry.end, scope=entry.scope, who=entry.who,
                    why=entry.why,
                )  # fmt: skip
            elif entry.action == "replace":
                self.replaced = entry
            elif entry.action == "end" and window is not None:
                found[entry.window] = structs.replace(window, end=min(window.end, entry.at))
        return sorted(found.values(), key=lambda each: (each.begin, each.id))

    def start(  # noqa: PLR0913 - the parts of a line
        self, scope: Scope, begin: int, end: int, *, who: str, why: str, now: int, rule: str = ""
    ) -> str:
        """Start a window; returns its id.

        Args:
            scope: what is worked on.
            begin: wall ms.
            end: wall ms.
            who: who starts it, see `Author`.
            why: the reason; it may be empty.
            now: wall ms.
            rule: see `Author`.

        Raises:
            ConfigError: the log can't be written.
        """
        by = Author(who=who, rule=rule)
        if self._has_many_lines_of(by):
            raise ConfigError(
                f"{self.path} has {USER_BYTES:,} bytes of lines of this user:"
                " move it away, and start the windows again"
            )
        id_ = secrets.token_hex(4)
        self._append("start", by, why, now, window=id_, begin=begin, end=end, scope=scope)
        return id_

    def end(self, window: str, *, who: str, why: str, now: int, rule: str = "") -> None:
        """End a window before its time.

        Raises:
            ConfigError: the log can't be written.
        """
        by = Author(who=who, rule=rule)
        self._append("end", by, "" if why and self._has_many_lines_of(by) else why, now, window=window)

    def replace(self, before: str, after: str, *, is_done: bool, by: Author, why: str, now: int) -> None:
        """Note that the expected state is replaced, or that this failed after it was noted.

        Args:
            before: SHA-256 of the text that is replaced.
            after: SHA-256 of the new text.
            is_done: whether it is replaced.
            by: who does it.
            why: the reason; it may be empty.
            now: wall ms.

        Raises:
            ConfigError: the log can't be written.
        """
        self._append("replace" if is_done else "not_replaced", by, why, now, before=before, after=after)

    def _has_many_lines_of(self, by: Author) -> bool:
        """Whether a user of access rules has written the most bytes that one may."""
        if not by.rule:
            return False
        user = _user_of(by)
        quoted = msgspec.json.encode(user)[:-1]
        lines = [line for line in self._lines() if quoted in line]
        if sum(map(len, lines)) < USER_BYTES:
            return False
        return sum(len(line) for line in lines if _has_written(user, line)) >= USER_BYTES

    def _lines(self) -> list[bytes]:
        try:
            data = read_if_exists(self.path, limit=SMALL_FILE_BYTES)
        except OSError as error:
            raise ConfigError(f"{self.path}: {problem_with(self.path, error)}") from None
        return (data or b"").split(b"\n")

    def _entries(self) -> Iterable[MaintenanceEntry]:
        self.notes, self.replaced = [], None
        unreadable = 0
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            try:
                yield msgspec.json.decode(line, type=MaintenanceEntry)
            except UNREADABLE_JSON as error:
                unreadable += 1
                if unreadable <= NOTES_LIMIT:
                    self.notes.append(f"{self.path}: line {number} makes no window: {error}")
        if unreadable > NOTES_LIMIT:
            more = shown_count(unreadable - NOTES_LIMIT, "more line")
            self.notes.append(f"{self.path}: {more} can't be read: is it the log of maintenance?")

    def _append(self, action: str, by: Author, why: str, now: int, **more: Any) -> None:  # noqa: ANN401
        entry = MaintenanceEntry(
            at=now,
            at_iso=iso_text(now),
            who=by.who,
            rule=by.rule,
            action=action,
            why=why[:_TEXT_LIMIT],
            **more,
        )
        line = msgspec.json.encode(entry) + b"\n"
        try:
            fd = open_plain_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                size = os.fstat(fd).st_size
                if size > 0 and os.pread(fd, 1, size - 1) != b"\n":
                    line = b"\n" + line  # the last one is torn
                if size + len(line) > SMALL_FILE_BYTES - (KEPT_BACK_BYTES if action == "start" else 0):
                    raise ConfigError(f"{self.path} is full: move it away, and start the windows again")
                write_all(fd, line)
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise ConfigError(f"{self.path}: {problem_with(self.path, error)}") from None


def _user_of(by: Author | MaintenanceEntry) -> str:
    """The user of access rules."""
    return by.who.rpartition("@")[0] if by.rule else ""


def _has_written(user: str, line: bytes) -> bool:
    try:
        return _user_of(msgspec.json.decode(line, type=MaintenanceEntry)) == user
    except UNREADABLE_JSON:
        return False


class WindowsByName:
    """Maintenance windows by the names in them: a log may have a million names, and a fleet many deviations.

    Args:
        windows: all windows.
    """

    def __init__(self, windows: Iterable[MaintenanceWindow]) -> None:
        self._found: dict[str, dict[str, list[MaintenanceWindow]]] = {kind: {} for kind in _KINDS}
        for each in windows:
            for kind, found in self._found.items():
                for name in dict.fromkeys(getattr(each.scope, kind)):
                    found.setdefault(name, []).append(each)

    def covering(self, about: Scope, since: int, to: int) -> str:
        """Ids of windows that name the cluster, the topic, all brokers, or all name servers of something.

        Args:
            about: its subjects.
            since: when it began, wall ms.
            to: when it ended, wall ms.
        """
        for kind, found in self._found.items():
            names: tuple[str, ...] = getattr(about, kind)
            by = [next((w.id for w in found.get(name, ()) if w.has(since, to)), "") for name in names]
            if by and all(by):
                return ", ".join(dict.fromkeys(by))
        return ""


def planned_deviation(one: Deviation, windows: WindowsByName, now: int) -> str:
    """Ids of the windows that a deviation is a part of; empty: it is not planned.

    Args:
        one: the deviation.
        windows: all windows.
        now: the last instant that is known, wall ms.
    """
    topics = () if one.topic is None else (one.topic,)
    scope = Scope(brokers=one.brokers, topics=topics, clusters=(one.cluster,), name_servers=one.name_servers)
    return windows.covering(scope, one.since, now if one.to is None else one.to)


def with_plan(one: FoundIncident, windows: WindowsByName, now: int) -> FoundIncident:
    """An incident, marked if it is planned; of one about topics that are planned in part, the other topics.

    Args:
        one: the incident.
        windows: all windows.
        now: the last instant that is known, wall ms.
    """
    since, to = one.from_ts, now if one.to_ts is None else one.to_ts
    is_drift = one.kind is IncidentKind.DRIFT
    is_about_it = is_drift or one.kind is IncidentKind.NAME_SERVER_DOWN
    scope = Scope(
        brokers=tuple(one.broker_names),
        topics=tuple(one.topic_names) if is_drift or len(one.topic_names) == one.topics else (),
        clusters=() if one.cluster is None else (one.cluster,),
        name_servers=tuple(one.name_servers or [one.subject]) if is_about_it else (),
    )
    planned = windows.covering(scope, since, to)
    if planned or is_drift or not scope.topics:
        return structs.replace(one, planned=planned)
    rest = [topic for topic in scope.topics if not windows.covering(Scope(topics=(topic,)), since, to)]
    return structs.replace(
        one, subject=rest[0], first_topic=rest[0], topics=len(rest), topic_names=rest,
        planned_topics=one.topics - len(rest),
    )  # fmt: skip
