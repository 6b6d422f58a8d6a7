"""The history of name servers from the pipeline's tables, for the commands about the past."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from namekeeper.answers.around import AROUND_MS
from namekeeper.answers.audit import EVERY_REQUEST, AuditEntry, AuditQuery, audit_from_rows
from namekeeper.answers.evidence import DAY_MS, Evidence
from namekeeper.answers.from_facts import changes_from_facts, evidence_from_facts, uncertain_from_facts
from namekeeper.answers.from_rows import route_from_rows, state_from_rows
from namekeeper.answers.render import RouteAt, UncertainChange
from namekeeper.answers.source import HeldAt, SourceProgress, no_such_cluster
from namekeeper.cli.spark import MakeSession, refusals
from namekeeper.errors import ConfigError
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent
from namekeeper.journal.reading.coverage import Knowledge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["WarehouseAnswers"]


class WarehouseAnswers:
    """A warehouse; it gives `PastAnswers`.

    Args:
        uri: where it is.
        session: makes the session of Spark; called only if Spark has to read the tables.
        namesrv: only this name server is wanted.
        cluster: only name servers with this label of a cluster are wanted.
        back_ms: how long before a time the history of a topic is read; more if that does not show the cause.
        progress: called when Spark starts.

    Raises:
        CommandRefused: there is no warehouse, or no Spark to read it with.
    """

    notes: Sequence[str] = ()

    def __init__(
        self,
        uri: str,
        session: MakeSession,
        namesrv: str | None = None,
        *,
        cluster: str | None = None,
        back_ms: int = DAY_MS,
        progress: SourceProgress | None = None,
    ) -> None:
        self._namesrv, self._cluster = namesrv, cluster
        self._back_ms = back_ms
        with refusals():
            from namekeeper.pipeline.answers.engines import open_tables

            self._tables = open_tables(uri, _shown(session, progress))

    def namesrvs(self) -> list[str]:
        """Ids of the name servers, sorted.

        Raises:
            ConfigError: nobody of the name that is wanted is there.
        """
        return list(self._ends())

    def instant(self, at: int | None) -> int | None:
        """The instant that an answer about a time (wall ms) is about: that time."""
        return at

    def held(self, namesrv: str, at: int | None) -> HeldAt:
        """All that one of the name servers held at an instant; None is its end."""
        with refusals():
            from namekeeper.pipeline.answers.topics import held_rows

            instant = self._ends()[namesrv] if at is None else at
            (found,) = held_rows(self._tables, instant, namesrv)
        state = state_from_rows(found.tables) if found.knowledge == Knowledge.KNOWN else None
        return HeldAt(namesrv, instant, Knowledge(found.knowledge), found.knows_up_to, state)

    def routes(self, topic: str, at: int | None) -> list[RouteAt]:
        """The route of a topic at each name server, at an instant; None is the end of each.

        Raises:
            ConfigError: nobody of the name that is wanted is there.
        """
        with refusals():
            from namekeeper.pipeline.answers.topics import route_rows

            ends = self._ends()
            instants = dict.fromkeys(ends, at) if at is not None else ends
            found = [
                (instant, each)
                for instant in sorted(set(instants.values()))
                for each in route_rows(self._tables, topic, instant, self._namesrv)
                if instants.get(each.namesrv) == instant
            ]
        uncertain = {} if at is None else self._uncertain_changes(topic, at)
        return [
            RouteAt(
                each.namesrv,
                instant,
                Knowledge(each.knowledge),
                each.knows_up_to,
                route_from_rows(topic, each.tables) if each.knowledge == Knowledge.KNOWN else None,
                uncertain.get(each.namesrv, ()),
            )
            for instant, each in sorted(found, key=lambda pair: pair[1].namesrv)
        ]

    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        """Return the known facts of a topic at each name server.

        Raises:
            ConfigError: nobody of the name that is wanted is there.
        """
        ends = self._ends()
        instants = ends if at is None else dict.fromkeys(ends, at)
        since, until = min(instants.values()) - self._back_ms, max(instants.values()) + AROUND_MS
        if at is not None:
            until = max(until, self._uncertain_until(at) or until)
        found = self._evidence(topic, since, until, ends)
        again = max((one.unknown_until(instants[one.namesrv]) or 0 for one in found), default=0)
        if again > until:  # what is known then is a part of the answer
            until = again
            found = self._evidence(topic, since, until, ends)
        needed = min((one.needed_from(instants[one.namesrv]) for one in found), default=since)
        if needed < since:
            since = needed
            found = self._evidence(topic, since, until, ends)
        behind = {one.namesrv for one in found if not one.shows_cause(instants[one.namesrv])}
        if not behind:
            return found
        earlier, later = self._recorded_times(topic, {name: instants[name] for name in behind})
        if earlier is None and later is None:
            return found
        begin = since if earlier is None else min(since, earlier - DAY_MS)
        found = self._evidence(topic, begin, max(until, later or until), ends)
        if earlier is None or all(one.shows_cause(instants[one.namesrv]) for one in found):
            return found
        return self._evidence(topic, 0, max(until, later or until), ends)

    def changes(self, name: str | None, begin_at: int, end_at: int) -> list[HistoryEvent]:
        """Changes of the rows about a topic, a broker or an address after `begin_at`, up to `end_at`.

        A name of None is everything.

        Raises:
            ConfigError: the warehouse holds no journal.
        """
        ends = self._ends()
        with refusals():
            from namekeeper.pipeline.answers.recorded import recorded

            found = recorded(self._tables, name, begin_at, end_at, self._namesrv)
        bases = {namesrv: base for namesrv, base in found.bases.items() if namesrv in ends}
        return changes_from_facts(name, found.tables, bases, begin_at, end_at)

    def histories(
        self, at: int | None, back_ms: int, namesrvs: Collection[str] | None = None
    ) -> list[History]:
        """The history of every row at each name server.

        Raises:
            ConfigError: nobody of the name that is wanted is there.
        """
        ends = self._ends()
        with refusals():
            from namekeeper.console.warehouse_history import warehouse_history

            source = warehouse_history(self._tables)
        found: list[History] = []
        for namesrv, end in ends.items():
            if namesrvs is None or namesrv in namesrvs:
                history = History(namesrv)
                for step in source.steps(namesrv, None, (end if at is None else at) - back_ms, None):
                    history.take(step)
                history.extend(end)  # steps without rows may be left out
                found.append(history)
        return found

    def audit(self, begin_at: int, end_at: int, query: AuditQuery = EVERY_REQUEST) -> list[AuditEntry]:
        """Return requests that rules decided on, or that were refused, after `begin_at`, up to `end_at`.

        Raises:
            ConfigError: the warehouse holds no journal.
        """
        ends = self._ends()
        args = {"since": begin_at, "until": end_at, "namesrv": self._namesrv}
        with refusals():
            judged, denied = (
                self._tables.ask(name, args).rows for name in ("judged_request", "denied_request")
            )
        judged, denied = ([row for row in rows if row["namesrv"] in ends] for rows in (judged, denied))
        return audit_from_rows(judged, denied, query)

    def topics(self) -> list[str]:
        """Names of topics that any name server had."""
        with refusals():
            return [row["topic"] for row in self._tables.ask("topic_names", {}).rows]

    def brokers(self) -> list[str]:
        """Names and addresses of brokers that any name server had."""
        with refusals():
            rows = self._tables.ask("broker_names", {}).rows
        return [row["name"] for row in rows]

    def _ends(self) -> dict[str, int]:
        """Name server -> wall ms of its last record, by name."""
        with refusals():
            from namekeeper.pipeline.answers.topics import knowledge

            rows = knowledge(self._tables, 0, self._namesrv)
        ends = {row["namesrv"]: row["knows_up_to"] for row in rows}
        self._check(list(ends))
        if self._cluster is None:
            return ends
        labels = self._labels()
        if self._cluster not in labels.values():
            raise no_such_cluster(self._cluster, labels.values())
        return {namesrv: end for namesrv, end in ends.items() if labels.get(namesrv) == self._cluster}

    def _labels(self) -> dict[str, str]:
        """Name server -> label of its cluster at its last start."""
        with refusals():
            rows = self._tables.ask("name_server_boot", {"namesrv": self._namesrv}).rows
        return {row["namesrv"]: row["cluster_label"] or "" for row in rows}

    def _evidence(self, topic: str, since: int, until: int, ends: Mapping[str, int]) -> list[Evidence]:
        with refusals():
            from namekeeper.pipeline.answers.recorded import recorded_for_why

            found = recorded_for_why(self._tables, topic, since, until, self._namesrv)
        bases = {namesrv: base for namesrv, base in found.bases.items() if namesrv in ends}
        return evidence_from_facts(topic, found.tables, bases, ends)

    def _uncertain_changes(self, topic: str, at: int) -> Mapping[str, Sequence[UncertainChange]]:
        """Name server -> the changes of a route that may have happened before a time or after it."""
        until = self._uncertain_until(at)
        if until is None:
            return {}
        with refusals():
            from namekeeper.pipeline.answers.recorded import recorded

            found = recorded(self._tables, topic, at, until, self._namesrv)
        return uncertain_from_facts(topic, found.tables, found.bases, at)

    def _uncertain_until(self, at: int) -> int | None:
        """The end of the last window of an observed change around a time; None: the time is in no window."""
        with refusals():
            from namekeeper.pipeline.answers.topics import uncertain_until

            return uncertain_until(self._tables, at, self._namesrv)

    def _recorded_times(self, topic: str, instants: Mapping[str, int]) -> tuple[int | None, int | None]:
        """When something was recorded of a topic: the last time before an instant, the first one after it.

        Of several name servers the least of the first and the greatest of the second; None: there is none.
        """
        with refusals():
            rows = self._tables.ask("topic_recorded_time", {"topic": topic, "namesrv": self._namesrv}).rows
        before: dict[str, int] = {}
        after: dict[str, int] = {}
        for row in rows:
            name, ts = row["namesrv"], row["ts"]
            if name in instants and ts <= instants[name]:
                before[name] = max(before.get(name, ts), ts)
            elif name in instants:
                after[name] = min(after.get(name, ts), ts)
        return min(before.values(), default=None), max(after.values(), default=None)

    def _check(self, found: Sequence[str]) -> None:
        if not found:
            who = f"of {self._namesrv!r}" if self._namesrv else "of any name server"
            raise ConfigError(f"the warehouse holds no journal {who}: see `namekeeper pipeline run`")


def _shown(session: MakeSession, progress: SourceProgress | None) -> MakeSession:
    """The same function, which also shows the user that Spark starts."""
    if progress is None:
        return session

    def start() -> "SparkSession":
        progress("starting Spark", 0, 1)
        return session()

    return start
