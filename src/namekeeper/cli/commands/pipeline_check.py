"""`namekeeper pipeline check`: what is wrong with a warehouse, and with the journals behind it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from namekeeper.cli.spark import refusals, session_of, session_options, shown_steps

if TYPE_CHECKING:
    from namekeeper.pipeline.checks import Finding

__all__ = ["EXIT_BROKEN", "EXIT_CONCERNS", "check", "lines_of"]

EXIT_CONCERNS = 1
"""The tables are right; something about the journals should be known."""
EXIT_BROKEN = 4
"""A table breaks a rule that every warehouse keeps."""


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--warehouse", required=True, metavar="URI", help="The warehouse.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@session_options
@click.pass_context
def check(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, warehouse: str, as_json: bool, memory: str, master: str, remote: str | None,
    settings: Mapping[str, str],
) -> None:  # fmt: skip
    """Check that the tables keep their rules, and say what is known to be lost.

    Ends with 0 if all is well, 1 if there is something to know (records lost, boots that overlap, lines in
    quarantine, clocks that disagree), 4 if a table breaks a rule, 2 if the warehouse can't be read.
    """
    with refusals(), shown_steps() as progress:
        from namekeeper.pipeline.answers import open_warehouse
        from namekeeper.pipeline.checks import check_warehouse

        tables = open_warehouse(warehouse)
        findings = check_warehouse(session_of(memory, master, remote, settings)(), tables, progress)
    if as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(lines_of(findings)) or "all is well")
    context.exit(_exit_code(findings))


def lines_of(findings: Sequence["Finding"]) -> Iterator[str]:
    """What was found, for people."""
    from namekeeper.pipeline.report.text import printable

    for finding in findings:
        yield f"{finding.level.upper()}  {finding.name}: {finding.found} ({finding.meaning})"
        for example in finding.examples:
            yield printable(f"    {_row(example)}")
        if finding.found > len(finding.examples):
            yield f"    ... and {finding.found - len(finding.examples)} more"


def _row(example: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in example.items() if value is not None)


def _exit_code(findings: Sequence["Finding"]) -> int:
    if not findings:
        return 0
    return EXIT_BROKEN if any(finding.level == "broken" for finding in findings) else EXIT_CONCERNS
