"""Compares what a command prints with what a document shows of it: the words count, times and numbers do not."""

import re
from collections.abc import Sequence

__all__ = ["block_after", "shape_of", "shows"]

_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+(:\d+)?")
_DURATION = re.compile(r"\d[\d.,]* (ms|s|min|h)( \d+ s)?")
_NAMESRV = re.compile(r"[\w.-]+_\d{4,5}( \+[\d,]+ ms)?\b")
_NUMBER = re.compile(r"\d[\d,]*")
_RULE = re.compile(r"─+")


def shape_of(line: str) -> str:
    """A line without what differs from run to run."""
    line = _RULE.sub("─", _NAMESRV.sub("ID", _ADDRESS.sub("A", _TIME.sub("T", line.strip()))))
    return " ".join(_NUMBER.sub("N", _DURATION.sub("D", line)).split())


def shows(shown: Sequence[str], printed: str) -> bool:
    """Whether the lines that a document shows are printed, in this order.

    `...` stands for any lines, at the end of a line for the rest of it.
    """
    rest = [shape_of(line) for line in printed.splitlines() if line.strip()]
    is_gap = False
    for line in filter(None, map(str.strip, shown)):
        if line == "...":
            is_gap = True
            continue
        found = [number for number, each in enumerate(rest) if _is_shown(line, each)]
        if not found or (found[0] > 0 and not is_gap):
            return False
        rest = rest[found[0] + 1 :]
        is_gap = False
    return is_gap or not rest


def _is_shown(line: str, printed: str) -> bool:
    begin = line.removesuffix("...")
    return printed == shape_of(line) if begin == line else printed.startswith(shape_of(begin))


def block_after(text: str, command: str) -> list[str]:
    """The indented lines that a document shows below a command, up to other text or the next command."""
    lines = text.split(f"\n    {command}\n", 1)[1].splitlines()
    found: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith("    "):
            break
        if line.startswith(("    namekeeper ", "    mqadmin ", "    curl ")):
            break
        found.append(line)
    return found
