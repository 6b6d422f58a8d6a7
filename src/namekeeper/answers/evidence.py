"""What is known of a topic at one name server: rows, each with the time range in which it was valid.

Evidence is made from a journal (`from_journal.py`) or from the facts of the pipeline (`from_facts.py`); the
fields have the names of the columns of its histories. Times are effective times in wall ms; `valid_to` is not
included, None is open.
"""

from msgspec import Struct

from namekeeper.model.broker import MASTER_ID
from namekeeper.model.perm import Perm

__all__ = [
    "DAY_MS",
    "BrokerSession",
    "Evidence",
    "KnownPeriod",
    "Lookups",
    "RefusedRequest",
    "TopicRoute",
    "ValidRow",
]

DAY_MS = 86_400_000
"""How long before a time a history is read, unless that does not suffice to answer."""


class ValidRow(Struct, frozen=True, kw_only=True):
    """A row, and the time range in which it was valid."""

    valid_from: int
    valid_to: int | None = None
    from_cause: str | None = None
    """The request or rule that made the row; None: it was first seen in a checkpoint."""
    from_peer: str | None = None
    ended_by: str | None = None
    """gone, changed, checkpoint (it had no such row), unknown (records were lost), stopped; None: open."""
    to_cause: str | None = None
    to_peer: str | None = None

    def is_valid(self, at: int) -> bool:
        """Whether the row was valid at a time."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def has_ended(self, at: int) -> bool:
        """Whether the row had ended at a time."""
        return self.valid_to is not None and self.valid_to <= at


class TopicRoute(ValidRow, frozen=True, kw_only=True):
    """The effective queues of the topic on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0
    reason: str | None = None
    """broker_name_removed if all topics of the broker name were removed."""


class BrokerSession(ValidRow, frozen=True, kw_only=True):
    """A live registration."""

    cluster: str
    broker_addr: str
    broker_name: str
    broker_id: int
    boot: int
    gen: int
    reason: str | None = None
    """If gone: unregister_broker, expired, channel_closed, replaced or stale_registration."""
    idle_ms: int | None = None
    """If gone: ms since it was last refreshed."""
    closed_by: str | None = None
    """If its connection closed: who closed it, a value of `ClosedBy`."""

    @property
    def is_restored(self) -> bool:
        """Whether the name server restored it at its start, and its broker has not registered again since."""
        return self.from_cause == "restored"


class KnownPeriod(Struct, frozen=True, kw_only=True):
    """A period with one known state of a name server; before the first one nothing is known."""

    valid_from: int
    valid_to: int | None = None
    state: str
    """up, unknown (records were lost) or stopped."""
    boot: int | None = None
    """If up."""


class Lookups(Struct, frozen=True, kw_only=True):
    """Look-ups of the topic that found no route, in one minute."""

    minute: int
    language: str | None = None
    client_version: int | None = None
    count: int


class RefusedRequest(Struct, frozen=True, kw_only=True):
    """A request that access rules refused; or several that are counted together, without their names."""

    at: int
    """Wall ms."""
    code: int
    about: list[str] | None = None
    """The names in the request, such as `topics=T`."""
    peer: str | None = None
    user: str | None = None
    """The user whose signature it has."""
    rule: str | None = None
    """None: no rule covers it."""
    count: int


class Evidence(Struct, frozen=True, kw_only=True):
    """What the records of one name server say about one topic."""

    namesrv: str
    topic: str
    known_from: int | None
    """Begin of the first complete checkpoint that was read; None if there is none."""
    knows_up_to: int | None
    """Time of the last record."""
    periods: list[KnownPeriod]
    routes: list[TopicRoute]
    sessions: list[BrokerSession]
    """Sessions of all brokers."""
    lookups: list[Lookups]
    refused: list[RefusedRequest] = []
    """Refused requests of any kind."""

    def period_at(self, at: int) -> KnownPeriod | None:
        """The period of a time; None before the first complete checkpoint."""
        return next(
            (
                period
                for period in self.periods
                if period.valid_from <= at and (period.valid_to is None or at < period.valid_to)
            ),
            None,
        )

    def routes_at(self, at: int) -> list[TopicRoute]:
        """Rows that were valid at a time."""
        return [route for route in self.routes if route.is_valid(at)]

    def shows_cause(self, at: int) -> bool:
        """Whether the topic had a row up to a time, with a cause for what it lacks: writing, or a master."""
        rows = self.routes_at(at)
        unexplained = [r for r in rows if r.from_cause in {None, "restored"} and not r.perm & Perm.WRITE]
        masters = {s.broker_name for s in self.sessions if s.broker_id == MASTER_ID and s.valid_from <= at}
        has_masters = all(row.broker_name in masters for row in rows)
        return any(route.valid_from <= at for route in self.routes) and not unexplained and has_masters

    def unknown_until(self, at: int) -> int | None:
        """When the state is known again, if it is not known at a time, as records were lost; else None."""
        period = self.period_at(at)
        return period.valid_to if period is not None and period.state == "unknown" else None

    def began(self, boot: int) -> int:
        """When a boot began.

        The number of a boot is the wall clock at its start, or more if the clock was put back meanwhile.
        """
        return min(boot, *(period.valid_from for period in self.periods if period.boot == boot))
