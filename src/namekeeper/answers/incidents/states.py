"""The outages of brokers and topics over all name servers of a cluster.

Gold's `broker_state` and `topic_state` have the same ones. A name server is a witness for a broker or a topic
from its first registration in a boot on, or at the latest some time after the start. A state needs a witness.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from namekeeper.answers.incidents.facts import NamesrvFacts, RegistrationPeriod, TopicPeriod
from namekeeper.common.expected import MEMORY_MS
from namekeeper.history.timeline import TimelinePeriod
from namekeeper.route.queries import SYNC_MEMBER_GROUP_PREFIX

__all__ = ["BrokerKey", "BrokerOutage", "TopicOutage", "broker_outages", "topic_outages"]


class BrokerKey(NamedTuple):
    """A broker, wherever it runs."""

    cluster: str
    broker_name: str
    broker_id: int


class BrokerOutage(Struct):
    """A period in which no witness had a broker."""

    key: BrokerKey
    since: int
    until: int
    is_unregistered: bool
    """Whether it asked for that."""
    is_last: bool
    """Whether the broker was not expected any more in the end."""


class TopicOutage(Struct):
    """A period in which a topic could not be written to though it was expected."""

    cluster: str
    topic: str
    since: int
    until: int


class _HeldPeriod(Struct):
    """A row at one name server, as far as this was up."""

    namesrv: str
    boot: int
    since: int
    until: int


class _StateDelta(Struct):
    """All changes of one instant, added up."""

    registered: int = 0
    writable: int = 0
    witnesses: int = 0
    expecting: int = 0
    ended: int = 0
    """The end of a registration; the last bit tells whether the broker unregistered."""


_Changes = dict[int, _StateDelta]


def broker_outages(every: Sequence[NamesrvFacts], horizon: int) -> list[BrokerOutage]:
    """The outages of all brokers, in order of the brokers."""
    witnesses = _Witnesses(every)
    held: dict[BrokerKey, list[tuple[_HeldPeriod, RegistrationPeriod]]] = defaultdict(list)
    for facts in every:
        for session in facts.sessions:
            for each in _while_up(facts, session.boot, session.valid_from, session.to):
                key = BrokerKey(session.cluster, session.broker_name, session.broker_id)
                held[key].append((each, session))
    found: list[BrokerOutage] = []
    for key in sorted(held):
        changes: _Changes = defaultdict(_StateDelta)
        for each, session in held[key]:
            unregistered = session.reason == "unregister_broker" and session.to <= each.until
            changes[each.since].registered += 1
            changes[each.until].registered -= 1
            changes[each.until].ended = max(changes[each.until].ended, 2 * each.until + unregistered)
            changes[each.since].expecting += 1
            changes[min(each.until + MEMORY_MS, horizon)].expecting -= 1
        witnesses.add(changes, key.cluster, (each for each, _ in held[key]))
        found += _outages_of(key, changes)
    return found


def topic_outages(
    every: Sequence[NamesrvFacts], cluster_of: Mapping[str, str], horizon: int
) -> list[TopicOutage]:
    """The outages of all topics, in order of the topics.

    Args:
        every: of all name servers.
        cluster_of: broker name -> cluster name.
        horizon: the last instant that is known, wall ms.
    """
    witnesses = _Witnesses(every)
    masters = {facts.namesrv: _masters(facts) for facts in every}
    held: dict[tuple[str, str], list[tuple[_HeldPeriod, TopicPeriod]]] = defaultdict(list)
    for facts in every:
        for period in facts.topics:
            cluster = cluster_of.get(period.broker_name)
            # Nobody writes to the topic by which the members of a broker name know each other.
            if cluster is not None and not period.topic.startswith(SYNC_MEMBER_GROUP_PREFIX):
                for each in _while_up(facts, None, period.valid_from, period.to):
                    held[cluster, period.topic].append((each, period))
    found: list[TopicOutage] = []
    for cluster, topic in sorted(held):
        of_topic = held[cluster, topic]
        changes: _Changes = defaultdict(_StateDelta)
        for each, period in of_topic:
            of_name = masters[each.namesrv].get(period.broker_name, ())
            _add_topic(changes, each, period, of_name, horizon)
        witnesses.add(changes, cluster, (each for each, _ in of_topic))
        islands = _islands(_states(changes, _topic_state))
        found += [TopicOutage(cluster, topic, since, until) for since, until, _ in islands]
    return found


def _add_topic(
    changes: _Changes,
    each: _HeldPeriod,
    period: TopicPeriod,
    masters: Sequence[tuple[int, int]],
    horizon: int,
) -> None:
    """Add the row of a topic on a broker name.

    Args:
        changes: of the topic.
        each: the row, while its name server was up.
        period: the same row.
        masters: when the broker name had a master there, in order.
        horizon: the last instant that is known, wall ms.
    """
    changes[each.since].registered += 1
    changes[each.until].registered -= 1
    changes[each.since].expecting += 1
    changes[_expected_until(each, period, horizon)].expecting -= 1
    if not period.is_writable:
        return
    for index in range(bisect_right(masters, each.since, key=itemgetter(1)), len(masters)):
        since, until = masters[index]
        if since >= each.until:
            return
        changes[max(since, each.since)].writable += 1
        changes[min(until, each.until)].writable -= 1


def _expected_until(each: _HeldPeriod, period: TopicPeriod, horizon: int) -> int:
    """A deleted topic is not expected any more; one whose brokers went is still expected for a while."""
    if period.ended_by in {"gone", "changed"} and period.reason is None:
        return each.until
    return min(each.until + MEMORY_MS, horizon)


def _while_up(facts: NamesrvFacts, boot: int | None, since: int, to: int) -> Iterator[_HeldPeriod]:
    """A period, as far as the name server was up; with a boot, in the period of its start alone."""
    for index in range(bisect_right(facts.up, since, key=_end_of), len(facts.up)):
        up = facts.up[index]
        assert up.until is not None
        if to <= up.since:
            return
        if boot is None:
            yield _HeldPeriod(facts.namesrv, up.boot, max(since, up.since), min(to, up.until))
        elif up.boot == boot and up.since <= since:
            yield _HeldPeriod(facts.namesrv, boot, since, min(to, up.until))
            return
        elif up.since > since:
            return


def _end_of(period: TimelinePeriod) -> int:
    assert period.until is not None
    return period.until


def _masters(facts: NamesrvFacts) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for session in facts.sessions:
        if session.broker_id == 0:
            for each in _while_up(facts, session.boot, session.valid_from, session.to):
                found[session.broker_name].append((each.since, each.until))
    return {name: [*_joined(periods)] for name, periods in found.items()}


class _Witnesses:
    """When each name server was a witness for a cluster: up, and it had seen a broker of it recently."""

    def __init__(self, every: Sequence[NamesrvFacts]) -> None:
        self._of: dict[str, list[tuple[_HeldPeriod, int]]] = defaultdict(list)
        """Cluster -> periods, each with the time of the latest first registration."""
        for facts in every:
            seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
            for session in facts.sessions:
                for each in _while_up(facts, session.boot, session.valid_from, session.to):
                    seen[session.cluster].append((each.since, each.until + MEMORY_MS))
            for cluster, periods in seen.items():
                for since, until in _joined(periods):
                    for each in _while_up(facts, None, since, until):
                        self._of[cluster].append((each, facts.witness_at_latest[each.boot]))

    def add(self, changes: _Changes, cluster: str, held: Iterable[_HeldPeriod]) -> None:
        """Add the witnesses for a broker or a topic that was held in some periods."""
        first: dict[tuple[str, int], int] = {}
        for each in held:
            key = each.namesrv, each.boot
            first[key] = min(each.since, first.get(key, each.since))
        for witness, latest in self._of.get(cluster, ()):
            since = max(witness.since, min(latest, first.get((witness.namesrv, witness.boot), latest)))
            if since < witness.until:
                changes[since].witnesses += 1
                changes[witness.until].witnesses -= 1


def _joined(periods: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Periods that overlap or touch, joined."""
    last: tuple[int, int] | None = None
    for since, until in sorted(periods):
        if last is None or since > last[1]:
            if last is not None:
                yield last
            last = since, until
        else:
            last = last[0], max(last[1], until)
    if last is not None:
        yield last


def _states(changes: _Changes, name: Callable[[_StateDelta], str]) -> Iterator[tuple[int, int, str]]:
    """The states while the subject is expected: since, until, name.

    Args:
        changes: of the subject, by time.
        name: names the state after some changes, all added up; empty: one that is not wanted.
    """
    sums = _StateDelta()
    for at, until in pairwise(sorted(changes)):
        change = changes[at]
        sums.registered += change.registered
        sums.writable += change.writable
        sums.witnesses += change.witnesses
        sums.expecting += change.expecting
        sums.ended = max(sums.ended, change.ended)
        if sums.expecting > 0:
            yield at, until, name(sums)


def _topic_state(sums: _StateDelta) -> str:
    is_lost = sums.writable <= 0 and (sums.registered > 0 or sums.witnesses > 0)
    return "lost" if is_lost else ""


def _broker_state(sums: _StateDelta) -> str:
    if sums.registered > 0:
        return "up"
    if sums.witnesses == 0:
        return "unknown"
    return "unregistered" if sums.ended % 2 else "down"


def _islands(states: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """States that follow each other, joined if they are equal; unnamed ones are left out."""
    last: tuple[int, int, str] | None = None
    for since, until, name in states:
        if last is not None and last[1:] == (since, name):
            last = last[0], until, name
            continue
        if last is not None and last[2]:
            yield last
        last = since, until, name
    if last is not None and last[2]:
        yield last


def _outages_of(key: BrokerKey, changes: _Changes) -> Iterator[BrokerOutage]:
    states = [*_islands(_states(changes, _broker_state))]
    for at, (since, until, name) in enumerate(states):
        if name in {"down", "unregistered"}:
            is_last = at + 1 == len(states) or states[at + 1][0] != until
            yield BrokerOutage(key, since, until, name == "unregistered", is_last)
