"""What is known of a topic at one name server: rows with the time for which they held, whoever asks.

Built from a journal (`from_journal.py`) or taken from the tables of the pipeline (`from_rows.py`), whose
columns have these very names. Times are wall ms and effective; `valid_to` is not included, None is open.
"""

from msgspec import Struct

__all__ = ["BrokerSession", "Evidence", "Held", "KnownPeriod", "Lookups", "TopicRoute"]


class Held(Struct, frozen=True, kw_only=True):
    """A row and the time for which it held."""

    valid_from: int
    valid_to: int | None = None
    from_cause: str | None = None
    """Request or rule that made it so; None: a checkpoint found it so."""
    from_peer: str | None = None
    ended_by: str | None = None
    """gone, changed, checkpoint (it was not named), unknown (records were lost), stopped; None: open."""
    to_cause: str | None = None
    to_peer: str | None = None

    def holds(self, at: int) -> bool:
        """Whether it held at an instant."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def has_ended(self, at: int) -> bool:
        """Whether it was over by then."""
        return self.valid_to is not None and self.valid_to <= at


class TopicRoute(Held, frozen=True, kw_only=True):
    """The queues of the topic on one broker name, as in effect."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0
    reason: str | None = None
    """broker_name_removed if it went with its broker name."""


class BrokerSession(Held, frozen=True, kw_only=True):
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
    """If gone: since it was last refreshed."""


class KnownPeriod(Struct, frozen=True, kw_only=True):
    """A period of time in which the same is known of a name server; before the first nothing is."""

    valid_from: int
    valid_to: int | None = None
    state: str
    """up, unknown or stopped."""
    boot: int | None = None
    """If up."""


class Lookups(Struct, frozen=True, kw_only=True):
    """Look-ups of the topic that found no route, in one minute."""

    minute: int
    language: str | None = None
    client_version: int | None = None
    count: int


class Evidence(Struct, frozen=True, kw_only=True):
    """What one name server's records say of one topic."""

    namesrv: str
    topic: str
    looked_from: int | None
    """From when on records were looked at; None if there is no complete checkpoint among them."""
    knows_up_to: int | None
    """Time of the last record."""
    periods: list[KnownPeriod]
    routes: list[TopicRoute]
    sessions: list[BrokerSession]
    """Of all brokers."""
    lookups: list[Lookups]

    def period_at(self, at: int) -> KnownPeriod | None:
        """What is known of an instant; None before the first complete checkpoint."""
        return next(
            (
                period
                for period in self.periods
                if period.valid_from <= at and (period.valid_to is None or at < period.valid_to)
            ),
            None,
        )

    def routes_at(self, at: int) -> list[TopicRoute]:
        """Rows that held at an instant."""
        return [route for route in self.routes if route.holds(at)]

    def sessions_at(self, at: int) -> list[BrokerSession]:
        """Registrations that were live at an instant."""
        return [session for session in self.sessions if session.holds(at)]

    def began(self, boot: int) -> int:
        """When a boot began, as far as is known."""
        return min(period.valid_from for period in self.periods if period.boot == boot)
