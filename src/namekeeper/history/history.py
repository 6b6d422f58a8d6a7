"""The history of one name server: every version of every row, the changes, and the time that is known.

Its memory may have a limit. Then the oldest changes are dropped, and the history begins later.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import structs

from namekeeper.history.rows import (
    ABOUT_ROWS,
    IN_FILES,
    AnyKey,
    FilterKey,
    GroupKey,
    HistoryEvent,
    KvKey,
    LiveKey,
    MappingKey,
    PropertyKey,
    Row,
    RowChange,
    Rows,
    TopicKey,
    ValidPeriod,
    What,
    is_at,
    joined,
    names_of,
    order_of,
    rows_in,
)
from namekeeper.history.timeline import StatePeriod, StateTimeline
from namekeeper.history.versions import Versions
from namekeeper.journal.contract.activity import Access, UnknownTopicMinute
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    Record,
    TopicQueues,
    TopicQueuesRow,
)
from namekeeper.journal.reading.coverage import Coverage, Knowledge
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step, Stopped
from namekeeper.journal.reading.state import State
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.route.events import Cause

__all__ = [
    "NOT_OBSERVED",
    "OBSERVED",
    "RESTART_POSSIBLE",
    "RESTART_SEEN",
    "STARTED_WITH",
    "History",
]


K = TypeVar("K", bound=AnyKey)

STARTED_WITH = "started_with"
"""Cause of a change: the name server started with other properties or KV entries than it had before."""
NOT_OBSERVED = "not_observed"
"""Cause of a loss: a period of observation ended."""
OBSERVED, RESTART_SEEN, RESTART_POSSIBLE = "observation", "restart_seen", "restart_possible"
"""Causes of a start: observation begins; it begins again, and the name server restarted, or may have."""
_CAUSES_OF_STARTS = {"seen": RESTART_SEEN, "possible": RESTART_POSSIBLE}
_KINDS: tuple[type[AnyKey], ...] = (
    LiveKey, GroupKey, TopicKey, MappingKey, FilterKey, PropertyKey, KvKey,
)  # fmt: skip
"""Order of new rows in a change that a checkpoint shows."""
_ALWAYS, _NEVER = -1, 2**63


class History(Versions):
    """Follows the steps of one name server, whose checkpoints have `Rows`.

    Args:
        namesrv: its id.
        about: a topic, a broker name, an address, or the host of addresses. Of topics only the rows with this
            name are kept, of the KV configuration only its order configuration. Rows of brokers are all kept,
            because any broker may turn out to have the topic. None: every row.
        limit_bytes: bounds its memory, about. The rows of the present stay in any case. None: no limit.
    """

    def __init__(self, namesrv: str, about: str | None = None, *, limit_bytes: int | None = None) -> None:
        super().__init__(limit_bytes, keeps_order=about is not None)
        self.namesrv = namesrv
        self.about = about
        self.coverage = Coverage()
        self.timeline = StateTimeline(self.coverage)
        self.activity: list[Access | UnknownTopicMinute] = []
        """Records of access checks and of failed lookups, as far as they were read."""
        self.cluster_label = ""
        """Label of the cluster of name servers in the last checkpoint, which counts for all times: it says
        what belongs together. Empty: none."""
        self._number = 0
        """Number of the last step."""
        self._cut = 0
        """Number of the last loss or stop, until a checkpoint or a start; 0: none."""
        self._is_starting = False
        """Whether the next checkpoint is that of a start: it shows the files that the server read then."""
        self._known_until: int | None = None
        self._longest_window_ms = 0

    def take(self, step: Step) -> None:
        """Follow one step."""
        self.pass_over(step)
        match step:
            case Seen():
                self._see(step)
            case Changed():
                self._change(step)
            case CheckpointApplied():
                self._correct(step)
            case Began():
                self._begin(step)
            case Lost() | Stopped():
                self._break(step)
            case _:
                pass
        self.drop_beyond_limit()

    def pass_over(self, step: Step) -> None:
        """Follow a step without its rows: only the coverage and the corrected times change."""
        self.coverage.take(step)
        if self.times.note(step.ts):
            self.forgotten.put_back(step.ts)
        self._number += 1
        self.timeline.take(step, self._number)

    def extend(self, until: int | None) -> None:
        """Note until when the last state is valid without further records; None: not longer."""
        self._known_until = until

    @property
    def events(self) -> Sequence[HistoryEvent]:
        """All events with changes of rows, starts, stops and losses, in order.

        Rows of the first complete checkpoint are no change.
        """
        return [event for event in self.all_events if event.is_shown]

    def changes(self, begin_at: int = _ALWAYS, end_at: int = _NEVER) -> list[HistoryEvent]:
        """The events after `begin_at`, up to `end_at`, in order, with their rows about the name, sorted."""
        events = [(event, self.rows_of(event)) for event in self.all_events if event.at <= end_at]
        brokers = {
            row.key.broker_name
            for _, rows in events
            for row in rows
            if isinstance(row.key, TopicKey | MappingKey) and row.key.topic == self.about
        }
        found: list[HistoryEvent] = []
        for event, rows in events:
            if event.at > begin_at:
                about = sorted((row for row in rows if self._is_about(row, brokers)), key=order_of)
                if about or event.what not in ABOUT_ROWS:
                    found.append(structs.replace(event, rows=about, number=0))
        return found

    @property
    def knows_from(self) -> int | None:
        """Wall ms from which on it has the state; None if there is no complete checkpoint."""
        first, dropped = self.coverage.knows_from, self.dropped
        return first if first is None or dropped is None else max(first, dropped.at)

    @property
    def dropped_until(self) -> int | None:
        """Wall ms of the last change that was dropped for lack of room; None if there is none."""
        return None if self.dropped is None else self.dropped.at

    @property
    def knows_up_to(self) -> int | None:
        """Wall ms up to which the state is known; None while nothing is."""
        last = self.coverage.knows_up_to
        return last if last is None or self._known_until is None else max(last, self._known_until)

    def continued_from(self, earlier: "History") -> "History":
        """The history of the brokers and of one topic: first from another history, then from this one.

        Args:
            earlier: a history about the topic that reaches the last dropped change of this one, and whose
                state is known at some time.
        """
        found = History(self.namesrv, earlier.about)
        found.coverage, found.timeline = self.coverage, self.timeline
        found._known_until = self._known_until
        found.cluster_label = self.cluster_label
        first, begin = self.coverage.knows_from, earlier.knows_from
        if first is not None and begin is not None and begin > first:
            found.dropped = HistoryEvent(begin, self.namesrv, What.CORRECTED)
        found.join(earlier, self, self.dropped_until or _ALWAYS, earlier.about or "")
        return found

    def knowledge(self, at: int) -> Knowledge:
        """Whether the state at a time is known."""
        last = self.coverage.knows_up_to
        until = self.knows_up_to
        if last is not None and until is not None and last < at <= until:
            return self.coverage.at(last)
        if self.dropped is not None and at < self.dropped.at:
            return Knowledge.BEFORE
        return self.coverage.at(at)

    def periods(self, *, dropped_too: bool = False) -> list[StatePeriod]:
        """Periods with their state, in order and without a gap, from the first known instant on.

        Args:
            dropped_too: from the first complete checkpoint on, even if its rows were dropped.
        """
        first, last = self.coverage.knows_from if dropped_too else self.knows_from, self.coverage.knows_up_to
        if first is None or last is None:
            return []
        found: list[StatePeriod] = []
        for each in self.timeline.periods(first):
            if each.since > last:
                break
            until = each.until if each.until is not None and each.until <= last else None
            if found and found[-1].state is each.state:
                found[-1] = StatePeriod(found[-1].since, until, each.state)
            else:
                found.append(StatePeriod(each.since, until, each.state))
        return found

    def valid_periods(self) -> list[tuple[AnyKey, ValidPeriod[Any]]]:
        """When rows are known to have been valid, by the start of the period; of a history about a name."""
        found = [(key, period) for key, version in self.in_order for period in version.periods(self.marks)]
        return sorted(found, key=_in_order)

    def value_periods(
        self, keys: Iterable[K], value_of: Callable[[ValidPeriod[Any]], object]
    ) -> Iterator[tuple[K, ValidPeriod[Any]]]:
        """When the values of some rows are known: as in gold, from the checkpoint after a loss or a stop on.

        Args:
            keys: of the rows.
            value_of: gives the value in a period. Equal values that follow each other are one.
        """
        marks = self.timeline.marks()
        for key in keys:
            versions = self.all_versions(key)
            periods = (each for one in versions for each in one.periods(marks, at_checkpoints=True))
            yield from ((key, period) for period in joined(periods, value_of))

    def state_at(self, at: int, topic: str, instead: Mapping[AnyKey, Row | None] | None = None) -> State:
        """The tables from which the route of a topic was made at a time, whose state must be known.

        Args:
            at: wall ms.
            topic: its name.
            instead: rows in place of those of that time; None: there is no such row.
        """
        state = State()
        state.apply(self._records_at(at, topic, instead or {}))
        return state

    def in_question(self, at: int) -> Iterator[HistoryEvent]:
        """The changes after a time that an observer recorded, and that may have happened before it."""
        begin = bisect_right(self.all_events, at, key=_at)
        for event in self.all_events[begin:] if self._longest_window_ms else ():
            if event.at - self._longest_window_ms > at:
                break
            if event.at - event.window_ms <= at:
                yield event

    def last_rows(self) -> Rows:
        """The rows of the end."""
        found = Rows()
        found.of.update((key, row) for key, row in self.present.items() if row is not None)
        return found

    def _records_at(self, at: int, topic: str, instead: Mapping[AnyKey, Row | None]) -> Iterator[Record]:
        def row_of(key: Any) -> Any:  # noqa: ANN401 - of the kind of the key
            return instead[key] if key in instead else self.row_at(key, at)

        rows: list[Record] = []
        names: set[str] = set()
        for key in sorted(self.keys_of_topic(topic), key=names_of):
            row = row_of(key)
            if row is None:
                continue
            names.add(key.broker_name)
            is_queues = isinstance(row, TopicQueuesRow)
            rows.append(
                TopicQueues(broker_name=key.broker_name, rows=[structs.astuple(row)]) if is_queues else row
            )
        yield from (group for name in sorted(names) if (group := row_of(GroupKey(name))) is not None)
        yield from rows
        for kind in (FilterKey, PropertyKey):
            of_kind: dict[AnyKey, Any] = dict(self.rows(kind, at))
            of_kind.update((key, row) for key, row in instead.items() if isinstance(key, kind))
            yield from (row for row in of_kind.values() if row is not None)
        order = row_of(KvKey(ORDER_TOPIC_CONFIG, topic))
        if order is not None:
            yield order

    def _event(self, step: Step, what: What, cause: str = "", peer: str = "") -> HistoryEvent:
        when = self.times.at(step.ts)
        return HistoryEvent(when, self.namesrv, what, cause, peer, boot=step.boot, number=self._number)

    def _see(self, step: Seen) -> None:
        if isinstance(step.record, Access | UnknownTopicMinute):
            self.activity.append(step.record)

    def _change(self, step: Changed) -> None:
        first = step.records[0]
        event = self._event(step, What.CHANGE, first.cause, first.peer)
        event.window_ms = first.window_ms
        self._longest_window_ms = max(self._longest_window_ms, first.window_ms)
        gone_before = list(self._gone_before(step.records))
        before: dict[AnyKey, Row | None] = {}
        for record in step.records:
            if isinstance(record, BrokerLive):
                event.closed_by = event.closed_by or record.closed_by
            for key, row in self._rows_in(record):
                if key not in before:
                    before[key] = self.present.get(key)
                self.put(key, row, event, cut=self._cut, by=record)
        self.note(event, before, gone_before)

    def _correct(self, step: CheckpointApplied) -> None:
        """Replace the rows by those of a checkpoint."""
        self.cluster_label = step.cluster_label
        shown = {key: row for key, row in _in_usual_order(step.state.of) if self._may_matter(key)}
        event = self._event(step, What.CORRECTED)
        if self.first is None:
            self.first = event
            for key, row in shown.items():  # no change: the content of the files before it is not known
                if isinstance(key, IN_FILES):
                    self.put(key, row, event, cut=self._cut)
        elif self._is_starting:
            started = self._event(step, What.CHANGE, STARTED_WITH)
            self._replace(
                started, [key for key in self.present if isinstance(key, IN_FILES)], shown, IN_FILES
            )
        self._is_starting = False
        if self._cut:
            self._cut = 0
            self.marks.append(event)
        self._replace(event, list(self.present), shown)

    def _replace(
        self,
        event: HistoryEvent,
        there: Iterable[AnyKey],
        shown: Mapping[AnyKey, Row],
        kinds: tuple[type[AnyKey], ...] = _KINDS,
    ) -> None:
        """Replace the rows of some kinds."""
        before: dict[AnyKey, Row | None] = {}
        for key in dict.fromkeys([*there, *(key for key in shown if isinstance(key, kinds))]):
            row = shown.get(key)
            if self.present.get(key) != row:
                before[key] = self.present.get(key)
                self.put(key, row, event, cut=self._cut)
        self.note(event, before)

    def _begin(self, step: Began) -> None:
        """A boot begins: nobody is registered."""
        event = self._event(step, What.STARTED)
        if step.record.observed_addr:
            event.cause = _CAUSES_OF_STARTS.get(step.record.restart, OBSERVED)
            if self.all_events and self.all_events[-1].what is What.LOST:
                self.all_events[-1].cause = NOT_OBSERVED
        before: dict[AnyKey, Row | None] = {
            key: row for key, row in self.present.items() if not isinstance(key, IN_FILES)
        }
        for key in before:
            self.put(key, None, event, cut=self._cut)
        self.note(event, before)
        self._is_starting = True
        self._cut = 0

    def _break(self, step: Lost | Stopped) -> None:
        self._is_starting = False
        event = self._event(step, What.STOPPED if isinstance(step, Stopped) else What.LOST)
        self.note(event, {})
        self.marks.append(event)
        self._cut = self._number

    def _rows_in(self, record: Record) -> Iterable[tuple[AnyKey, Row | None]]:
        """Return the rows that a record states, as far as they matter."""
        if isinstance(record, BrokerNameRemovedRecord):
            return [(key, None) for key in self._topics_present(record.broker_name)]
        return ((key, row) for key, row in rows_in(record) if self._may_matter(key))

    def _topics_present(self, broker_name: str) -> Sequence[TopicKey]:
        """The keys of the present topic rows of a broker name."""
        if self.about not in {None, broker_name}:
            key = TopicKey(self.about, broker_name)
            return [key] if key in self.present else []
        return [key for key in self.present if isinstance(key, TopicKey) and key.broker_name == broker_name]

    def _gone_before(self, records: Iterable[Record]) -> Iterator[RowChange]:
        """Rows that had gone before: a client unregistered a missing broker, or deleted a missing topic."""
        for record in records:
            if isinstance(record, BrokerLive) and record.gone and record.cause == Cause.UNREGISTER:
                key = LiveKey(record.cluster, record.broker_addr)
                if key not in self.present:
                    row = BrokerLive(
                        cluster=record.cluster,
                        broker_addr=record.broker_addr,
                        broker_name=record.broker_name,
                        broker_id=record.broker_id,
                        gen=record.gen,
                        data_version=(0, 0, 0),
                    )
                    yield RowChange(key, row, None)
            elif isinstance(record, TopicQueues) and record.cause == Cause.DELETE_TOPIC:
                for topic, *_ in record.rows:
                    deleted = TopicKey(topic, record.broker_name)
                    if deleted not in self.present and self._may_matter(deleted):
                        yield RowChange(deleted, None, None)

    def _may_matter(self, key: AnyKey) -> bool:
        """Whether a row is about the name, or about a broker that may turn out to have the topic."""
        if self.about is None:
            return True
        if isinstance(key, KvKey):
            return (key.namespace, key.key) == (ORDER_TOPIC_CONFIG, self.about)
        return not isinstance(key, TopicKey | MappingKey) or self.about in {key.topic, key.broker_name}

    def _is_about(self, change: RowChange, brokers: set[str]) -> bool:
        """Whether a row is about the name, or about one of the brokers that have, or had, the topic."""
        key, rows = change.key, [row for row in (change.before, change.after) if row is not None]
        if self.about is None or isinstance(key, IN_FILES):
            return True
        if isinstance(key, LiveKey):
            names = {row.broker_name for row in rows if isinstance(row, BrokerLive)}
            return self.about in names or not brokers.isdisjoint(names) or self._is_at(key.broker_addr)
        if isinstance(key, GroupKey):
            groups = [row for row in rows if isinstance(row, BrokerGroup)]
            addrs = [addr for group in groups for addr in group.broker_addrs.values()]
            return key.broker_name in {self.about, *brokers} or any(map(self._is_at, addrs))
        if isinstance(key, FilterKey):
            return self._is_at(key.broker_addr)
        return self.about in names_of(key)

    def _is_at(self, addr: str) -> bool:
        return self.about is not None and is_at(self.about, addr)


def _at(event: HistoryEvent) -> int:
    return event.at


def _in_order(found: tuple[AnyKey, ValidPeriod[Any]]) -> tuple[int, tuple[str, ...]]:
    """Sorts periods by their begin; those that begin with a checkpoint by their names."""
    key, period = found
    since = period.since
    return since.number, names_of(key) if since.what is What.CORRECTED else ()


def _in_usual_order(rows: Mapping[AnyKey, Row]) -> Iterator[tuple[AnyKey, Row]]:
    of_kind: dict[type[AnyKey], list[tuple[AnyKey, Row]]] = {kind: [] for kind in _KINDS}
    for key, row in rows.items():
        of_kind[type(key)].append((key, row))
    for some in of_kind.values():
        yield from some
