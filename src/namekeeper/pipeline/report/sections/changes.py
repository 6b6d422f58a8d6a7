"""Changes: changed rows by time and cause, and below it who requested them, by slices of time."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import CAUSES, count_column, window_column
from namekeeper.pipeline.report.period import offset_of, slice_within
from namekeeper.pipeline.report.plots import ColumnsPlot, Kind, columns_of
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_local, shown_time
from namekeeper.pipeline.report.values import Answers, Fold, ReportColumn, Row, Section

__all__ = ["CHANGES"]

_COLUMNS_OF_PLOT = 96
"""Most slices of time in the plot."""
_FOLDS = 72
"""Most slices of time in the list."""
_GROUPS = 2_000
"""Most rows of the list."""
_NAMED_RECORDS = 200
"""A row of more records does not name its topics."""
_HOUR_MS = 3_600_000

_COLUMNS = (
    ReportColumn("first_ts", "first", shown_time),
    ReportColumn("last_ts", "last", shown_time),
    window_column("window_ms", "or earlier by"),
    ReportColumn("why", "what happened"),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("topics", "topics"),
    ReportColumn("host", "peer"),
    count_column("items", "rows"),
    ReportColumn("details", "details"),
    ReportColumn("name_servers", "name servers"),
)

_WENT = frozenset({"expired", "channel_closed", "unregister_broker", "replaced", "stale_registration"})
_CAME = frozenset({"register_broker", "heartbeat"})
_SERVER = frozenset({"started", "stopped", "clock_changed"})
_WORDS = {
    Kind.CAME: "by registrations",
    Kind.WENT: "because brokers went",
    Kind.BY_HAND: "by people and tools",
    Kind.SERVER: "at start and stop of name servers",
}


def _groups(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    period = about.period
    slice_ms = slice_within(period, _FOLDS, _HOUR_MS)
    per_slice = max(_GROUPS * slice_ms // max(period.duration_ms, slice_ms), 10)
    offset = offset_of(period.first_ms, about.tables.report_time_zone)
    args = {"slice_ms": slice_ms, "offset_ms": offset, "per_slice": per_slice}
    return about.ask("change_groups", limit, named_records=_NAMED_RECORDS, **args)


def _by_time(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    slice_ms = slice_within(about.period, _COLUMNS_OF_PLOT)
    offset = offset_of(about.period.first_ms, about.tables.report_time_zone)
    found = about.ask("changes_by_time", limit, slice_ms=slice_ms, offset_ms=offset)
    return found._replace(rows=[{**row, "slice_ms": slice_ms} for row in found.rows])


def _make(answers: Answers, zone: str) -> Section:
    groups = [_group(row) for row in answers["change_groups"].rows]
    by_time = answers["changes_by_time"].rows
    items, records = (sum(row[name] for row in by_time) for name in ("items", "records"))
    verb = "was" if items == 1 else "were"
    summary = [f"{shown_count(items, 'row')} {verb} changed by {shown_count(records, 'record')}."]
    folds = list(_folds(groups, zone))
    total = sum(len(fold.rows) + fold.more for fold in folds)
    if total < records:
        summary.append(
            f"Changes of one cause, broker name and host within the same part of the time are one row:"
            f" {shown_count(total, 'row')} below."
        )
    if len(groups) < total:
        summary.append(
            "Where there are many, only some are listed; the command namekeeper history lists every change."
        )
    return Section("changes", "Changes", None, summary, _COLUMNS, groups, total, by_time, folds)


def _group(row: Row) -> Row:
    """A group for the table: with the text of its cause, and without a last time that equals the first."""
    unnamed = [f"{shown_count(row['unnamed'], 'row')} of several topics"] if row["unnamed"] else []
    return {
        **row,
        "why": CAUSES.get(row["cause"], row["cause"]),
        "last_ts": None if row["last_ts"] == row["first_ts"] else row["last_ts"],
        "topics": [*(row["topics"] or ()), *unnamed],
    }


def _folds(groups: Iterable[Row], zone: str) -> Iterator[Fold]:
    for begin, some in groupby(groups, key=lambda row: row["slice"]):
        rows = list(some)
        causes: dict[str, int] = {}
        for row in rows:
            causes[row["why"]] = row["cause_items"]
        most = sorted(causes, key=lambda why: (-causes[why], why))
        summary = ", ".join(f"{why}: {causes[why]:,}" for why in most)
        yield Fold(shown_local(begin, zone)[:-3], summary, rows, rows[0]["slice_groups"] - len(rows))


def _draw(section: Section, scale: TimeScale) -> ColumnsPlot:
    """Changed rows by time and kind of cause, stacked."""
    counts: dict[int, dict[Kind, int]] = {}
    for row in section.plot:
        of_kind = counts.setdefault(row["slice"], {})
        kind = _kind(row["cause"])
        of_kind[kind] = of_kind.get(kind, 0) + row["items"]
    slice_ms = section.plot[0]["slice_ms"]
    totals = _totals(counts.values())
    words = {kind: words for kind, words in _WORDS.items() if kind in totals}
    top, columns = columns_of(scale, counts, slice_ms, words)
    most = max(counts, key=lambda begin: (sum(counts[begin].values()), -begin))
    largest = max(totals, key=lambda kind: (totals[kind], kind))
    text = (
        f"When rows changed, and why: most of them {_WORDS[largest]}; at most {top:,}"
        f" within {shown_duration(slice_ms)}, from {shown_local(most, scale.zone)} on."
    )
    return ColumnsPlot(text, list(words.items()), "rows", top, columns)


def _kind(cause: str) -> Kind:
    if cause in _CAME:
        return Kind.CAME
    if cause in _WENT:
        return Kind.WENT
    return Kind.SERVER if cause in _SERVER else Kind.BY_HAND


def _totals(counts: Iterable[Mapping[Kind, int]]) -> dict[Kind, int]:
    total: dict[Kind, int] = {}
    for of_kind in counts:
        for kind, count in of_kind.items():
            total[kind] = total.get(kind, 0) + count
    return total


CHANGES = SectionSpec(
    "changes", {"change_groups": Question(_groups), "changes_by_time": Question(_by_time)}, _make, _draw
)
