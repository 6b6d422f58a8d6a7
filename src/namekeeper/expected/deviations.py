"""Compares the histories of name servers with the expected state: what deviates, where, and since when.

Equal deviations of several name servers are one, and so are those of a topic on several broker names.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from namekeeper.answers.incidents.deviation import Deviation, DeviationKind
from namekeeper.common.expected import SHORTEST_DRIFT_MS, TOGETHER_MS
from namekeeper.expected.namesrv_comparison import DeviationPeriod, DeviationValue, NamesrvComparison
from namekeeper.expected.state import ExpectedCluster, ExpectedState
from namekeeper.history.history import History

__all__ = ["Deviations", "deviations"]

_T = TypeVar("_T")


class Deviations(Struct, frozen=True):
    """The deviations of all name servers, and the name servers about which nothing can be said."""

    found: Sequence[Deviation]
    """In order of cluster, kind and names."""
    unsettled: int
    """Deviations that last, but not for long enough: perhaps a change is on its way."""
    unknown: Sequence[str]
    """Expected name servers whose state is not known at the end, sorted."""

    @property
    def present(self) -> list[Deviation]:
        """The deviations that last."""
        return [each for each in self.found if each.to is None]


def deviations(
    expected: ExpectedState,
    histories: Iterable[History],
    ends: Mapping[str, int],
    settled_ms: int = SHORTEST_DRIFT_MS,
) -> Deviations:
    """Find what deviates, from the start of the expected state or of a history on.

    Args:
        expected: what must be there.
        histories: of name servers, about every name.
        ends: name server -> the last instant that counts, wall ms.
        settled_ms: a deviation counts after this time: brokers tell one name server after the other. At a
            name server that is observed it is at least the time in which an observer sees a change.
    """
    of_each = {history.namesrv: history for history in histories}
    found: list[Deviation] = []
    unsettled = 0
    unknown: set[str] = set()
    for cluster in expected.clusters:
        periods: list[DeviationPeriod] = []
        for namesrv in cluster.name_servers:
            history, end = of_each.get(namesrv), ends.get(namesrv)
            own = (
                None
                if history is None or end is None
                else NamesrvComparison(history, expected, end, settled_ms)
            )
            if own is None or not own.witness.has_rows_now:
                unknown.add(namesrv)
            if own is not None:
                for period in own.periods(cluster):
                    if own.is_settled(period):
                        periods.append(period)
                    else:
                        unsettled += period.to > own.end
        found += _merged(cluster, periods, ends)
    return Deviations(sorted(found, key=_in_order), unsettled, sorted(unknown))


def _merged(
    cluster: ExpectedCluster, periods: Iterable[DeviationPeriod], ends: Mapping[str, int]
) -> list[Deviation]:
    """Equal deviations of the name servers of a cluster, and of a topic on several broker names, as one."""
    of_what: dict[tuple[DeviationValue, bool], list[DeviationPeriod]] = defaultdict(list)
    for each in periods:
        is_open = each.to > ends[each.namesrv]
        of_what[each.what, is_open].append(each)
    at_namesrvs = [
        _deviation(cluster, group, is_open=is_open)
        for (_, is_open), some in of_what.items()
        for group in ([some] if is_open else _begun_close(some, lambda each: each.since))
    ]
    of_topic: dict[tuple[object, ...], list[Deviation]] = defaultdict(list)
    for one in at_namesrvs:
        alone = one.subject if one.topic is None or not one.brokers else ""
        of_topic[
            one.kind, one.topic, alone, one.expected, one.actual, one.name_servers, one.to is None
        ].append(one)
    return [
        _of_brokers(group)
        for some in of_topic.values()
        for group in ([some] if some[0].to is None else _begun_close(some, lambda each: each.since))
    ]


def _begun_close(some: Iterable[_T], since_of: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Periods or deviations that began soon after each other, each group in order of time."""
    group: list[_T] = []
    for each in sorted(some, key=since_of):
        if group and since_of(each) - since_of(group[-1]) > TOGETHER_MS:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _deviation(cluster: ExpectedCluster, some: Sequence[DeviationPeriod], *, is_open: bool) -> Deviation:
    first = min(some, key=lambda each: each.since)
    what = first.what
    return Deviation(
        kind=what.kind,
        cluster=cluster.name,
        topic=what.topic,
        brokers=(what.broker,) if what.broker else (),
        expected=what.expected,
        actual=what.actual,
        name_servers=tuple(sorted({each.namesrv for each in some})),
        of_name_servers=len(cluster.name_servers),
        since=first.since,
        to=None if is_open else max(each.to for each in some),
        window_ms=0 if first.event is None else first.event.window_ms,
        is_since_known=first.is_since_known,
        cause=None if first.event is None else first.event.cause or None,
        peer=None if first.event is None else first.event.peer or None,
        closed_by=None if first.event is None else first.event.closed_by or None,
    )


def _of_brokers(some: Sequence[Deviation]) -> Deviation:
    first = min(some, key=lambda each: each.since)
    ends = [each.to for each in some if each.to is not None]
    brokers = tuple(sorted({name for each in some for name in each.brokers}))
    return structs.replace(first, brokers=brokers, to=max(ends) if ends else None)


def _in_order(one: Deviation) -> tuple[object, ...]:
    return (
        one.cluster,
        list(DeviationKind).index(one.kind),
        one.subject,
        one.brokers,
        one.since,
        one.name_servers,
    )
