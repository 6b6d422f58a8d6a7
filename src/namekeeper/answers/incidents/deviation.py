"""Deviations: what a name server has otherwise than the expected state says, and how people read it."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct, structs

from namekeeper.common.counts import shown_count

__all__ = ["Deviation", "DeviationKind", "deviation_text", "with_names"]

NAMES_SHOWN = 3
"""Names in a text; the others are counted."""


class DeviationKind(StrEnum):
    """The ways in which a name server deviates; column `cause` of an incident that is a deviation."""

    BROKER_MISSING = "broker_missing"
    MEMBER_MISSING = "member_missing"
    MEMBER_UNEXPECTED = "member_unexpected"
    MEMBERS_CHANGED = "members_changed"
    WRONG_CLUSTER = "wrong_cluster"
    BROKER_UNEXPECTED = "broker_unexpected"
    TOPIC_MISSING = "topic_missing"
    TOPIC_UNEXPECTED = "topic_unexpected"
    QUEUES_CHANGED = "queues_changed"
    PERMISSION_CHANGED = "permission_changed"
    ORDER_CHANGED = "order_changed"
    TOO_FEW_QUEUES = "too_few_queues"


class Deviation(Struct, frozen=True, kw_only=True):
    """One broker or topic that is not as expected, in one way."""

    kind: DeviationKind
    cluster: str
    topic: str | None
    """None: it is about a broker."""
    brokers: tuple[str, ...]
    """The broker names that it is about, sorted; empty: a topic as a whole."""
    expected: str
    """Ids of members, queues and permission, a cluster, or an order configuration; empty: nothing."""
    actual: str
    """The present value of the same; empty: nothing."""
    name_servers: tuple[str, ...]
    """The name servers that deviate so, sorted."""
    of_name_servers: int
    """How many name servers the cluster is expected at."""
    since: int
    """Wall ms."""
    to: int | None
    """Wall ms; None: it lasts."""
    window_ms: int = 0
    """The deviation began up to this long before `since`, as an observer recorded it; 0: exactly then."""
    is_since_known: bool = True
    """False: it may have begun before."""
    cause: str | None = None
    """The cause of the change by which it began, as for other incidents; None: not known."""
    peer: str | None = None
    """The peer that asked for that change."""
    closed_by: str | None = None
    """For a closed connection, why it closed."""
    planned: str = ""
    """Ids of the maintenance windows that it is a part of; empty: it is not planned."""

    @property
    def subject(self) -> str:
        """The topic, or the broker name."""
        return self.brokers[0] if self.topic is None else self.topic


def with_names(one: Deviation, show: Callable[[str], str]) -> Deviation:
    """A deviation with other names.

    Args:
        one: the deviation.
        show: makes a name from the network harmless.
    """
    has_names = one.kind in {DeviationKind.ORDER_CHANGED, DeviationKind.WRONG_CLUSTER}
    return structs.replace(
        one,
        cluster=show(one.cluster),
        topic=None if one.topic is None else show(one.topic),
        brokers=tuple(map(show, one.brokers)),
        expected=show(one.expected) if has_names else one.expected,
        actual=show(one.actual) if has_names else one.actual,
        name_servers=tuple(map(show, one.name_servers)),
    )


def deviation_text(one: Deviation) -> str:
    """The subject, what it is and should be, and where."""
    text = _TEXTS[one.kind](one)
    if len(one.name_servers) == one.of_name_servers:
        return text
    count = f"{len(one.name_servers)} of {shown_count(one.of_name_servers, 'name server')}"
    return f"{text}, at {_some(one.name_servers)} ({count})"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{', '.join(names[:NAMES_SHOWN])}{more}"


def _broker(one: Deviation) -> str:
    return f"broker {_some(one.brokers)}"


def _topic(one: Deviation) -> str:
    return f"topic {one.topic} on {_some(one.brokers)}"


def _instead(one: Deviation) -> str:
    return f"{one.actual or 'none'} instead of {one.expected or 'none'}"


_TEXTS: Mapping[DeviationKind, Callable[[Deviation], str]] = {
    DeviationKind.BROKER_MISSING: lambda one: f"{_broker(one)} is missing: expected with id {one.expected}",
    DeviationKind.MEMBER_MISSING: lambda one: f"{_broker(one)} lacks a member: id {_instead(one)}",
    DeviationKind.MEMBER_UNEXPECTED: lambda one: (
        f"{_broker(one)} has an unexpected member: id {_instead(one)}"
    ),
    DeviationKind.MEMBERS_CHANGED: lambda one: f"{_broker(one)} has other members: id {_instead(one)}",
    DeviationKind.WRONG_CLUSTER: lambda one: f"{_broker(one)} is in cluster {_instead(one)}",
    DeviationKind.BROKER_UNEXPECTED: lambda one: f"{_broker(one)} is not expected: it has id {one.actual}",
    DeviationKind.TOPIC_MISSING: lambda one: f"{_topic(one)} is missing: expected {one.expected}",
    DeviationKind.TOPIC_UNEXPECTED: lambda one: f"{_topic(one)} is not expected: {one.actual}",
    DeviationKind.QUEUES_CHANGED: lambda one: f"{_topic(one)} has {_instead(one)}",
    DeviationKind.PERMISSION_CHANGED: lambda one: f"{_topic(one)} has the permission {_instead(one)}",
    DeviationKind.ORDER_CHANGED: lambda one: f"order configuration of topic {one.topic} is {_instead(one)}",
    DeviationKind.TOO_FEW_QUEUES: lambda one: (
        f"topic {one.topic} has {one.actual} queues to write to instead of at least {one.expected}"
    ),
}
