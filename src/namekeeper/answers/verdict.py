"""The possible answers to the question why a topic had no route, and the facts that show them."""

from enum import StrEnum

from msgspec import Struct

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
    """It was registered without write permission or write queues."""
    JUST_STARTED = "just_started"
    NOT_BACK = "broker_not_back"
    """The name server had been running long enough for all brokers to register again."""
    UNKNOWN = "unknown"
    """Records were lost."""
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
