"""The comparison of a shadow as one sentence, and as a value for JSON."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from namekeeper.answers.times import iso_text
from namekeeper.common.counts import shown_count, shown_list
from namekeeper.common.durations import shown_duration
from namekeeper.drift.report import VerdictValue, verdict_value
from namekeeper.drift.shadow import ShadowReport, ShadowState
from namekeeper.drift.witness import BrokerId

__all__ = ["EndedValue", "ShadowValue", "shadow_summary", "shadow_value"]


class EndedValue(Struct, frozen=True, kw_only=True):
    """Differences that are over, in JSON."""

    to: int
    """Wall ms."""
    to_iso: str
    verdicts: Sequence[VerdictValue]


class ShadowValue(Struct, frozen=True, kw_only=True):
    """The comparison of a shadow with the name servers of its cluster, in JSON."""

    shadow: str
    cluster_label: str
    at: int
    """Wall ms; 0: nothing is known."""
    at_iso: str
    state: ShadowState
    summary: str
    compared_with: Sequence[str]
    why_not: str
    begun: int | None
    equal_since: int | None
    equal_since_iso: str | UnsetType = UNSET
    equal_ms: int
    unknown_ms: int
    changes: int
    brokers: int
    topics: int
    not_registered: Sequence[BrokerId]
    not_registered_total: int
    differences: Sequence[VerdictValue]
    differences_total: int
    unsettled: int
    ended: Sequence[EndedValue]


def shadow_summary(report: ShadowReport) -> str:
    """One sentence without the id of the shadow, as `equal for 3 d, 12 changes`."""
    match report.state:
        case ShadowState.UNKNOWN:
            return f"not compared: {report.why_not}"
        case ShadowState.DIFFERENT:
            return (
                f"{shown_count(len(report.differences), 'difference')} to {', '.join(report.compared_with)}"
            )
        case _:
            return f"{_equal(report)}{_missing(report)}"


def _equal(report: ShadowReport) -> str:
    if report.equal_since is None:
        return "no broker has registered with it and another name server yet"
    if not report.brokers:
        return "no broker is registered with it"
    held = f"{shown_count(report.brokers, 'broker')} and {shown_count(report.topics, 'topic')}"
    changes = shown_count(report.changes, "change")
    whom = ", ".join(report.compared_with)
    return f"equal for {shown_duration(report.equal_ms)}, {changes}: {held}, as at {whom}"


def _missing(report: ShadowReport) -> str:
    count = len(report.not_registered)
    if not count:
        return ""
    names = shown_list([f"{each.broker_name} ({each.addr})" for each in report.not_registered])
    return f"; {shown_count(count, 'broker', 'do')} not register with it: {names}"


def shadow_value(report: ShadowReport, limit: int) -> ShadowValue:
    """A report as a value for JSON, with at most so many brokers and verdicts of a kind."""
    since = report.equal_since
    return ShadowValue(
        shadow=report.shadow,
        cluster_label=report.cluster_label,
        at=report.at,
        at_iso=iso_text(report.at),
        state=report.state,
        summary=shadow_summary(report),
        compared_with=report.compared_with,
        why_not=report.why_not,
        begun=report.begun,
        equal_since=since,
        equal_since_iso=UNSET if since is None else iso_text(since),
        equal_ms=report.equal_ms,
        unknown_ms=report.unknown_ms,
        changes=report.changes,
        brokers=report.brokers,
        topics=report.topics,
        not_registered=report.not_registered[:limit],
        not_registered_total=len(report.not_registered),
        differences=[verdict_value(each) for each in report.differences[:limit]],
        differences_total=len(report.differences),
        unsettled=report.unsettled,
        ended=[
            EndedValue(
                to=each.to,
                to_iso=iso_text(each.to),
                verdicts=[verdict_value(one) for one in each.verdicts[:limit]],
            )
            for each in report.ended
        ],
    )
