"""`namekeeper pipeline check`: what is wrong with a warehouse, and with the journals behind it."""

import json

import click

from namekeeper.cli.output import echo, json_option
from namekeeper.cli.spark import MakeSession, refusals, session_options, shown_steps
from namekeeper.common.printable import printable_json
from namekeeper.pipeline.checks.findings import exit_code_of, lines_of

__all__ = ["check"]


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--warehouse", required=True, metavar="URI", help="The warehouse.")
@click.option(
    "--journal", "journals", multiple=True, metavar="URI",
    help="Also list this folder of journals completely, and report segments that the warehouse lacks. "
    "May be repeated.",
)  # fmt: skip
@json_option()
@session_options
@click.pass_context
def check(
    context: click.Context,
    /,
    *,
    warehouse: str,
    journals: tuple[str, ...],
    as_json: bool,
    session: MakeSession,
) -> None:
    """Check that files are unchanged and tables keep their rules; report known losses.

    Ends with 0 if all is well, and with 1 if there is something to know (records lost, boots that overlap,
    lines in quarantine, clocks that disagree, segments that the warehouse lacks). Ends with 4 if a file was
    altered or a table breaks a rule, and with 2 if the warehouse can't be read.
    """
    with refusals(), shown_steps() as progress:
        from namekeeper.pipeline.answers.warehouse import open_warehouse
        from namekeeper.pipeline.checks.checking import check_warehouse
        from namekeeper.pipeline.checks.files import check_files
        from namekeeper.pipeline.checks.journals import check_journals
        from namekeeper.pipeline.files.folder import open_folder

        tables, folder = open_warehouse(warehouse), open_folder(warehouse)
        findings = check_files(folder)
        # Tables are not asked for their rows if their files were altered.
        if not findings:
            listed = [open_folder(uri) for uri in dict.fromkeys(journals)]
            lacking = check_journals(folder, listed) if listed else []
            findings = [*check_warehouse(session(), tables, progress), *lacking]
    if as_json:
        value = [finding._asdict() for finding in findings]
        echo(printable_json(json.dumps(value, indent=2, ensure_ascii=False)))
    else:
        echo("\n".join(lines_of(findings)))
    context.exit(exit_code_of(findings))
