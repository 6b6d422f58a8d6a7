"""When a name server last confirmed each route, and what failed since."""

from msgspec import Struct

from namekeeper.client.name_servers import NamesrvStatus
from namekeeper.errors import NamekeeperError
from namekeeper.model.now import Now

__all__ = ["ClientStatus", "RouteFreshness", "TopicKnowledge"]


class TopicKnowledge(Struct, frozen=True):
    """How fresh a client's route of a topic is."""

    topic: str
    has_route: bool
    is_template: bool
    """The route is that of TBW102: the topic didn't exist when it was asked for."""
    age_ms: int | None
    """Milliseconds since a name server last confirmed the route; None: never."""
    confirmed_at: Now | None
    namesrv_addr: str | None
    """The name server that confirmed it."""
    absent_since: Now | None
    """Milliseconds for which name servers have said that there is no such topic; None if they say there
    is."""
    error: NamekeeperError | None
    """Why it could not be confirmed since; None after a success."""
    error_at: Now | None


class ClientStatus(Struct, frozen=True):
    """How fresh a client's routes are, and which name servers answer."""

    namesrvs: tuple[NamesrvStatus, ...]
    topics: int
    """Topics with a route."""
    oldest_age_ms: int | None
    """Age of the oldest confirmation of a route; None: there is no route."""
    absent_topics: int
    """Topics that name servers say don't exist."""
    cut_off_since: Now | None
    """Milliseconds for which no name server has answered; None if one does."""


class _TopicState(Struct):
    confirmed_at: Now | None = None
    namesrv_addr: str | None = None
    digest: bytes = b""
    is_template: bool = False
    absent_since: Now | None = None
    error: NamekeeperError | None = None
    error_at: Now | None = None


_UNKNOWN = _TopicState()


class RouteFreshness:
    """When each topic was confirmed, by which name server, and what failed; times are arguments."""

    def __init__(self) -> None:
        self._topics: dict[str, _TopicState] = {}
        self._cut_off: NamekeeperError | None = None
        self._cut_off_at: Now | None = None
        self._cut_off_since: Now | None = None

    def was_asked(self, topic: str) -> bool:
        """Whether a lookup of this topic ever ended."""
        return topic in self._topics

    def digest(self, topic: str) -> bytes:
        """Digest of the answer with the topic's route; empty without one, or if it is the template's."""
        return self._topics.get(topic, _UNKNOWN).digest

    def is_template(self, topic: str) -> bool:
        """Whether its route is that of TBW102."""
        return self._topics.get(topic, _UNKNOWN).is_template

    def is_absent(self, topic: str) -> bool:
        """Whether name servers say that there is no such topic."""
        return self._topics.get(topic, _UNKNOWN).absent_since is not None

    def is_new_failure(self, topic: str, error: NamekeeperError) -> bool:
        """Whether the last result of this topic was not the same error."""
        return str(self._topics.get(topic, _UNKNOWN).error) != str(error)

    def confirm(
        self, topic: str, now: Now, namesrv_addr: str, *, digest: bytes = b"", is_template: bool = False
    ) -> None:
        """Record that a name server gave the route that is in use."""
        state = self._state_of(topic)
        state.confirmed_at, state.namesrv_addr = now, namesrv_addr
        state.digest, state.is_template = digest, is_template
        state.absent_since = state.error = state.error_at = None
        self._answered()

    def absent(self, topic: str, now: Now) -> None:
        """Record that all name servers that answered say there is no such topic."""
        state = self._state_of(topic)
        if state.absent_since is None:
            state.absent_since = now
        state.error = state.error_at = None
        self._answered()

    def failed(self, topic: str, now: Now, error: NamekeeperError) -> None:
        """Record that there was no usable answer."""
        state = self._state_of(topic)
        state.error, state.error_at = error, now

    def cut_off(self, now: Now, error: NamekeeperError) -> None:
        """Record that no name server answered."""
        self._cut_off, self._cut_off_at = error, now
        if self._cut_off_since is None:
            self._cut_off_since = now

    def of(self, topic: str, now: Now, *, has_route: bool) -> TopicKnowledge:
        """Return the freshness of a topic's route."""
        state = self._topics.get(topic, _UNKNOWN)
        confirmed_at = state.confirmed_at
        error, error_at = state.error, state.error_at
        if error is None and self._cut_off_at is not None and _is_later(self._cut_off_at, confirmed_at):
            error, error_at = self._cut_off, self._cut_off_at
        return TopicKnowledge(
            topic=topic,
            has_route=has_route,
            is_template=state.is_template,
            age_ms=None if confirmed_at is None else now.mono_ms - confirmed_at.mono_ms,
            confirmed_at=confirmed_at,
            namesrv_addr=state.namesrv_addr,
            absent_since=state.absent_since,
            error=error,
            error_at=error_at,
        )

    def over_all(self, now: Now, namesrvs: tuple[NamesrvStatus, ...], *, topics: int) -> ClientStatus:
        """Return the freshness of all routes together."""
        oldest = min(
            (state.confirmed_at.mono_ms for state in self._topics.values() if state.confirmed_at is not None),
            default=None,
        )
        return ClientStatus(
            namesrvs=namesrvs,
            topics=topics,
            oldest_age_ms=None if oldest is None else now.mono_ms - oldest,
            absent_topics=sum(state.absent_since is not None for state in self._topics.values()),
            cut_off_since=self._cut_off_since,
        )

    def _state_of(self, topic: str) -> _TopicState:
        return self._topics.setdefault(topic, _TopicState())

    def _answered(self) -> None:
        self._cut_off_since = None


def _is_later(at: Now, than: Now | None) -> bool:
    return than is None or at.mono_ms > than.mono_ms
