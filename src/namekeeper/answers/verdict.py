"""The possible answers to the question why a topic had no route, and the facts that show them."""

from enum import StrEnum
from typing import Self

from msgspec import Struct

from namekeeper.answers.evidence import ValidRow

__all__ = ["Explanation", "Fact", "Judgement", "Verdict"]


class Verdict(StrEnum):
    """The cause that an answer names; its value is the word in JSON."""

    HAS_ROUTE = "has_route"
    """The topic had a route with queues to write to."""
    NEVER_REGISTERED = "never_registered"
    NOT_ON_THIS_ONE = "not_on_this_one"
    BROKER_GONE = "broker_gone"
    DELETED = "deleted"
    DROPPED_BY_BROKER = "dropped_by_broker"
    WRITE_PERM_WIPED = "write_perm_wiped"
    MASTER_GONE = "master_gone"
    """A slave acts for its master; clients can't write to it."""
    NOT_WRITABLE = "not_writable"
    """The row was registered without write permission or write queues."""
    JUST_STARTED = "just_started"
    NOT_BACK = "broker_not_back"
    """The name server had been running long enough for all brokers to register again."""
    UNKNOWN = "unknown"
    """Records were lost, or there are too many changes to read."""
    STOPPED = "stopped"
    """The name server was not running."""
    NOT_YET = "not_known_yet"
    BEFORE = "before_the_journal"


class Fact(Struct, frozen=True):
    """A fact that supports the verdict."""

    text: str
    at: int | None = None
    """Wall ms; None if the fact has no time."""
    until: int | None = None
    """The end of a period that begins at `at`, not included; None if it has no end, or is no period."""
    window_ms: int = 0
    """The fact happened at most so long before `at`: an observer recorded it; 0: exactly then."""

    @classmethod
    def of_begin(cls, text: str, row: ValidRow) -> Self:
        """A fact about how a row began."""
        return cls(text, row.valid_from, window_ms=row.from_window_ms)

    @classmethod
    def of_end(cls, text: str, row: ValidRow) -> Self:
        """A fact about how a row ended."""
        return cls(text, row.valid_to, window_ms=row.to_window_ms)


class Explanation(Struct, frozen=True):
    """The cause at one name server."""

    namesrv: str
    topic: str
    at: int
    """Wall ms."""
    knows_up_to: int | None
    verdict: Verdict
    summary: str
    facts: list[Fact]


Judgement = tuple[Verdict, str, list[Fact]]
"""The verdict, its summary in one line, and its facts."""
