"""Verdicts on disagreements: what a person can act on, with the name servers that lack something.

One cause makes many disagreements: a name server that lost its brokers misses each of them. So disagreements
of one cause are one verdict.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from namekeeper.answers.incidents.drift_fact import NamedText, named
from namekeeper.answers.phrases import caused_by
from namekeeper.common.counts import shown_count
from namekeeper.common.expected import TOGETHER_MS
from namekeeper.drift.disagreement import (
    BrokerSubject,
    Disagreement,
    Found,
    KvSubject,
    Seen,
    Subject,
    TopicSubject,
)
from namekeeper.drift.witness import BrokerId, Witness
from namekeeper.history.history import OBSERVED, RESTART_POSSIBLE
from namekeeper.history.rows import HistoryEvent, What
from namekeeper.model.broker import MASTER_ID
from namekeeper.model.perm import format_perm

__all__ = ["NAMES_LIMIT", "Detail", "DriftKind", "DriftVerdict", "VerdictFacts", "verdicts", "worst_first"]

NAMES_LIMIT = 20
"""Most names of brokers and topics in a verdict; the others are counted."""
_NAMES_IN_TEXT = 3
_VALUE_LENGTH = 60
"""Characters of a KV value in a text."""
S = TypeVar("S", bound=Subject)


class DriftKind(StrEnum):
    """Kinds of verdicts, the worst first."""

    NO_BROKERS = "no_brokers"
    """A name server answers, and has no broker."""
    PARTIAL_LIST = "partial_list"
    """A name server lacks brokers since it started."""
    BROKER_MISSING = "broker_missing"
    TOPIC_MISSING = "topic_missing"
    PERMISSION_DIFFERS = "permission_differs"
    QUEUES_DIFFER = "queues_differ"
    ORDER_DIFFERS = "order_differs"
    """The order configuration of a topic differs."""
    KV_DIFFERS = "kv_differs"


_ORDER = list(DriftKind)


class Detail(Struct, frozen=True):
    """The last change at one name server, as far as it is known."""

    namesrv: str
    text: str
    at: int | None = None
    """Wall ms; None: it has no time."""
    window_ms: int = 0


class VerdictFacts(Struct, frozen=True, kw_only=True):
    """The facts of a disagreement, or of several of one cause."""

    kind: DriftKind
    summary: str
    """The text with exact names."""
    since: int
    """Wall ms."""
    since_window_ms: int = 0
    """The disagreement began up to this long before `since`, as an observer recorded it; 0: exactly then."""
    is_since_known: bool = True
    """False: it may be older; before `since` some name server could not tell."""
    name_servers: Sequence[str]
    """Name servers that were compared about it, sorted."""
    missing_at: Sequence[str] = ()
    """Name servers that lack something, sorted; empty: they have different values."""
    brokers: Sequence[str] = ()
    """The first broker names, sorted."""
    topics: Sequence[str] = ()
    """The first topics, sorted."""
    broker_count: int = 0
    topic_count: int = 0
    details: Sequence[Detail] = ()


class DriftVerdict(VerdictFacts, frozen=True, kw_only=True):
    """A verdict, also as a text in which names can be told from words."""

    text: NamedText


def verdicts(found: Found, witnesses: Sequence[Witness], at: int) -> list[DriftVerdict]:
    """The verdicts on the disagreements of one cluster, the worst kind first, then the oldest."""
    made = [
        *_broker_verdicts(found.brokers, {each.namesrv: each for each in witnesses}, at),
        *_topic_verdicts(found.topics, witnesses, at),
        *(_kv_verdict(each, witnesses, at) for each in found.entries),
    ]
    return sorted(made, key=worst_first)


def worst_first(verdict: DriftVerdict) -> tuple[int, int, str]:
    """Sorts verdicts: the worst kind first, then the oldest."""
    return _ORDER.index(verdict.kind), verdict.since, verdict.summary


# Brokers.


def _broker_verdicts(
    found: Sequence[Disagreement[BrokerSubject]], witnesses: Mapping[str, Witness], at: int
) -> Iterator[DriftVerdict]:
    total = len({broker for each in witnesses.values() for broker in each.brokers})
    explained: set[tuple[str, BrokerId]] = set()
    for name, witness in witnesses.items():
        missing = [each for each in found if name in each.missing_at]
        if not missing:
            continue
        verdict, covered = _of_name_server(witness, missing, witnesses, total)
        if verdict is not None:
            explained |= {(name, broker) for broker in covered}
            yield verdict
    left: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Disagreement[BrokerSubject]]] = {}
    for each in found:
        rest = tuple(name for name in each.missing_at if (name, each.subject.broker) not in explained)
        if rest:
            left.setdefault((rest, each.held_by), []).append(each)
    for (rest, _), some in left.items():
        for group in _begun_close(some):
            yield _missing_brokers(group, rest, witnesses, at)


def _of_name_server(
    witness: Witness,
    missing: Sequence[Disagreement[BrokerSubject]],
    witnesses: Mapping[str, Witness],
    total: int,
) -> tuple[DriftVerdict | None, Sequence[BrokerId]]:
    """The verdict on a name server that lacks brokers by itself, and the brokers that it explains."""
    boot, name, start = witness.boot_at(witness.at), witness.namesrv, _start_of(witness)
    assert boot is not None, "a name server that can tell has a boot"
    brokers = [each.subject.broker for each in missing]
    last = None if witness.brokers else _last_end(witness, boot.since)
    details: list[Detail] = []
    event = last or start
    if event is None:
        return None, ()
    if last is not None:
        kind = DriftKind.NO_BROKERS
        text = named(f"{{}} answers but its brokers left: it has none of {total}", name)
        details = [Detail(name, f"the last one: {_end_text(last)}", last.at, last.window_ms)]
    elif not witness.brokers:
        since = f"since its {_start_word(witness, event)}"
        kind = DriftKind.NO_BROKERS
        text = named(f"{{}} answers but has no broker {since}: none of {total}", name)
    else:
        brokers = [each for each in brokers if _is_missing_since_start(witness, each, event, witnesses)]
        if not brokers:
            return None, ()
        since = f"since its {_start_word(witness, event)}"
        has = f"{{}} has a partial list {since}: {len(witness.brokers)} of {total} brokers (missing: {{}})"
        kind, text = DriftKind.PARTIAL_LIST, named(has, name, _some(map(_label, brokers)))
    verdict = DriftVerdict(
        kind=kind,
        summary=str(text),
        text=text,
        since=event.at,
        since_window_ms=event.window_ms,
        name_servers=sorted({other for each in missing for other in each.views}),
        missing_at=[name],
        brokers=sorted({each.broker_name for each in brokers})[:NAMES_LIMIT],
        broker_count=len(brokers),
        details=details,
    )
    return verdict, brokers


def _start_of(witness: Witness) -> HistoryEvent | None:
    """The last known start of a name server; None if it is not known, or only its observation began."""
    events = witness.history.all_events
    last = next(
        (each for each in reversed(events) if each.what is What.STARTED and each.at <= witness.at), None
    )
    return None if last is None or last.cause == OBSERVED else last


def _start_word(witness: Witness, start: HistoryEvent) -> str:
    if start.cause == RESTART_POSSIBLE:
        return "possible restart"
    has_run_before = any(boot.since < start.at for boot in witness.history.coverage.boots)
    return "restart" if has_run_before else "start"


def _last_end(witness: Witness, since: int) -> HistoryEvent | None:
    """The end of the last broker that left since a time."""
    ends = [
        each.ended
        for some in witness.registrations.values()
        for each in some
        if each.ended is not None and since < each.ended.at <= witness.at
    ]
    return max(ends, key=lambda each: each.at, default=None)


def _is_missing_since_start(
    witness: Witness, broker: BrokerId, start: HistoryEvent, witnesses: Mapping[str, Witness]
) -> bool:
    """Whether a broker that was there when a name server started has not registered there since."""
    if witness.had_since(broker, start.at, witness.at):
        return False
    others = (each for name, each in witnesses.items() if name != witness.namesrv)
    was_there = any(each.had_since(broker, start.at, start.at) for each in others)
    return was_there or witness.had_since(broker, 0, start.at - 1)


def _missing_brokers(
    group: Sequence[Disagreement[BrokerSubject]],
    missing_at: Sequence[str],
    witnesses: Mapping[str, Witness],
    at: int,
) -> DriftVerdict:
    first = group[0]
    brokers = sorted(each.subject.broker for each in group)
    compared = sorted((*first.held_by, *missing_at))  # without those that have a verdict of their own
    of_all = f"{len(first.held_by)} of {len(compared)} name servers"
    share = named(f"{of_all} (missing: {{}})", _listed(missing_at))
    if len(brokers) == 1:
        text = named("{} ({}) registers with {}", _label(brokers[0]), brokers[0].addr, share)
    else:
        count = shown_count(len(brokers), "broker")
        text = named(f"{count} register with {{}}: {{}}", share, _some(map(_label, brokers)))
    names_of = sorted({each.broker_name for each in brokers})
    return DriftVerdict(
        kind=DriftKind.BROKER_MISSING,
        summary=str(text),
        text=text,
        **_times(group),
        name_servers=compared,
        missing_at=missing_at,
        brokers=names_of[:NAMES_LIMIT],
        broker_count=len(brokers),
        details=[_end_at(witnesses[name], first.subject.broker, at) for name in missing_at],
    )


def _end_at(witness: Witness, broker: BrokerId, at: int) -> Detail:
    """How a broker went at a name server that misses it."""
    some = [each for each in witness.registrations.get(broker, ()) if each.begun.at <= at]
    last = some[-1].ended if some else None
    if last is None:
        return Detail(witness.namesrv, "no registration there is known")
    return Detail(witness.namesrv, _end_text(last), last.at, last.window_ms)


def _end_text(event: HistoryEvent) -> str:
    if event.what is What.STARTED:
        return "it was registered until the name server stopped"
    if event.what is What.CORRECTED:
        return "a checkpoint after a loss does not have it"
    return caused_by(event.cause, event.peer, event.closed_by)


def _label(broker: BrokerId) -> str:
    is_master = broker.broker_id == MASTER_ID
    return broker.broker_name if is_master else f"{broker.broker_name} id {broker.broker_id}"


# Topics.


def _topic_verdicts(
    found: Iterable[Disagreement[TopicSubject]], witnesses: Sequence[Witness], at: int
) -> Iterator[DriftVerdict]:
    groups: dict[tuple[Any, ...], list[Disagreement[TopicSubject]]] = {}
    for each in found:
        groups.setdefault(_alike(each), []).append(each)
    for (_, kind, *_), some in groups.items():
        for group in _begun_close(some):
            yield _topics_verdict(kind, group, witnesses, at)


def _alike(one: Disagreement[TopicSubject]) -> tuple[Any, ...]:
    """Broker name and kind, and what else the topics of one verdict have in common."""
    name, seen = one.subject.broker_name, list(one.views.values())
    rows = [row for row in seen if row is not None]
    if len(rows) < len(seen):
        return name, DriftKind.TOPIC_MISSING, one.missing_at, one.held_by
    if len({_without_perm(row) for row in rows}) == 1:
        perms = tuple((namesrv, row[2]) for namesrv, row in one.views.items() if row is not None)
        return name, DriftKind.PERMISSION_DIFFERS, perms
    return name, DriftKind.QUEUES_DIFFER, tuple(one.views.items())


def _without_perm(row: tuple[object, ...]) -> tuple[object, ...]:
    read, write, _, flag = row
    return read, write, flag


def _topics_verdict(
    kind: DriftKind, group: Sequence[Disagreement[TopicSubject]], witnesses: Sequence[Witness], at: int
) -> DriftVerdict:
    first, broker = group[0], group[0].subject.broker_name
    topics = sorted(each.subject.topic for each in group)
    is_one = len(topics) == 1
    what = (
        named("topic {}", topics[0])
        if is_one
        else named(f"{shown_count(len(topics), 'topic')} ({{}})", _some(topics))
    )
    if kind is DriftKind.TOPIC_MISSING:
        others = replace(first, views={name: row for name, row in first.views.items() if row is not None})
        where = _views_text(others, _queues_text) if is_one else named("there at {}", _listed(first.held_by))
        lacking = f"{{}} {'is' if is_one else 'are'} missing on {{}} at {{}}; {{}}"
        text = named(lacking, what, broker, _listed(first.missing_at), where)
    elif kind is DriftKind.PERMISSION_DIFFERS:
        views = _views_text(first, _perm_text)
        text = named("permission of {} differs on {}: {}", what, broker, views)
    else:
        text = named("queues of {} differ on {}: {}", what, broker, _views_text(first, _queues_text))
    return DriftVerdict(
        kind=kind,
        summary=str(text),
        text=text,
        **_times(group),
        name_servers=sorted(first.views),
        missing_at=first.missing_at,
        brokers=[broker],
        broker_count=1,
        topics=topics[:NAMES_LIMIT],
        topic_count=len(topics),
        details=_last_changes(first, witnesses, at),
    )


def _queues_text(seen: Seen) -> NamedText:
    if seen is None:
        return named("none")
    read, write, perm, flag = seen
    assert isinstance(perm, int)
    return named(f"{read}/{write} {format_perm(perm)}{f' flag {flag}' if flag else ''}")


def _perm_text(seen: Seen) -> NamedText:
    perm = (seen or (0, 0, 0, 0))[2]
    assert isinstance(perm, int)
    return named(format_perm(perm))


# The KV configuration.


def _kv_verdict(one: Disagreement[KvSubject], witnesses: Sequence[Witness], at: int) -> DriftVerdict:
    namespace, name = one.subject.namespace, one.subject.name
    is_order = one.subject.is_order
    what = (
        named("order configuration of topic {}", name)
        if is_order
        else named("KV entry {} of {}", name, namespace)
    )
    text = named("{} differs: {}", what, _views_text(one, _value_text))
    return DriftVerdict(
        kind=DriftKind.ORDER_DIFFERS if is_order else DriftKind.KV_DIFFERS,
        summary=str(text),
        text=text,
        **_times([one]),
        name_servers=sorted(one.views),
        missing_at=one.missing_at,
        topics=[name] if is_order else [],
        topic_count=int(is_order),
        details=_last_changes(one, witnesses, at),
    )


def _value_text(seen: Seen) -> NamedText:
    if seen is None:
        return named("none")
    text = str(seen[0])
    return named("'{}'", text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}…")


# All of them.


def _begun_close(found: Sequence[Disagreement[S]]) -> Iterator[list[Disagreement[S]]]:
    """Disagreements that began soon after the first of them, each group in order of time."""
    group: list[Disagreement[S]] = []
    for each in sorted(found, key=lambda one: one.since):
        if group and each.since - group[0].since > TOGETHER_MS:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _times(group: Sequence[Disagreement[S]]) -> dict[str, Any]:
    first = group[0]
    return {
        "since": first.since,
        "since_window_ms": first.since_window_ms,
        "is_since_known": all(each.is_since_known for each in group),
    }


def _views_text(one: Disagreement[Any], text_of: Callable[[Seen], NamedText]) -> NamedText:
    """Name servers and what they have; those with the same stand together."""
    by_text: dict[NamedText, list[str]] = {}
    for namesrv, seen in one.views.items():
        by_text.setdefault(text_of(seen), []).append(namesrv)
    return _listed((named("{} {}", _listed(names), text) for text, names in by_text.items()), "; ")


def _last_changes(one: Disagreement[Any], witnesses: Sequence[Witness], at: int) -> list[Detail]:
    """The last change of a row at each name server, where one is known."""
    found: list[Detail] = []
    for witness in witnesses:
        if witness.namesrv not in one.views:
            continue
        version = witness.history.version_at(one.subject.key, at)
        if version is None:
            found.append(Detail(witness.namesrv, "it never had it, as far as is known"))
            continue
        event = version.begun if version.is_valid(at) else version.removed_by(at)
        if event is not None and event.what is What.CHANGE:
            text = caused_by(event.cause, event.peer, event.closed_by)
            found.append(Detail(witness.namesrv, text, event.at, event.window_ms))
    return found


def _some(names: Iterable[str]) -> NamedText:
    """The first names, and how many more there are."""
    every = list(names)
    rest = len(every) - _NAMES_IN_TEXT
    return _listed(every[:_NAMES_IN_TEXT]) + named(f" and {rest:,} more" if rest > 0 else "")


def _listed(texts: Iterable[str | NamedText], between: str = ", ") -> NamedText:
    every = list(texts)
    return named(between.join(["{}"] * len(every)), *every)
