"""The rows of one name server as far as its state was known: what incidents are computed from.

They are the rows of gold's tables `broker_session`, `topic_route` and `broker_group_history`.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from namekeeper.answers.evidence import (
    BrokerSession,
    TopicRoute,
    route_values,
    session_of,
    session_values,
)
from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.common.writable import is_writable
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, LiveKey, TopicKey, ValidPeriod
from namekeeper.history.timeline import PeriodState, TimelinePeriod
from namekeeper.journal.contract.activity import UnknownTopicMinute

__all__ = ["NamesrvFacts", "RegistrationPeriod", "TopicPeriod", "facts_of"]


class RegistrationPeriod(BrokerSession, frozen=True, kw_only=True):
    """A live registration at a name server."""

    namesrv: str


class TopicPeriod(TopicRoute, frozen=True, kw_only=True):
    """The queues of a topic on a broker name at a name server."""

    namesrv: str
    topic: str

    @property
    def is_writable(self) -> bool:
        """Whether it can be written to, if there is a master."""
        return is_writable(self.perm, self.write_queue_nums, has_master=True)


class NamesrvFacts(Struct):
    """The rows of one name server, and its periods."""

    namesrv: str
    up_to: int
    """The last instant that is known, wall ms."""
    timeline: Sequence[TimelinePeriod]
    up: Sequence[TimelinePeriod]
    """The periods in which it was up and its state known, in order, as far as is known."""
    sessions: Sequence[RegistrationPeriod]
    topics: Sequence[TopicPeriod]
    groups: Sequence[tuple[str, str, int]]
    """Broker name, cluster, and since when, wall ms."""
    minutes: Sequence[UnknownTopicMinute]
    witness_at_latest: dict[int, int]
    """Boot -> when it has heard every live broker, wall ms."""


def facts_of(
    history: History, topics: Collection[str] | None = None, up_to: int | None = None
) -> NamesrvFacts | None:
    """The facts of a name server; None: nothing is known.

    Args:
        history: of the name server.
        topics: those whose rows are needed; None: all.
        up_to: the last instant that counts, wall ms; None: the last that is known.
    """
    up_to = history.knows_up_to if up_to is None else up_to
    timeline = history.timeline.periods(at_checkpoints=True)
    if up_to is None or not timeline:
        return None
    wanted = history.topics() if topics is None else topics
    of_topics = (key for topic in wanted for key in history.keys_of_topic(topic) if isinstance(key, TopicKey))
    sessions = [
        RegistrationPeriod(namesrv=history.namesrv, **session_values(period))
        for _, period in history.value_periods(history.keys(LiveKey), session_of)
    ]
    rows = [
        TopicPeriod(namesrv=history.namesrv, topic=key.topic, **route_values(key, period))
        for key, period in history.value_periods(of_topics, _row_of)
    ]
    groups = [
        (key.broker_name, period.row.cluster, period.since.at)
        for key, period in history.value_periods(history.keys(GroupKey), _row_of)
    ]
    return NamesrvFacts(
        history.namesrv,
        up_to,
        timeline,
        [*_up(timeline, up_to)],
        sessions,
        rows,
        groups,
        [each for each in history.activity if isinstance(each, UnknownTopicMinute)],
        {boot.boot: boot.since + WITNESS_AFTER_MS for boot in history.coverage.boots},
    )


def _up(timeline: Sequence[TimelinePeriod], up_to: int) -> Iterator[TimelinePeriod]:
    for period in timeline:
        if period.state is PeriodState.UP and period.since < up_to:
            until = up_to if period.until is None else min(period.until, up_to)
            yield structs.replace(period, until=until)


def _row_of(period: ValidPeriod[Any]) -> object:
    return period.row
