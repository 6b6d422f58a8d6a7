"""The expected state: clusters, the name servers that must know them, brokers with their members, topics."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from namekeeper.drift.compared import compared
from namekeeper.drift.witness import Witness
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, KvKey, TopicKey
from namekeeper.journal.contract.record import TopicQueuesRow
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.model.perm import format_perm
from namekeeper.model.topic import DEFAULT_TOPIC
from namekeeper.topic_name import NOT_ALLOWED_SEND_TOPICS

__all__ = ["ExpectedCluster", "ExpectedQueues", "ExpectedState", "Learned", "is_system_topic", "learn"]

K = TypeVar("K", str, tuple[str, str])
V = TypeVar("V")

_SYSTEM_TOPICS = NOT_ALLOWED_SEND_TOPICS | {DEFAULT_TOPIC, "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC"}
_SYSTEM_PREFIX = "rmq_sys_"
_GROUP_PREFIXES = ("%RETRY%", "%DLQ%")
"""Topics of consumer groups: a broker makes them when a group appears, or when it gives a message up."""
_REPLY_SUFFIX = "_REPLY_TOPIC"


class ExpectedQueues(Struct, frozen=True):
    """Queues and permission of a topic on one broker name."""

    read: int
    write: int
    perm: int

    @property
    def text(self) -> str:
        """As in `8/8 RW-`."""
        return f"{self.read}/{self.write} {format_perm(self.perm)}"

    @classmethod
    def of(cls, row: TopicQueuesRow) -> "ExpectedQueues":
        """Queues and permission of a row."""
        return cls(row.read_queue_nums, row.write_queue_nums, row.perm)


class ExpectedCluster(Struct, frozen=True, kw_only=True):
    """The expected state of one cluster."""

    name: str
    name_servers: tuple[str, ...]
    """Ids of the name servers that each broker must register with."""
    brokers: Mapping[str, frozenset[int]]
    """Broker name -> ids of its members."""
    topics: Mapping[str, Mapping[str, ExpectedQueues]] = {}
    """Topic -> broker name -> queues."""
    orders: Mapping[str, str] = {}
    """Topic -> its order configuration; of another topic of the cluster none is expected."""
    writable: Mapping[str, int] = {}
    """Topic -> the least number of queues that can be written to, over all brokers."""
    allow_other_brokers: bool = False
    allow_other_topics: bool = False

    def is_system_topic(self, topic: str) -> bool:
        """Whether brokers make a topic by themselves."""
        return is_system_topic(topic, self.name, self.brokers)


class ExpectedState(Struct, frozen=True):
    """Everything that must be there."""

    since: int
    """Wall ms; before that nothing is a deviation."""
    clusters: tuple[ExpectedCluster, ...]


class Learned(Struct, frozen=True):
    """An expected state, and what was not learned."""

    state: ExpectedState
    notes: Sequence[str]


def is_system_topic(topic: str, cluster: str, brokers: Iterable[str]) -> bool:
    """Whether brokers make a topic by themselves, as Java's TopicValidator and TopicConfigManager say.

    Args:
        topic: its name.
        cluster: name of its cluster.
        brokers: broker names of the cluster.
    """
    return (
        topic in _SYSTEM_TOPICS
        or topic.lower().startswith(_SYSTEM_PREFIX)
        or topic.startswith(_GROUP_PREFIXES)
        or topic in {cluster, f"{cluster}{_REPLY_SUFFIX}"}
        or topic in brokers
    )


def learn(histories: Sequence[History], at: int | None = None) -> Learned:
    """Take what is there at an instant for what must be there.

    Where name servers of one cluster disagree, the value that most of them have is taken.

    Args:
        histories: of name servers, about every name.
        at: wall ms; None is the last instant that is known of all whose records end together.
    """
    groups = compared(histories, at)
    clusters: list[ExpectedCluster] = []
    notes: list[str] = []
    for members in groups.clusters:
        notes += [f"{each.namesrv}: its state is not known then" for each in members if not each.has_rows_now]
        known = [each for each in members if each.has_rows_now]
        clusters += _Learning(known, groups.at, notes).clusters()
    return Learned(ExpectedState(groups.at, tuple(clusters)), notes)


class _Learning:
    """The clusters of name servers that share brokers."""

    def __init__(self, witnesses: Sequence[Witness], at: int, notes: list[str]) -> None:
        self._witnesses, self._at, self._notes = witnesses, at, notes
        self._disagreements = 0

    def clusters(self) -> list[ExpectedCluster]:
        of_cluster: dict[str, dict[str, frozenset[int]]] = defaultdict(dict)
        for name, (cluster, ids) in self._usual(self._brokers()).items():
            of_cluster[cluster][name] = ids
        queues, orders = self._usual(self._queues()), self._usual(self._orders())
        clusters = [
            self._cluster(name, members, queues, orders) for name, members in sorted(of_cluster.items())
        ]
        if self._disagreements:
            self._notes.append(
                f"name servers disagree about {self._disagreements} rows, of which those that most have are"
                " taken: see `namekeeper drift`"
            )
        return clusters

    def _brokers(self) -> Iterator[tuple[str, tuple[str, frozenset[int]]]]:
        for witness in self._witnesses:
            for key, row in witness.history.rows(GroupKey, self._at):
                if row.broker_addrs:
                    yield key.broker_name, (row.cluster, frozenset(row.broker_addrs))

    def _queues(self) -> Iterator[tuple[tuple[str, str], ExpectedQueues]]:
        for witness in self._witnesses:
            for key, row in witness.history.rows(TopicKey, self._at):
                yield (key.topic, key.broker_name), ExpectedQueues.of(row)

    def _orders(self) -> Iterator[tuple[str, str]]:
        for witness in self._witnesses:
            for key, row in witness.history.rows(KvKey, self._at):
                if key.namespace == ORDER_TOPIC_CONFIG:
                    yield key.key, row.value

    def _cluster(
        self,
        name: str,
        brokers: Mapping[str, frozenset[int]],
        queues: Mapping[tuple[str, str], ExpectedQueues],
        orders: Mapping[str, str],
    ) -> ExpectedCluster:
        topics: dict[str, dict[str, ExpectedQueues]] = defaultdict(dict)
        for (topic, broker), found in queues.items():
            if broker in brokers and not is_system_topic(topic, name, brokers):
                topics[topic][broker] = found
        return ExpectedCluster(
            name=name,
            name_servers=tuple(sorted(each.namesrv for each in self._witnesses)),
            brokers=brokers,
            topics=dict(topics),
            orders={topic: text for topic, text in orders.items() if topic in topics},
        )

    def _usual(self, rows: Iterable[tuple[K, V]]) -> dict[K, V]:
        """Key, sorted -> the value that most name servers have; of several that of the first one."""
        of_key: dict[K, list[V]] = defaultdict(list)
        for key, value in rows:
            of_key[key].append(value)
        found: dict[K, V] = {}
        for key in sorted(of_key):
            found[key], count = Counter(of_key[key]).most_common(1)[0]
            self._disagreements += count < len(self._witnesses)
        return found
