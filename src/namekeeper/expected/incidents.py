"""Deviations as incidents, and incidents that are planned."""

import os
import pwd
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from namekeeper.answers.incidents.deviation import Deviation, DeviationKind
from namekeeper.answers.incidents.failures import IncidentKind, islands
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.times import iso_text
from namekeeper.common.expected import LATE_MS, TOGETHER_MS
from namekeeper.drift.verdict import DriftKind
from namekeeper.errors import ConfigError
from namekeeper.expected.deviations import deviations
from namekeeper.expected.maintenance import (
    MaintenanceLog,
    MaintenanceWindow,
    WindowsByName,
    log_beside,
    planned_deviation,
    with_plan,
)
from namekeeper.expected.plan import digest_of
from namekeeper.expected.state import ExpectedState
from namekeeper.expected.state_file import read_expected
from namekeeper.files import read_if_exists
from namekeeper.history.history import History
from namekeeper.route.events import Cause

__all__ = ["ByCluster", "ExpectedFile", "user_name", "with_deviations"]

ByCluster = list[tuple[tuple[str, ...], list[FoundIncident]]]
"""The name servers of each cluster, and its incidents."""

_AWAY = frozenset({IncidentKind.BROKER_AWAY, IncidentKind.MASS_DISCONNECT, IncidentKind.BROKER_UNREGISTERED})
_LACKING = frozenset({DeviationKind.BROKER_MISSING, DeviationKind.MEMBER_MISSING})
_WIPED = frozenset({IncidentKind.PERMISSION_WIPED})


class ExpectedFile:
    """The file of an expected state and the log beside it, read again when they change.

    Args:
        path: of the file.
        announce: gets a line for people when a change was read, or can't be used.

    Raises:
        ConfigError: one of them can't be used.
    """

    def __init__(self, path: str, announce: Callable[[str], None] = lambda _: None) -> None:
        self.path, self._log, self._announce = path, MaintenanceLog(log_beside(path)), announce
        self._refreshing = threading.Lock()
        self.changes = 0
        """Number of changes that were read."""
        self._seen = self._signatures()
        self.state: ExpectedState = read_expected(path)
        self.windows: Sequence[MaintenanceWindow] = self._log.windows()

    @property
    def notes(self) -> Sequence[str]:
        """Lines about parts of the log that could not be read."""
        return self._log.notes

    def refresh(self) -> None:
        """Read again what has changed; of what can't be used the content of before still counts. Thread-safe.

        A line about each change has the digest of the content, and who wrote it.
        """
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        before, self._seen = self._seen, self._signatures()
        changed = [path for path, old, new in zip(self._paths, before, self._seen, strict=True) if old != new]
        if not changed:
            return
        try:
            self.state, self.windows = read_expected(self.path), self._log.windows()
        except ConfigError as error:
            self._announce(f"{error}; what it said before still counts")
            return
        self.changes += 1
        for text in (*(f"{path} was read again: {self._writer(path)}" for path in changed), *self.notes):
            self._announce(text)

    def _writer(self, path: str) -> str:
        """The digest of a file, and who wrote it: the user of a request, or else the owner on disk."""
        try:
            digest, found = digest_of(read_if_exists(path) or b""), os.stat(path)  # noqa: PTH116 - people named it
        except OSError as error:
            return str(error)
        replaced = self._log.replaced
        if path == self.path and replaced is not None and replaced.after == digest:
            return f"digest {digest}, by {replaced.who} with rule {replaced.rule!r}"
        when = iso_text(found.st_mtime_ns // 1_000_000)
        return f"digest {digest}, written {when}, owner {user_name(found.st_uid)}"

    def applied(
        self, by_cluster: ByCluster, histories: Iterable[History], ends: Mapping[str, int]
    ) -> ByCluster:
        """The incidents with deviations, and with those that are planned marked; see `with_deviations`.

        Files that have changed are read again before.
        """
        self.refresh()
        return with_deviations(by_cluster, self.state, self.windows, histories, ends)

    def _signatures(self) -> tuple[object, object]:
        path, log_path = self._paths
        return _signature(path), _signature(log_path)

    @property
    def _paths(self) -> tuple[str, str]:
        return self.path, self._log.path


def user_name(uid: int) -> str:
    """The name of a user of this system; its number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _signature(path: str) -> object:
    """Changes with the content of a file; None: it can't be looked at."""
    try:
        found = os.stat(path)  # noqa: PTH116 - of a name that people gave
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def with_deviations(
    by_cluster: ByCluster,
    state: ExpectedState,
    windows: Sequence[MaintenanceWindow],
    histories: Iterable[History],
    ends: Mapping[str, int],
) -> ByCluster:
    """Add deviations to incidents, and mark those that are planned.

    A deviation is an incident once it has lasted for 30 seconds. One that another incident explains, which
    lasts as long, is none of its own: a broker that is away, or a wiped permission.

    Args:
        by_cluster: the other incidents.
        state: what must be there.
        windows: all maintenance windows.
        histories: of all name servers, about every name.
        ends: name server -> the last instant that counts, wall ms.
    """
    now = max(ends.values(), default=0)
    found = deviations(state, histories, ends, settled_ms=TOGETHER_MS).found
    of_members: dict[tuple[str, ...], list[Deviation]] = defaultdict(list)
    by_name = WindowsByName(windows)
    for each in found:
        members = next((names for names, _ in by_cluster if each.name_servers[0] in names), ())
        planned = planned_deviation(each, by_name, now)
        of_members[members].append(structs.replace(each, planned=planned))
    marked = [(members, [with_plan(each, by_name, now) for each in some]) for members, some in by_cluster]
    return [(members, [*some, *_incidents_of(of_members[members], some)]) for members, some in marked]


def _incidents_of(found: Iterable[Deviation], others: Sequence[FoundIncident]) -> Iterator[FoundIncident]:
    """Deviations of one kind that began at nearly the same time are one incident."""
    own = [each for each in found if not _is_explained(each, others)]
    groups: dict[tuple[object, ...], list[Deviation]] = defaultdict(list)
    for each, island in islands(own, _key, lambda each: (each.since, each.subject)):
        groups[(*_key(each), island)].append(each)
    for some in groups.values():
        ends = [each.to for each in some if each.to is not None]
        names = sorted({name for each in some for name in each.brokers})
        since = some[0].since
        yield FoundIncident(
            kind=IncidentKind.DEVIATION,
            cluster=some[0].cluster,
            subject=min(each.subject for each in some),
            from_ts=since,
            to_ts=max(ends) if len(ends) == len(some) else None,
            cause=min((each.cause for each in some if each.cause), default=None),
            peer=min((each.peer for each in some if each.peer), default=None),
            brokers=len(names),
            broker_names=names,
            topics=0,
            first_topic=None,
            name_servers=sorted({name for each in some for name in each.name_servers}),
            closed_by=min((each.closed_by for each in some if each.closed_by), default=None),
            from_window_ms=some[0].window_ms or None,
            planned=", ".join(sorted({each.planned for each in some} - {""})),
            deviation=some[0].kind,
            deviations=some,
        )


def _key(one: Deviation) -> tuple[object, ...]:
    return one.kind, one.cluster, bool(one.planned)


def _is_explained(one: Deviation, others: Iterable[FoundIncident]) -> bool:
    """Whether another incident is the same failure, and lasts as long."""
    kinds = _AWAY if one.kind in _LACKING else frozenset()
    if one.kind is DeviationKind.PERMISSION_CHANGED and one.cause == Cause.WIPE_WRITE_PERM:
        kinds = _WIPED
    return _is_drift(one, others) or any(
        each.kind in kinds
        and each.cluster == one.cluster
        and set(one.brokers) <= set(each.broker_names)
        and each.from_ts - LATE_MS <= one.since
        and _lasts_as_long(each, one)
        for each in others
    )


def _is_drift(one: Deviation, others: Iterable[FoundIncident]) -> bool:
    """Whether the name servers that deviate disagree with the others about just that.

    About a topic, either side of the disagreement may be the one that deviates.
    """
    is_of_some = one.topic is not None and len(one.name_servers) < one.of_name_servers
    return any(
        each.kind is IncidentKind.DRIFT
        and (is_of_some or set(one.name_servers) <= set(each.name_servers))
        and set(one.brokers) <= set(each.broker_names)
        and (one.kind in _LACKING if one.topic is None else _is_about_topic(each, one))
        and each.from_ts - LATE_MS <= one.since
        and _lasts_as_long(each, one)
        for each in others
    )


def _is_about_topic(incident: FoundIncident, one: Deviation) -> bool:
    is_order = one.kind is DeviationKind.ORDER_CHANGED
    return any(
        one.topic in fact.topics and (fact.kind == DriftKind.ORDER_DIFFERS) == is_order
        for fact in incident.drift
    )


def _lasts_as_long(incident: FoundIncident, one: Deviation) -> bool:
    end = incident.to_ts
    return end is None or (one.to is not None and one.to <= end + LATE_MS)
