"""What name servers of a fleet are made to disagree about, and whether an observer reports exactly that."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from namekeeper.answers.source import JournalAnswers
from namekeeper.drift.compared import compared
from namekeeper.drift.disagreement import Subject
from namekeeper.drift.lacking import DriftCause, LackingFinder, LackingPeriod

__all__ = ["Between", "MadeDrift", "Scrape", "found_in", "wrong_reports", "wrong_scrapes"]

SHOWN_WITHIN_MS = 40_000
"""A scrape shows a drift that began, or ended, so long before: its window, when it counts, and the page's own time."""
DAY_MS = 86_400_000
STATED_MS = {
    DriftCause.BROKER_MISSING: 6_000, DriftCause.TOPIC_MISSING: 10_000, DriftCause.PERMISSION_DIFFERS: 10_000,
    DriftCause.QUEUES_DIFFER: 10_000, DriftCause.ORDER_DIFFERS: 15_000, DriftCause.KV_DIFFERS: 15_000,
}  # fmt: skip
"""The longest windows with few topics, of docs/reference/drift.md."""


@dataclass(frozen=True, slots=True)
class Between:
    """Between which two instants something happened, wall ms."""

    before: int
    after: int


@dataclass(slots=True)
class MadeDrift:
    """A disagreement that was made."""

    cause: DriftCause
    subject: Subject
    lacking: frozenset[str]
    """The ids of the name servers that lack something."""
    start: Between
    end: Between | None = None
    """None: it goes on."""

    @property
    def name(self) -> str:
        """What it is, for a complaint."""
        return f"{self.cause} of {self.subject.key} at {', '.join(sorted(self.lacking))} from {self.start.before}"


@dataclass(frozen=True, slots=True)
class Scrape:
    """What a metric said."""

    at: int
    """Wall ms."""
    kinds: frozenset[str]
    """The kinds of verdicts."""
    is_read: bool = True
    """Whether there was an answer."""


def found_in(folder: Path) -> list[LackingPeriod]:
    """What journals say of drift that is an incident, of all time."""
    histories = JournalAnswers([str(each) for each in sorted(folder.iterdir()) if each.is_dir()]).histories(
        None, 7 * DAY_MS
    )
    groups = compared(histories, None)
    found: list[LackingPeriod] = []
    for cluster in groups.clusters:
        horizon = max(each.history.knows_up_to or 0 for each in cluster)
        finder = LackingFinder([each.as_at(horizon + 1) for each in cluster], horizon)
        for subject in {*finder.changed_since(0)}:
            found += finder.of_subject(subject)
    return found


def wrong_reports(made: Sequence[MadeDrift], found: Iterable[LackingPeriod]) -> list[str]:
    """Say which drift was not reported, reported with a wrong time, or reported and never made."""
    left = list(found)
    wrong = []
    for drift in made:
        same = [each for each in left if _is_of(each, drift)]
        if Counter(each.namesrv for each in same) != Counter(drift.lacking):
            wrong.append(f"not reported once: {drift.name}: {same or 'nothing'}")
        for each in same:
            left.remove(each)
            wrong += [f"{text}: {drift.name}: {each}" for text in _wrong_times(each, drift)]
    return [*wrong, *(f"never made: {each}" for each in left)]


def wrong_scrapes(made: Sequence[MadeDrift], scrapes: Iterable[Scrape]) -> list[str]:
    """Say which scrape lacked a drift that went on, or had one of a kind that was not there."""
    wrong = []
    for scrape in scrapes:
        if not scrape.is_read:
            wrong.append(f"no answer to the scrape at {scrape.at}")
            continue
        sure, possible = set[str](), set[str]()
        for drift in made:
            end = drift.end or Between(scrape.at, scrape.at)
            if drift.start.after + SHOWN_WITHIN_MS <= scrape.at < end.before:
                sure.add(drift.cause)
            if drift.start.before <= scrape.at <= end.after + SHOWN_WITHIN_MS:
                possible.add(drift.cause)
        wrong += [f"not in the scrape at {scrape.at}: {kind}" for kind in sorted(sure - scrape.kinds)]
        wrong += [f"in the scrape at {scrape.at}: {kind}" for kind in sorted(scrape.kinds - possible)]
    return wrong


def _is_of(found: LackingPeriod, made: MadeDrift) -> bool:
    """Whether they are about one thing and overlap."""
    until = found.to if made.end is None else made.end.after
    return (
        (found.subject, found.cause) == (made.subject, made.cause)
        and found.namesrv in made.lacking
        and found.since - found.window_ms <= until
        and made.start.before <= found.to
    )


def _wrong_times(found: LackingPeriod, made: MadeDrift) -> Iterable[str]:
    stated = STATED_MS[made.cause]
    if not (found.since - found.window_ms <= made.start.after and made.start.before <= found.since):
        yield "the start is not in its window"
    if found.window_ms > stated:
        yield f"the window is longer than {stated} ms"
    if made.end is not None and not made.end.before <= found.to <= made.end.after + stated:
        yield "the end is wrong"
