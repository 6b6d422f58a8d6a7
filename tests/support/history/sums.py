"""Sums and comparisons over several name servers by plain loops over instants: the oracle of the gold aggregates.

Slow and short on purpose. Rules are those of docs/decisions/0012, written a second time; nothing is shared with the SQL.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from statistics import median
from typing import Any

from tests.support.history.oracle import Story, StoryStep

__all__ = ["DAY", "Sums", "UpPeriod", "day_of"]

DAY = 86_400_000
MEMORY = 7 * DAY
Unregistered = Collection[tuple[str, int, int]]
LATE = 120_000

Span = tuple[int, int]
Held = dict[Any, list[Span]]
UpPeriod = tuple[int, int, StoryStep]
"""From, to, and what held."""


class Sums:
    """What several name servers of one cluster knew, together; days are those of UTC."""

    def __init__(self, stories: Mapping[str, Story], horizon: int) -> None:
        """Look at some name servers.

        Args:
            stories: Name server -> its story.
            horizon: The last instant of which any name server of the warehouse tells.
        """
        self.horizon = horizon
        self.periods = {name: list(_periods(story)) for name, story in stories.items()}
        self.began = {name: story.began for name, story in stories.items()}
        self.brokers = {
            name: _held(each, lambda m: [(*row[:2], key[1]) for key, row in m.state["live"].items()])
            for name, each in self.periods.items()
        }
        self.topics = {
            name: _held(each, lambda m: [(*key, row) for key, row in m.state["topic"].items()])
            for name, each in self.periods.items()
        }
        self.names = {
            name: _held(each, lambda m: [key[0] for key in m.state["group"]])
            for name, each in self.periods.items()
        }

    # Who can tell.

    def sees(self, name: str, at: int) -> StoryStep | None:
        """The step of a name server that is up and known, and has seen the cluster lately."""
        period = next((m for start, end, m in self.periods[name] if start <= at < end), None)
        spans = [span for each in self.brokers[name].values() for span in each]
        return period if any(start <= at < end + MEMORY for start, end in spans) else None

    def is_witness(self, name: str, at: int, first_of_boot: Callable[[StoryStep], bool]) -> bool:
        """Whether it would know of the thing that `first_of_boot` looks for in a step."""
        now = self.sees(name, at)
        if now is None:
            return False
        if at >= self.began[name][now.boot] + LATE:
            return True
        return any(
            m.boot == now.boot and start <= at and first_of_boot(m) for start, _, m in self.periods[name]
        )

    # Brokers.

    def broker_days(self, unregistered: Unregistered) -> dict[tuple[str, str, int], dict[str, int]]:
        """(day, broker name, id) -> state -> ms.

        Args:
            unregistered: (broker name, id, instant) of registrations that ended because the broker asked.
        """
        found: dict[tuple[str, str, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for broker in {key[:2] for held in self.brokers.values() for key in held}:
            for start, end, state in self.broker_states(broker, unregistered):
                for day, ms in _by_day(start, end):
                    found[day, *broker][state] += ms
        return {key: dict(states) for key, states in found.items()}

    def broker_states(
        self, broker: tuple[str, int], unregistered: Unregistered
    ) -> Iterator[tuple[int, int, str]]:
        """(from, to, state) in small pieces."""
        spans = [
            span
            for held in self.brokers.values()
            for key, some in held.items()
            if key[:2] == broker
            for span in some
        ]

        def is_there(step: StoryStep) -> bool:
            return any(row[:2] == broker for row in step.state["live"].values())

        for start, end in pairwise(self._instants([*spans, *((a, b + MEMORY) for a, b in spans)])):
            if not any(a <= start < min(b + MEMORY, self.horizon) for a, b in spans):
                continue
            if any(a <= start < b for a, b in spans):
                yield start, end, "up"
            else:
                seen = any(self.is_witness(name, start, is_there) for name in self.periods)
                last = max(b for _, b in spans if b <= start)
                gone = "unregistered" if (*broker, last) in unregistered else "down"
                yield start, end, gone if seen else "unknown"

    # Topics.

    def topic_days(
        self, deleted: Mapping[str, list[tuple[str, str, int]]]
    ) -> dict[tuple[str, str], dict[str, int]]:
        """(day, topic) -> state -> ms.

        Args:
            deleted: name server -> (broker name, topic, instant) of rows that ended by themselves.
        """
        found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for topic in {key[1] for held in self.topics.values() for key in held}:
            for start, end, state in self._topic_states(topic, deleted):
                for day, ms in _by_day(start, end):
                    found[day, topic][state] += ms
        return {key: dict(states) for key, states in found.items()}

    def worst_topic_days(
        self, deleted: Mapping[str, list[tuple[str, str, int]]]
    ) -> dict[tuple[str, str], dict[str, int]]:
        """(day, topic) -> name server -> ms in which it was a witness, and nothing could be written to there.

        Args:
            deleted: as above.
        """
        found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for topic in {key[1] for held in self.topics.values() for key in held}:

            def is_there(step: StoryStep, topic: str = topic) -> bool:
                return any(key[1] == topic for key in step.state["topic"])

            for start, end, _ in self._topic_states(topic, deleted):
                for name in self.periods:
                    if self.is_witness(name, start, is_there) and not self._is_writable(name, topic, start):
                        for day, ms in _by_day(start, end):
                            found[day, topic][name] += ms
        return {key: dict(times) for key, times in found.items()}

    def _topic_states(
        self, topic: str, deleted: Mapping[str, list[tuple[str, str, int]]]
    ) -> Iterator[tuple[int, int, str]]:
        spans, expected = [], []
        for name, held in self.topics.items():
            for key, some in held.items():
                for a, b in some if key[1] == topic else ():
                    spans.append((a, b))
                    expected.append(
                        (a, b if (key[0], topic, b) in deleted[name] else min(b + MEMORY, self.horizon))
                    )

        def is_there(step: StoryStep) -> bool:
            return any(key[1] == topic for key in step.state["topic"])

        masters = [span for held in self.brokers.values() for some in held.values() for span in some]
        for start, end in pairwise(self._instants([*spans, *expected, *masters])):
            if not any(a <= start < b for a, b in expected):
                continue
            if any(self._is_writable(name, topic, start) for name in self.periods):
                yield start, end, "writable"
            elif any(a <= start < b for a, b in spans):
                yield start, end, "unwritable"
            else:
                seen = any(self.is_witness(name, start, is_there) for name in self.periods)
                yield start, end, "no_route" if seen else "unknown"

    def _is_writable(self, name: str, topic: str, at: int) -> bool:
        step = next((m for start, end, m in self.periods[name] if start <= at < end), None)
        if step is None:
            return False
        masters = {row[0] for row in step.state["live"].values() if row[1] == 0}
        rows = step.state["topic"].items()
        return any(key[1] == topic and key[0] in masters and row[2] & 2 and row[1] > 0 for key, row in rows)

    # Differences.

    def offsets(self, samples: Iterable[Mapping[str, int]]) -> dict[tuple[str, str], int]:
        """(name server, day) -> how far its clock is off, from (name server -> instant) of what several saw."""
        differences: dict[tuple[str, str], list[float]] = defaultdict(list)
        for sample in samples:
            if len(sample) > 1:
                middle = median(sample.values())
                for name, at in sample.items():
                    differences[name, day_of(at)].append(at - middle)
        return {key: _rounded(median(some)) for key, some in differences.items() if len(some) >= 5}

    def drift(self, offsets: Mapping[tuple[str, str], int]) -> list[tuple[Any, ...]]:
        """(broker, held by, missing at, from, to) of 5 seconds or more."""
        corrected = _correcting(offsets)
        found = []
        for broker in {key for held in self.brokers.values() for key in held}:
            held = {
                name: [corrected(name, s) for s in each.get(broker, ())]
                for name, each in self.brokers.items()
            }
            witness = {
                name: [corrected(name, s) for s in self._witness_spans(name, broker[:2])]
                for name in self.brokers
            }
            bounds = sorted(
                {at for some in (held, witness) for each in some.values() for span in each for at in span}
            )
            views = [
                (start, end, _having(held, witness, start, end), _lacking(held, witness, start, end))
                for start, end in pairwise(bounds)
            ]
            found += [
                (broker, has, lacks, start, end)
                for start, end, has, lacks in _joined(views)
                if has and lacks and end - start >= 5_000
            ]
        return sorted(found)

    def topic_drift(self, offsets: Mapping[tuple[str, str], int]) -> list[tuple[Any, ...]]:
        """(broker name, topic, how each name server sees it, from, to) of 5 seconds or more."""
        corrected = _correcting(offsets)
        found = []
        for broker_name, topic in {key[:2] for held in self.topics.values() for key in held}:
            holders = {
                name: [corrected(name, s) for s in held.get(broker_name, ())]
                for name, held in self.names.items()
            }
            seen = {
                name: [
                    (corrected(name, s), key[2])
                    for key, some in held.items()
                    if key[:2] == (broker_name, topic)
                    for s in some
                ]
                for name, held in self.topics.items()
            }
            spans = [span for some in holders.values() for span in some]
            spans += [span for some in seen.values() for span, _ in some]
            bounds = sorted({at for span in spans for at in span})
            views = [(start, end, _views(holders, seen, start, end), ()) for start, end in pairwise(bounds)]
            found += [
                (broker_name, topic, tuple(f"{name}: {view}" for name, view in view_of), start, end)
                for start, end, view_of, _ in _joined(views)
                if len({view for _, view in view_of}) > 1 and end - start >= 5_000
            ]
        return sorted(found)

    def _witness_spans(self, name: str, broker: tuple[str, int]) -> list[Span]:
        def is_there(step: StoryStep) -> bool:
            return any(row[:2] == broker for row in step.state["live"].values())

        spans: list[Span] = []
        bounds = self._instants([(a, b + MEMORY) for some in self.brokers[name].values() for a, b in some])
        for start, end in pairwise(bounds):
            if self.is_witness(name, start, is_there):
                step = self.sees(name, start)
                assert step is not None
                boot = step.boot
                if spans and spans[-1][1] == start and not self._begins_at(name, start):
                    spans[-1] = (spans[-1][0], end)
                else:
                    spans.append((start, end))
                assert boot
        return spans

    def _begins_at(self, name: str, at: int) -> bool:
        """Whether a known period begins then: behind it is another one."""
        before = next((m for start, end, m in self.periods[name] if end == at), None)
        after = next((m for start, end, m in self.periods[name] if start == at), None)
        return before is not None and after is not None and before.boot != after.boot

    def _instants(self, spans: Iterable[Span]) -> list[int]:
        """Every instant at which something may change."""
        instants = {at for span in spans for at in span}
        for name, each in self.periods.items():
            for start, end, step in each:
                instants |= {start, end, self.began[name][step.boot] + LATE}
        memories = {at + MEMORY for held in self.brokers.values() for some in held.values() for _, at in some}
        return sorted(instants | memories | {self.horizon})


def _periods(story: Story) -> Iterator[UpPeriod]:
    """(from, to, step) while it was up and as far as is known."""
    ends = [*(step.ts for step in story.steps[1:]), story.knows_up_to]
    for step, end in zip(story.steps, ends, strict=True):
        if step.status == "up" and step.ts < min(end, story.knows_up_to):
            yield step.ts, min(end, story.knows_up_to), step


def _held(periods: Iterable[tuple[int, int, StoryStep]], keys: Callable[[StoryStep], Iterable[Any]]) -> Held:
    """Key -> spans, joined where they touch."""
    held: Held = {}
    for start, end, step in periods:
        for key in set(keys(step)):
            spans = held.setdefault(key, [])
            if spans and spans[-1][1] == start:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
    return held


def _correcting(offsets: Mapping[tuple[str, str], int]) -> Callable[[str, Span], Span]:
    """Spans of a name server to what they were by a right clock."""

    def corrected(name: str, span: Span) -> Span:
        start, end = span
        return start - offsets.get((name, day_of(start)), 0), end - offsets.get((name, day_of(end)), 0)

    return corrected


def _views(
    holders: Mapping[str, list[Span]], seen: Mapping[str, list[tuple[Span, Any]]], start: int, end: int
) -> tuple[tuple[str, str], ...]:
    """How each name server that holds the broker name sees a topic, sorted."""
    views = []
    for name in sorted(holders):
        if _covers(holders[name], start, end):
            rows = [row for span, row in seen[name] if _covers([span], start, end)]
            view = "read {}, write {}, perm {}, flag {}".format(*rows[0]) if rows else "absent"
            views.append((name, view))
    return tuple(views)


def _having(
    held: dict[str, list[Span]], witness: dict[str, list[Span]], start: int, end: int
) -> tuple[str, ...]:
    return tuple(sorted(n for n in held if _covers(held[n], start, end) and _covers(witness[n], start, end)))


def _lacking(
    held: dict[str, list[Span]], witness: dict[str, list[Span]], start: int, end: int
) -> tuple[str, ...]:
    return tuple(
        sorted(n for n in held if _covers(witness[n], start, end) and not _covers(held[n], start, end))
    )


def _covers(spans: Iterable[Span], start: int, end: int) -> bool:
    return any(a <= start and b >= end for a, b in spans)


def _joined(views: Iterable[tuple[int, int, Any, Any]]) -> list[tuple[int, int, Any, Any]]:
    joined: list[tuple[int, int, Any, Any]] = []
    for start, end, has, lacks in views:
        if joined and joined[-1][1:] == (start, has, lacks):
            joined[-1] = (joined[-1][0], end, has, lacks)
        else:
            joined.append((start, end, has, lacks))
    return joined


def _by_day(start: int, end: int) -> Iterator[tuple[str, int]]:
    while start < end:
        until = min(end, (start // DAY + 1) * DAY)
        yield day_of(start), until - start
        start = until


def _rounded(value: float) -> int:
    """Halves away from zero, as SQL does it."""
    return int(value + (0.5 if value >= 0 else -0.5))


def day_of(ms: int) -> str:
    """Its day in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%d")
