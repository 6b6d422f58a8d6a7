"""Shows the findings of checks: lines for people, an exit code for the shell."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from namekeeper.common.printable import printable
from namekeeper.pipeline.checks.rules import Level

if TYPE_CHECKING:
    from namekeeper.pipeline.checks.checking import CheckFinding

__all__ = ["EXIT_BROKEN", "EXIT_CONCERNS", "exit_code_of", "lines_of"]

EXIT_CONCERNS = 1
"""The tables are right; something about the journals should be known."""
EXIT_BROKEN = 4
"""A table breaks a rule that every warehouse keeps."""


def lines_of(findings: Sequence["CheckFinding"]) -> Iterator[str]:
    """Lines that say what was found, or that nothing was."""
    for finding in findings:
        yield printable(f"{finding.level.upper()}  {finding.name}: {finding.found} ({finding.meaning})")
        for example in finding.examples:
            yield printable(f"    {_row(example)}")
        if finding.found > len(finding.examples):
            yield f"    ... and {finding.found - len(finding.examples)} more"
    if not findings:
        yield "all is well"


def exit_code_of(findings: Sequence["CheckFinding"]) -> int:
    """0, `EXIT_CONCERNS` or `EXIT_BROKEN`."""
    if not findings:
        return 0
    return EXIT_BROKEN if any(finding.level is Level.BROKEN for finding in findings) else EXIT_CONCERNS


def _row(example: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in example.items() if value is not None)
