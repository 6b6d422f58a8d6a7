"""Verdicts on what name servers disagree about, as a table."""

import sys
from collections.abc import Iterable, Iterator

from msgspec import Struct

from namekeeper.answers.times import Zone, shown, shown_window
from namekeeper.common.durations import shown_duration
from namekeeper.common.printable import printable
from namekeeper.drift.verdict import Detail, DriftVerdict

__all__ = ["Dated", "show_verdicts"]

_WIDTH_WITHOUT_TERMINAL = 160


class Dated(Struct, frozen=True):
    """A verdict, and until when it is true."""

    verdict: DriftVerdict
    until: int
    """Wall ms; of a disagreement that goes on the present."""


def show_verdicts(verdicts: Iterable[Dated], zone: Zone) -> None:
    """Print verdicts with the starts and durations of the disagreements."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("since", "verdict"):
        table.add_column(head, overflow="fold")
    for each in verdicts:
        verdict = each.verdict
        since = f"{_since(verdict, zone)}\nfor {shown_duration(each.until - verdict.since)}"
        table.add_row(Text(since), Text("\n".join(_lines(verdict, zone))))
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL, highlight=False)
    console.print(table)


def _since(verdict: DriftVerdict, zone: Zone) -> str:
    if verdict.is_since_known:
        return shown_window(verdict.since, verdict.since_window_ms, zone)
    return f"{shown(verdict.since, zone)} or before"


def _lines(verdict: DriftVerdict, zone: Zone) -> Iterator[str]:
    yield printable(verdict.summary)
    for detail in verdict.details:
        yield printable(f"  {_detail(detail, zone)}")


def _detail(detail: Detail, zone: Zone) -> str:
    when = "" if detail.at is None else f", {shown_window(detail.at, detail.window_ms, zone)}"
    return f"{detail.namesrv}: {detail.text}{when}"
