"""Compares the history of one name server with the expected state: what deviates there, and since when.

A name server whose state is not known deviates in nothing. Soon after its start it does not miss a broker
that has not registered since. A broker that is missing has no deviations of its topics.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from namekeeper.answers.incidents.deviation import DeviationKind
from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.common.writable import is_writable
from namekeeper.drift.witness import Witness
from namekeeper.expected.state import ExpectedCluster, ExpectedQueues, ExpectedState
from namekeeper.history.history import History
from namekeeper.history.rows import AnyKey, GroupKey, HistoryEvent, KvKey, TopicKey, What
from namekeeper.journal.contract.record import BrokerGroup, TopicQueuesRow
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.model.broker import MASTER_ID

__all__ = ["DeviationPeriod", "DeviationValue", "NamesrvComparison"]

_FOREVER = 2**63
_Span = tuple[int, int]
"""From a time to another one, which is not included, wall ms."""


class DeviationValue(NamedTuple):
    """A deviation from one cluster, without its time."""

    kind: DeviationKind
    topic: str | None
    broker: str
    """Empty: a topic as a whole."""
    expected: str
    actual: str


class DeviationPeriod(NamedTuple):
    """A deviation at one name server, and when."""

    what: DeviationValue
    namesrv: str
    since: int
    to: int
    """Wall ms, not included."""
    event: HistoryEvent | None
    """The change by which it began."""
    is_since_known: bool


class NamesrvComparison:
    """One name server, as it is compared with what is expected of it.

    Args:
        history: of all its rows.
        expected: what must be there.
        end: the last instant that counts, wall ms.
        settled_ms: a deviation counts after this time.
    """

    def __init__(self, history: History, expected: ExpectedState, end: int, settled_ms: int) -> None:
        self.history, self.end = history, end
        self.witness = Witness(history, end)
        self._settled_ms = settled_ms
        self._expected_names = {
            name: cluster
            for cluster in expected.clusters
            if history.namesrv in cluster.name_servers
            for name in cluster.brokers
        }
        """Broker name -> the cluster that expects it here."""
        self._names = {each.name for each in expected.clusters if history.namesrv in each.name_servers}
        self._known: list[_Span] = []
        """The periods that count; the last one goes on if its state is known at the end."""
        self._present: dict[str, list[_Span]] = {}
        for begin, to in self.witness.known:
            since = max(begin, expected.since)
            is_last = to > end or (to == end and self.witness.has_rows_now)
            if since <= end and (since < to or is_last):
                self._known.append((since, _FOREVER if is_last else to))

    def periods(self, cluster: ExpectedCluster) -> Iterator[DeviationPeriod]:
        """The deviations from one cluster."""
        if not self._known:
            return
        for name in cluster.brokers:
            yield from self._of_broker(cluster, name)
        yield from self._other_brokers(cluster)
        yield from self._of_topics(cluster)
        for topic in cluster.topics:
            yield from self._of_order(cluster, topic)
        for topic, least in cluster.writable.items():
            yield from self._of_writable(cluster, topic, least)

    def is_settled(self, period: DeviationPeriod) -> bool:
        """Whether a deviation lasted for longer than a change is on its way."""
        key: type[AnyKey] = GroupKey
        if period.what.topic is not None:
            key = KvKey if period.what.kind is DeviationKind.ORDER_CHANGED else TopicKey
        least_ms = max(self._settled_ms, self.witness.delay_ms(key))
        return not period.is_since_known or min(period.to, self.end) - period.since >= least_ms

    def _of_broker(self, cluster: ExpectedCluster, name: str) -> Iterator[DeviationPeriod]:
        key = GroupKey(name)
        starts = [boot.since for boot in self.witness.history.coverage.boots]
        graces = [(since, since + WITNESS_AFTER_MS) for since in starts]
        times = {time for span in (*self._known, *graces) for time in span}
        times |= {time for time, _ in self.history.changes_of(key)}
        heard: set[int] = set()
        """Ids that were there since the last start."""
        states: list[tuple[int, DeviationValue | None]] = []
        for time in sorted(time for time in times if time <= self.end):
            if time in starts:
                heard = set()
            row = self.history.row_at(key, time) if self._knows(time) else None
            heard |= set() if row is None else set(row.broker_addrs)
            is_early = any(since <= time < until for since, until in graces)
            states.append((time, self._broker_at(cluster, name, row, heard if is_early else None, time)))
        yield from self._joined(states, key)

    def _broker_at(
        self, cluster: ExpectedCluster, name: str, row: BrokerGroup | None, heard: set[int] | None, time: int
    ) -> DeviationValue | None:
        """The deviation of a broker name at a time; None: there is none.

        Args:
            cluster: that expects it.
            name: the broker name.
            row: of the time.
            heard: soon after a start the ids since then: others can't be missing. None: any can be.
            time: wall ms.
        """
        if not self._knows(time):
            return None
        if row is not None and row.broker_addrs and row.cluster != cluster.name:
            return DeviationValue(DeviationKind.WRONG_CLUSTER, None, name, cluster.name, row.cluster)
        wanted, there = cluster.brokers[name], set() if row is None else set(row.broker_addrs)
        missing = {each for each in wanted - there if heard is None or each in heard}
        others = there - wanted
        if not missing and not others:
            return None
        if not there:
            kind = DeviationKind.BROKER_MISSING
        elif missing and others:
            kind = DeviationKind.MEMBERS_CHANGED
        else:
            kind = DeviationKind.MEMBER_MISSING if missing else DeviationKind.MEMBER_UNEXPECTED
        return DeviationValue(kind, None, name, _ids(wanted), _ids(there))

    def _other_brokers(self, cluster: ExpectedCluster) -> Iterator[DeviationPeriod]:
        """The brokers that nobody expects, of this cluster; the first one has those of unknown clusters."""
        for key in self.history.keys(GroupKey):
            if key.broker_name in self._expected_names:
                continue
            for version in self.history.versions(key):
                row = version.row
                is_own = row.cluster == cluster.name or (
                    row.cluster not in self._names and cluster.name == min(self._names)
                )
                if is_own and not cluster.allow_other_brokers and row.broker_addrs:
                    actual = f"{_ids(row.broker_addrs)}"
                    what = DeviationValue(DeviationKind.BROKER_UNEXPECTED, None, key.broker_name, "", actual)
                    yield from self._within(
                        what, key, (version.valid_from, _end(version.valid_to)), self._known
                    )

    def _of_topics(self, cluster: ExpectedCluster) -> Iterator[DeviationPeriod]:
        there = 0
        for key in self.history.keys(TopicKey):
            if self._expected_names.get(key.broker_name) is not cluster:
                continue
            queues = cluster.topics.get(key.topic, {}).get(key.broker_name)
            if queues is None:
                yield from self._other_topic(cluster, key)
                continue
            there += 1
            if not self._was_always_so(key, queues):
                yield from self._of_topic(key, queues)
        if there < sum(map(len, cluster.topics.values())):
            yield from self._of_new_topics(cluster)

    def _of_new_topics(self, cluster: ExpectedCluster) -> Iterator[DeviationPeriod]:
        """Topics that were never there."""
        for topic, rows in cluster.topics.items():
            for name, queues in rows.items():
                key = TopicKey(topic, name)
                if not self.history.versions(key):
                    yield from self._of_topic(key, queues)

    def _was_always_so(self, key: TopicKey, queues: ExpectedQueues) -> bool:
        """Whether a topic was as expected whenever its broker was there: the usual case, and quick."""
        versions, present = self.history.versions(key), self._when_present(key.broker_name)
        return len(versions) == len(present) and all(
            _difference(queues, version.row) is None
            and version.valid_from <= since
            and _end(version.valid_to) >= to
            for version, (since, to) in zip(versions, present, strict=True)
        )

    def _of_topic(self, key: TopicKey, queues: ExpectedQueues) -> Iterator[DeviationPeriod]:
        present = self._when_present(key.broker_name)
        if not present:
            return

        def missing(span: _Span) -> Iterator[DeviationPeriod]:
            what = DeviationValue(DeviationKind.TOPIC_MISSING, key.topic, key.broker_name, queues.text, "")
            return self._within(what, key, span, present)

        last = 0
        for version in self.history.versions(key):
            if last < version.valid_from:
                yield from missing((last, version.valid_from))
            last = _end(version.valid_to)
            kind = _difference(queues, version.row)
            if kind is not None:
                text = ExpectedQueues.of(version.row).text
                what = DeviationValue(kind, key.topic, key.broker_name, queues.text, text)
                yield from self._within(what, key, (version.valid_from, last), present)
        if last < _FOREVER:
            yield from missing((last, _FOREVER))

    def _other_topic(self, cluster: ExpectedCluster, key: TopicKey) -> Iterator[DeviationPeriod]:
        if cluster.allow_other_topics or (
            key.topic not in cluster.topics
            and (key.topic in cluster.writable or cluster.is_system_topic(key.topic))
        ):
            return
        for version in self.history.versions(key):
            text = ExpectedQueues.of(version.row).text
            what = DeviationValue(DeviationKind.TOPIC_UNEXPECTED, key.topic, key.broker_name, "", text)
            span = version.valid_from, _end(version.valid_to)
            yield from self._within(what, key, span, self._when_present(key.broker_name))

    def _of_order(self, cluster: ExpectedCluster, topic: str) -> Iterator[DeviationPeriod]:
        key = KvKey(ORDER_TOPIC_CONFIG, topic)
        wanted = cluster.orders.get(topic)
        if wanted is None and not self.history.versions(key):
            return
        times = {time for span in self._known for time in span} | {
            time for time, _ in self.history.changes_of(key)
        }
        states: list[tuple[int, DeviationValue | None]] = []
        for time in sorted(time for time in times if time <= self.end):
            what = None
            if self._knows(time) and self.witness.can_tell_kv(ORDER_TOPIC_CONFIG, time):
                row = self.history.row_at(key, time)
                value = None if row is None else row.value
                if value != wanted:
                    what = DeviationValue(DeviationKind.ORDER_CHANGED, topic, "", wanted or "", value or "")
            states.append((time, what))
        yield from self._joined(states, key)

    def _of_writable(self, cluster: ExpectedCluster, topic: str, least: int) -> Iterator[DeviationPeriod]:
        """The times in which a topic had too few queues to write to, over all brokers."""
        keys: dict[int, AnyKey] = {}
        states: list[tuple[int, DeviationValue | None]] = []
        edges = [time for span in self._known for time in span if time <= self.end]
        for time, count, key in _writable_counts(self.history, cluster.name, topic, edges, self.end):
            keys[time] = key
            what = DeviationValue(DeviationKind.TOO_FEW_QUEUES, topic, "", str(least), str(count))
            states.append((time, what if count < least and self._knows(time) else None))
        for each in self._joined(states, GroupKey("")):
            yield self._period(each.what, keys[each.since], each.since, each.to)

    def _when_present(self, name: str) -> list[_Span]:
        """The periods in which a broker name has members."""
        found = self._present.get(name)
        if found is None:
            versions = self.history.versions(GroupKey(name))
            spans = ((each.valid_from, _end(each.valid_to)) for each in versions if each.row.broker_addrs)
            within = (each for span in spans for each in _intersections(span, self._known))
            found = self._present[name] = list(_touching(within))
        return found

    def _within(
        self, what: DeviationValue, key: AnyKey, span: _Span, periods: Sequence[_Span]
    ) -> Iterator[DeviationPeriod]:
        """A deviation, as far as it can be told."""
        for since, to in _intersections(span, periods):
            yield self._period(what, key, since, to)

    def _joined(
        self, states: Sequence[tuple[int, DeviationValue | None]], key: AnyKey
    ) -> Iterator[DeviationPeriod]:
        """States that follow each other: those of one kind are one deviation, with the last values."""
        begun = 0
        last: DeviationValue | None = None
        for time, what in states:
            if last is not None and (what is None or what.kind is not last.kind):
                yield self._period(last, key, begun, time)
            if last is None or (what is not None and what.kind is not last.kind):
                begun = time
            last = what
        if last is not None:
            yield self._period(last, key, begun, _FOREVER)

    def _period(self, what: DeviationValue, key: AnyKey, since: int, to: int) -> DeviationPeriod:
        events = (
            event
            for version in self.history.all_versions(key)
            for event in (version.begun, version.ended)
            if event is not None and event.at == since and event.what is What.CHANGE
        )
        is_known = all(since != start for start, _ in self._known)
        return DeviationPeriod(what, self.history.namesrv, since, to, next(events, None), is_known)

    def _knows(self, time: int) -> bool:
        index = bisect_right(self._known, time, key=_since) - 1
        return index >= 0 and time < self._known[index][1]


def _difference(queues: ExpectedQueues, row: TopicQueuesRow) -> DeviationKind | None:
    if (row.read_queue_nums, row.write_queue_nums) != (queues.read, queues.write):
        return DeviationKind.QUEUES_CHANGED
    return None if row.perm == queues.perm else DeviationKind.PERMISSION_CHANGED


def _intersections(span: _Span, periods: Sequence[_Span]) -> Iterator[_Span]:
    """The parts of a span in periods, which are in order."""
    for index in range(max(bisect_right(periods, span[0], key=_since) - 1, 0), len(periods)):
        since, to = periods[index]
        if since >= span[1]:
            return
        if max(since, span[0]) < min(to, span[1]):
            yield max(since, span[0]), min(to, span[1])


def _touching(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Spans in order; those that touch are one."""
    last: _Span | None = None
    for since, to in spans:
        if last is not None and since <= last[1]:
            last = last[0], max(to, last[1])
            continue
        if last is not None:
            yield last
        last = since, to
    if last is not None:
        yield last


def _since(span: _Span) -> int:
    return span[0]


def _end(valid_to: int | None) -> int:
    return _FOREVER if valid_to is None else valid_to


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def _writable_counts(
    history: History, cluster: str, topic: str, edges: Iterable[int], end: int
) -> Iterator[tuple[int, int, AnyKey]]:
    """The numbers in order of time: wall ms, queues, and the key of a row that changed then.

    Where none did, the key is that of no row.

    Args:
        history: of one name server.
        cluster: RocketMQ's cluster name: brokers of another one do not count.
        topic: its name.
        edges: further times at which the number is wanted, wall ms.
        end: the last one that counts, wall ms.
    """
    rows = [key for key in history.keys_of_topic(topic) if isinstance(key, TopicKey)]
    changed: dict[int, AnyKey] = dict.fromkeys(edges, GroupKey(""))
    for row in rows:
        for key in (GroupKey(row.broker_name), row):
            changed.update((time, key) for time, _ in history.changes_of(key) if time <= end)
    for time in sorted(changed):
        yield time, sum(_count(history, cluster, row, time) for row in rows), changed[time]


def _count(history: History, cluster: str, key: TopicKey, time: int) -> int:
    group = history.row_at(GroupKey(key.broker_name), time)
    row = history.row_at(key, time)
    if group is None or row is None or group.cluster != cluster:
        return 0
    has_master = MASTER_ID in group.broker_addrs
    return row.write_queue_nums if is_writable(row.perm, row.write_queue_nums, has_master=has_master) else 0
