"""Output of `namekeeper journal verify`: the causes first, equal problems in groups, few lines."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from namekeeper.common.counts import shown_count
from namekeeper.journal.reading.verify_report import BootReport, VerifyProblem, VerifyReport

__all__ = ["verify_lines"]

_MOST_SHOWN = 10
"""Causes, ranges of lost records in a boot, and files that are listed one by one."""
_MOST_BOOTS = 20


def verify_lines(report: VerifyReport) -> Iterator[str]:
    """Lines about a report; the last one is the verdict."""
    uuid = f" ({report.uuid})" if report.uuid else ""
    segments, boots = shown_count(report.segments, "segment"), shown_count(len(report.boots), "boot")
    yield f"{report.namesrv}{uuid}: {segments}, {boots}"
    yield from _problems(report)
    if report.unknown_versions:
        yield f"  {shown_count(report.unknown_versions, 'record')} of a newer version: use a newer namekeeper"
    yield from _boots(report)
    yield from _first(
        [f"  put aside after a crash: quarantine/{file}" for file in report.quarantined], "file"
    )
    if not report.knows_last_boot:
        yield "  the file beside the folder that names its newest boot is missing: one may have been removed"
    yield _verdict(report)


def _problems(report: VerifyReport) -> Iterator[str]:
    causes = [problem for problem in report.problems if not problem.is_consequence]
    consequences = [problem for problem in report.problems if problem.is_consequence]
    yield from _first([_shown(problem) for problem in causes], "problem")
    by_file = groupby(consequences, lambda problem: problem.file)
    yield from _first([_consequences(file, list(group)) for file, group in by_file], "file")
    if report.more_problems:
        yield f"  and {shown_count(report.more_problems, 'more line')} with problems"


def _consequences(file: str, group: Sequence[VerifyProblem]) -> str:
    lines = shown_count(sum(problem.lines for problem in group), "line", "do")
    return (
        f"  {file}: {lines} not count because of what is wrong or missing beside; the first"
        f" is line {group[0].line}, {group[0].what}"
    )


def _shown(problem: VerifyProblem) -> str:
    if not problem.line:
        return f"  {problem.file}: {problem.what}"
    if problem.lines == 1:
        return f"  {problem.file}, line {problem.line}: {problem.what}"
    last = problem.line + problem.lines - 1
    return f"  {problem.file}, lines {problem.line} to {last} ({problem.lines:,}), the first: {problem.what}"


def _boots(report: VerifyReport) -> Iterator[str]:
    """All boots if they are few, else those that lost something and the newest."""
    boots = report.boots
    shown = boots if len(boots) <= _MOST_BOOTS else _notable(boots)[-_MOST_BOOTS:]
    if left_out := len(boots) - len(shown):
        yield f"  {shown_count(left_out, 'more boot')}; --json lists all"
    for boot in shown:
        yield from (
            f"  {text}" for text in _about(boot, is_open=boot is boots[-1] and report.is_being_written)
        )


def _notable(boots: Sequence[BootReport]) -> list[BootReport]:
    return [boot for boot in boots if boot.lost_records or not boot.ends_as_it_should or boot is boots[-1]]


def _about(boot: BootReport, *, is_open: bool) -> Iterator[str]:
    began = datetime.fromtimestamp(boot.boot / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    checkpoints = shown_count(boot.complete_checkpoints, "complete checkpoint")
    if boot.incomplete_checkpoints:
        checkpoints += f" and {boot.incomplete_checkpoints} incomplete"
    records = f"seq {boot.first_seq} to {boot.last_seq}, {shown_count(boot.records, 'record')}, {checkpoints}"
    yield f"boot {boot.boot} ({began}): {records}"
    yield from _first([f"  lost: seq {first} to {last}" for first, last in boot.holes], "range")
    if not boot.ends_as_it_should and not is_open:
        yield f"  it did not stop in an orderly way: records after seq {boot.last_seq} may be lost"


def _first(lines: Sequence[str], what: str) -> Iterator[str]:
    yield from lines[:_MOST_SHOWN]
    if len(lines) > _MOST_SHOWN:
        yield f"  and {shown_count(len(lines) - _MOST_SHOWN, f'more {what}')}; --json has all"


def _verdict(report: VerifyReport) -> str:
    if report.is_complete:
        return "nothing is lost" if report.knows_last_boot else "nothing is lost of what is known"
    lost = (
        f"{shown_count(report.lost_records, 'record', 'are')} lost"
        if report.lost_records
        else "records may be lost"
    )
    return f"not complete: {lost}"
