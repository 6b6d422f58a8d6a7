"""The name servers that are compared: which of them can tell about a broker, a topic or a KV entry, and when.

The rules are those of the pipeline's tables of drift (docs/decisions/0012). A name server that is not up, or
whose records are lost, can't tell. Soon after its start it can't tell that a broker is missing.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from namekeeper.common.expected import WITNESS_AFTER_MS
from namekeeper.common.namesrv_clusters import SHARED_MS
from namekeeper.history.history import History
from namekeeper.history.rows import AnyKey, GroupKey, HistoryEvent, KvKey, LiveKey, TopicKey, What
from namekeeper.history.timeline import PeriodState
from namekeeper.journal.reading.coverage import Boot
from namekeeper.observe.questions import AskRoute
from namekeeper.observe.schedule import Rates, cost_us

__all__ = ["MEMORY_MS", "BrokerId", "RegisteredPeriod", "Witness"]

MEMORY_MS = SHARED_MS
"""How long after its last broker of a cluster a name server still can tell about the cluster."""
_SWEEPS = 2
"""An observer may use every other lookup for a topic that a change touched: a sweep takes twice as long."""
_SHARE_OF_SWEEP = 5 / 8
"""Part of the budget of an observer that its periodic requests leave for the sweep."""


class BrokerId(Struct, frozen=True, order=True):
    """One broker, as name servers are compared about it."""

    cluster: str
    broker_name: str
    broker_id: int
    addr: str


class RegisteredPeriod(Struct, frozen=True):
    """A period in which a broker was registered; heartbeats and new topics do not end it."""

    begun: HistoryEvent
    ended: HistoryEvent | None

    def holds(self, at: int) -> bool:
        """Whether it was there at a time, wall ms."""
        return self.begun.at <= at and (self.ended is None or at < self.ended.at)


class Witness:
    """One name server, and what it can tell.

    Args:
        history: of all its rows.
        at: the instant in question, wall ms.
        topic_rows: number of topics and of their rows, if the history has only some of them; None: it has
            all.
    """

    def __init__(self, history: History, at: int, topic_rows: tuple[int, int] | None = None) -> None:
        self.history, self.at = history, at
        self._topic_rows = topic_rows
        self.namesrv = history.namesrv
        end = history.knows_up_to or 0
        up = [each for each in history.periods() if each.state is PeriodState.UP]
        self.known = [(each.since, end if each.until is None else each.until) for each in up]
        """The periods in which its rows are known, wall ms."""
        self.open_end = end if up and up[-1].until is None else None
        """The end of its records, wall ms, if its rows are known up to it; None: they are not."""
        self._ends_now = at == self.open_end
        self._boots: Sequence[Boot] = history.coverage.boots
        self.has_rows_now = self.has_rows(at)

    def as_at(self, at: int) -> "Witness":
        """The same name server, asked about another instant (wall ms)."""
        return Witness(self.history, at, self._topic_rows)

    def has_rows(self, at: int) -> bool:
        """Whether its rows are known at a time, and after it.

        At the instant in question the time after it does not matter.
        """
        index = bisect_right(self.known, at, key=_since) - 1
        if index < 0:
            return False
        return at < self.known[index][1] or (self._ends_now and at == self.at)

    def boot_at(self, at: int) -> Boot | None:
        """The boot of the name server at a time."""
        return next((boot for boot in reversed(self._boots) if boot.since <= at), None)

    def edges(self) -> Iterator[int]:
        """Times at which it begins to be able to tell, or stops."""
        for since, until in self.known:
            yield since
            yield until
        for boot in self._boots:
            yield boot.since
            yield boot.since + WITNESS_AFTER_MS

    @cached_property
    def registrations(self) -> Mapping[BrokerId, Sequence[RegisteredPeriod]]:
        """Broker -> its registrations up to the instant, oldest first."""
        found: dict[BrokerId, list[RegisteredPeriod]] = {}
        for key in self.history.keys(LiveKey):
            for version in self.history.versions(key):
                if version.begun.at > self.at:
                    break
                row = version.row
                of_broker = found.setdefault(
                    BrokerId(row.cluster, row.broker_name, row.broker_id, key.broker_addr), []
                )
                begun = version.begun
                if of_broker and of_broker[-1].ended is begun:
                    begun = of_broker.pop().begun
                of_broker.append(RegisteredPeriod(begun, version.ended))
        return found

    @cached_property
    def brokers(self) -> Sequence[BrokerId]:
        """The brokers that are registered at the instant; none if its rows are not known."""
        return [broker for broker in self.registrations if self.registration_of(broker, self.at) is not None]

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str, int], Sequence[RegisteredPeriod]]:
        """Cluster, broker name and id -> registrations of any address."""
        found: dict[tuple[str, str, int], list[RegisteredPeriod]] = {}
        for broker, some in self.registrations.items():
            found.setdefault((broker.cluster, broker.broker_name, broker.broker_id), []).extend(some)
        return found

    @cached_property
    def _seen(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Cluster -> periods in which it had seen a broker of it lately, in order."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for broker, some in self.registrations.items():
            held = ((each.begun.at, self._last_certain(each)) for each in some)
            of_cluster = spans.setdefault(broker.cluster, [])
            of_cluster.extend((begin, end + MEMORY_MS) for begin, end in held if begin < end)
        return {cluster: _joined(sorted(some)) for cluster, some in spans.items()}

    def _last_certain(self, registration: RegisteredPeriod) -> int:
        """The last time at which a registration is known to have been there, not included."""
        end = self.at + 1 if registration.ended is None else registration.ended.at
        index = bisect_right(self.known, end - 1, key=_since) - 1
        return 0 if index < 0 else min(end, self.known[index][1])

    def recent_addrs(self) -> Iterator[str]:
        """Addresses of the brokers that it had not long before the instant."""
        for broker, some in self.registrations.items():
            last = some[-1].ended
            if last is None or self.at < last.at + MEMORY_MS:
                yield broker.addr

    def registration_of(self, broker: BrokerId, at: int) -> RegisteredPeriod | None:
        """The registration of a broker at a time; None if there is none, or the rows are not known."""
        if not self.has_rows(at):
            return None
        return next((each for each in self.registrations.get(broker, ()) if each.holds(at)), None)

    def can_miss(self, broker: BrokerId, at: int) -> bool:
        """Whether it would know of a broker that is there.

        It has seen the cluster lately. Since its start it has seen a broker of this name and id, or some time
        has passed.
        """
        boot = self.boot_at(at)
        if boot is None or not self.has_rows(at):
            return False
        if not any(since <= at < until for since, until in self._seen.get(broker.cluster, ())):
            return False
        return at >= boot.since + WITNESS_AFTER_MS or self.had_since(broker, boot.since, at)

    def had_since(self, broker: BrokerId, since: int, until: int) -> bool:
        """Whether a broker of this name and id is known to have been there at some time in a range.

        Args:
            broker: its address does not count.
            since: wall ms.
            until: wall ms, included.
        """
        some = self._by_name.get((broker.cluster, broker.broker_name, broker.broker_id), ())
        return any(
            self._has_rows_within(
                max(since, each.begun.at), until + 1 if each.ended is None else min(until + 1, each.ended.at)
            )
            for each in some
        )

    def _has_rows_within(self, since: int, until: int) -> bool:
        return since < until and any(begin < until and end > since for begin, end in self.known)

    def broker_times(self, broker: BrokerId) -> Iterator[int]:
        """Times at which its view of a broker may change."""
        yield from self.edges()
        for since, until in self._seen.get(broker.cluster, ()):
            yield since
            yield until
        for each in self._by_name.get((broker.cluster, broker.broker_name, broker.broker_id), ()):
            yield each.begun.at
            if each.ended is not None:
                yield each.ended.at

    @cached_property
    def broker_names(self) -> frozenset[str]:
        """The broker names that it has at the instant."""
        if not self.has_rows_now:
            return frozenset()
        return frozenset(key.broker_name for key, _ in self.history.rows(GroupKey, self.at))

    def has_name(self, broker_name: str, at: int) -> bool:
        """Whether it is known to have had a broker name at a time."""
        return self.has_rows(at) and self.history.row_at(GroupKey(broker_name), at) is not None

    def row_times(self, *keys: AnyKey) -> Iterator[int]:
        """Times at which its view of some rows may change."""
        yield from self.edges()
        for key in keys:
            yield from (time for time, _ in self.history.changes_of(key))

    def topic_times(self, key: TopicKey) -> Iterator[int]:
        """Times at which its view of a topic may change."""
        return self.row_times(key, GroupKey(key.broker_name))

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return frozenset(key.namespace for key in self.history.keys(KvKey))

    def can_tell_kv(self, namespace: str, at: int) -> bool:
        """Whether its entries of a KV namespace are known at a time.

        An observer asks for some namespaces, and a name server may refuse it. So an observed name server can
        only tell if it had an entry.
        """
        boot = self.boot_at(at)
        if boot is None or not self.has_rows(at):
            return False
        return not boot.is_observed or namespace in self._namespaces

    @cached_property
    def in_question(self) -> frozenset[AnyKey]:
        """Rows that an observer saw change after the instant, and that may have changed before it."""
        return frozenset(row.key for event in self.history.in_question(self.at) for row in event.rows)

    def delay_ms(self, kind: type[AnyKey]) -> int:
        """How long a change of such a row may take until it is recorded.

        That of an observed name server: the longest window that was recorded, or that of an observer with the
        usual budget.
        """
        boot = self.boot_at(self.at)
        if boot is None or not boot.is_observed:
            return 0
        return max(self._longest_windows.get(kind, 0), self._usual_delays.get(kind, 0))

    @cached_property
    def _usual_delays(self) -> Mapping[type[AnyKey], int]:
        rates = Rates()
        topics, rows = self._topic_rows or self._counted()
        sweep_us = topics * cost_us(AskRoute, rows // topics) if topics else 0
        sweep_ms = int(_SWEEPS * sweep_us / (rates.budget * _SHARE_OF_SWEEP * 1_000))
        return {
            LiveKey: rates.answer_ms + rates.members_ms,
            TopicKey: rates.answer_ms + max(rates.queues_ms, sweep_ms),
            KvKey: rates.answer_ms + rates.kv_ms,
        }

    def _counted(self) -> tuple[int, int]:
        rows = [key.topic for key, _ in self.history.rows(TopicKey, self.at)]
        return len(set(rows)), len(rows)

    @cached_property
    def _longest_windows(self) -> Mapping[type[AnyKey], int]:
        found: dict[type[AnyKey], int] = {}
        for event in self.history.all_events:
            if event.window_ms and event.what is What.CHANGE:
                # The topics of a broker come and go with it.
                kinds = {type(row.key) for row in event.rows}
                kinds -= {TopicKey} if LiveKey in kinds else set()
                found.update((kind, max(found.get(kind, 0), event.window_ms)) for kind in kinds)
        return found


def _since(period: tuple[int, int]) -> int:
    return period[0]


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Periods in order, of which those that touch are one."""
    found: list[tuple[int, int]] = []
    for since, until in spans:
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return found
