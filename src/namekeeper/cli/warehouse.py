"""The history of name servers from the pipeline's tables, for the commands about the past."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from namekeeper.answers.evidence import Evidence
from namekeeper.answers.from_rows import evidence_from_rows, route_from_rows, state_from_rows
from namekeeper.answers.render import RouteAt
from namekeeper.answers.source import HeldAt, SourceProgress
from namekeeper.cli.spark import MakeSession, refusals
from namekeeper.errors import ConfigError
from namekeeper.journal.reading.coverage import Knowledge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["WarehouseSource"]


class WarehouseSource:
    """A warehouse; a `HistorySource`.

    Args:
        uri: where it is.
        session: makes the session of Spark; called only if Spark has to read the tables.
        namesrv: only this name server is wanted.
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
        progress: SourceProgress | None = None,
    ) -> None:
        self._namesrv = namesrv
        with refusals():
            from namekeeper.pipeline.answers.engines import open_tables

            self._tables = open_tables(uri, _shown(session, progress))

    def namesrvs(self) -> list[str]:
        """Ids of the name servers, sorted.

        Raises:
            ConfigError: nobody of the name that is wanted is there.
        """
        return list(self._ends())

    def held(self, namesrv: str, at: int | None) -> HeldAt:
        """All that one of them held at an instant; None is its end."""
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
                if instants[each.namesrv] == instant
            ]
        return [
            RouteAt(
                each.namesrv,
                instant,
                Knowledge(each.knowledge),
                each.knows_up_to,
                route_from_rows(topic, each.tables) if each.knowledge == Knowledge.KNOWN else None,
            )
            for instant, each in sorted(found, key=lambda pair: pair[1].namesrv)
        ]

    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        """What is known of a topic at each name server.

        Raises:
            ConfigError: nobody of the name that is wanted is there.
        """
        with refusals():
            from namekeeper.pipeline.answers.topics import why_rows

            found = why_rows(self._tables, topic, at, self._namesrv)
        self._check(list(found.knows_up_to))
        return evidence_from_rows(topic, found.tables, found.knows_up_to)

    def topics(self) -> list[str]:
        """Names of topics that any name server had."""
        with refusals():
            return [row["topic"] for row in self._tables.ask("topic_names", {}).rows]

    def _ends(self) -> dict[str, int]:
        """Name server -> wall ms of its last record, by name."""
        with refusals():
            from namekeeper.pipeline.answers.topics import knowledge

            rows = knowledge(self._tables, 0, self._namesrv)
        ends = {row["namesrv"]: row["knows_up_to"] for row in rows}
        self._check(list(ends))
        return ends

    def _check(self, found: Sequence[str]) -> None:
        if not found:
            who = f"of {self._namesrv!r}" if self._namesrv else "of any name server"
            raise ConfigError(f"the warehouse holds no journal {who}: see `namekeeper pipeline run`")


def _shown(session: MakeSession, progress: SourceProgress | None) -> MakeSession:
    """The same, and the user sees that Spark starts."""
    if progress is None:
        return session

    def start() -> "SparkSession":
        progress("starting Spark", 0, 1)
        return session()

    return start
