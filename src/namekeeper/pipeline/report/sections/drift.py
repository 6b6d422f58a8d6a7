"""Differences between name servers, about brokers and about topics."""

from collections.abc import Iterable

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import CLUSTER, LABEL, duration_column, some_of, window_column
from namekeeper.pipeline.report.plots import Kind, Lane, LanesPlot, bar_of, label_of
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_time
from namekeeper.pipeline.report.values import (
    KEPT,
    LANES,
    Answers,
    Headline,
    ReportColumn,
    Row,
    Section,
    Severity,
)

__all__ = ["DRIFT"]

_COLUMNS = (
    ReportColumn("valid_from", "from", shown_time),
    ReportColumn("valid_to", "to", shown_time),
    duration_column("ms", "for"),
    window_column("uncertain_ms", "uncertain"),
    ReportColumn("is_open", "ended", lambda value, _zone: "not yet" if value else "yes"),
    LABEL,
    CLUSTER,
    ReportColumn("subject", "about", is_subject=True),
    ReportColumn("views", "what each held"),
)
_WORDS = {Kind.DOWN: "about a broker", Kind.NOTICE: "about topics"}


def _drift(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.drift(about.tables, about.days, label=about.label, limit=limit)


def _make(answers: Answers, _zone: str) -> Section:
    rows, total = answers["drift"]
    found = [
        {**row, "ms": _ms(row), "uncertain_ms": _uncertain_ms(row), "subject": _subject(row)} for row in rows
    ]
    summary = [f"{shown_count(total, 'difference')} of 5 seconds or more between name servers."]
    longest = max(found, key=_ms, default=None)
    if longest is not None:
        summary.append(f"The longest, about {longest['subject']}, held for {shown_duration(longest['ms'])}.")
    title = "Differences between name servers"
    headline = Headline(Severity.GOOD, "No differences between name servers")
    if total:
        headline = Headline(Severity.NOTICE, f"{shown_count(total, 'difference')} between name servers")
    return Section("drift", title, headline, summary, _COLUMNS, found[:KEPT], total, found)


def _ms(row: Row) -> int:
    """How long a difference held."""
    duration: int = row["valid_to"] - row["valid_from"]
    return duration


def _uncertain_ms(row: Row) -> int:
    """Time at its end in which it may have been over already: the window of the change that ended it."""
    return min(row["to_window_ms"] or 0, _ms(row))


def _subject(row: Row) -> str:
    of_label = f" of {row['cluster_label']}" if row["cluster_label"] else ""
    if row["topic"] is not None:
        return f"{row['topic']} on {row['broker_name']}{of_label}"
    return f"broker {row['broker_name']} ({row['broker_id']}){of_label}"


def _draw(section: Section, scale: TimeScale) -> LanesPlot:
    """Intervals of disagreement; subjects of one kind with the same intervals share a lane."""
    of_subject: dict[tuple[Kind, str], list[Row]] = {}
    for row in section.plot:
        kind = Kind.DOWN if row["topic"] is None else Kind.NOTICE
        of_subject.setdefault((kind, row["subject"]), []).append(row)
    lanes: dict[tuple[Kind, tuple[tuple[int, int], ...]], list[str]] = {}
    for (kind, subject), rows in of_subject.items():
        times = tuple((row["valid_from"], row["valid_to"]) for row in rows)
        lanes.setdefault((kind, times), []).append(subject)
    longest = sorted(lanes, key=lambda lane: -sum(last - first for first, last in lane[1]))[:LANES]
    drawn = [_lane(scale, kind, times, lanes[kind, times]) for kind, times in longest]
    kinds = {kind for kind, _ in longest}
    intervals, subjects = shown_count(section.total, "interval"), shown_count(len(of_subject), "subject")
    text = f"When name servers disagreed: {intervals} about {subjects}."
    return LanesPlot(text, [(kind, words) for kind, words in _WORDS.items() if kind in kinds], drawn)


def _lane(scale: TimeScale, kind: Kind, times: Iterable[tuple[int, int]], subjects: list[str]) -> Lane:
    who = some_of(subjects)
    return Lane(label_of(who), who, [bar_of(scale, each, kind, f"differed about {who}") for each in times])


DRIFT = SectionSpec("drift", {"drift": Question(_drift)}, _make, _draw)
