"""`namekeeper pipeline run|doctor|package`: from journals to tables, and whether this machine can."""

import os
from collections.abc import Mapping
from pathlib import Path

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo
from namekeeper.cli.spark import (
    MakeSession,
    interval_option,
    pairs,
    refusals,
    session_options,
    shown_steps,
)

__all__ = ["doctor", "package", "run"]


@click.command("run", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--journal", "journals", multiple=True, required=True, metavar="URI",
    help="Folder with segments, in it or below it; may be repeated.",
)  # fmt: skip
@click.option(
    "--warehouse", required=True, metavar="URI", help="Where the tables are; made at the first run."
)
@click.option(
    "--tables", metavar="FORMAT:CATALOG.NAMESPACE",
    help="Have the tables of a new warehouse in a catalog of Spark's, like iceberg:nk.namekeeper.  [files]",
)  # fmt: skip
@click.option(
    "--report-time-zone", metavar="ZONE", help="Zone that defines a day, for a new warehouse.  [UTC]"
)
@click.option(
    "--take", multiple=True, metavar="NAMESRV=UUID8", callback=pairs,
    help="Which journal of a name server is right, where two claim the same time.",
)  # fmt: skip
@click.option(
    "--check", is_flag=True, help="Check the tables after a run that brought something (see pipeline check)."
)
@interval_option
@session_options
@click.pass_context
def run(  # noqa: PLR0913 - one for each option
    context: click.Context, /, journals: tuple[str, ...], warehouse: str, *, tables: str | None,
    report_time_zone: str | None, take: Mapping[str, str], check: bool, watch_ms: int | None,
    session: MakeSession,
) -> None:  # fmt: skip
    """Bring the tables of a warehouse up to date with the journals of all name servers.

    Records in the warehouse are not read again, even from a renamed file. Ends with 0 if it is done, 2 if
    something was refused; earlier commits stay as they are. With --check also with 1 or 4, as
    `pipeline check` does, about data that is committed already.
    """
    from namekeeper.pipeline.job import run_job
    from namekeeper.pipeline.run import Request

    request = Request(journals, warehouse, report_time_zone, take, tables, check)
    with refusals(), shown_steps() as progress:
        context.exit(
            run_job(request, session, progress, lambda line: echo(line, err=True), watch_ms=watch_ms)
        )


@click.command("doctor", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--journal", "journals", multiple=True, metavar="URI", help="Also look at this journal.")
@click.option("--warehouse", metavar="URI", help="Also look at this warehouse.")
@click.option("--quick", is_flag=True, help="Do not start Spark.")
@session_options
@click.pass_context
def doctor(
    context: click.Context, /, journals: tuple[str, ...], warehouse: str | None, *, quick: bool,
    session: MakeSession,
) -> None:  # fmt: skip
    """Say what the pipeline finds on this machine, and what to do. Ends with 2 if something is missing."""
    from namekeeper.pipeline.doctor import examine

    start = None if quick else lambda: session().range(3).count()
    is_well = True
    for finding in examine(journals, warehouse, start=start, environment=os.environ):
        is_well &= not finding.advice
        echo(f"{'  ' if finding.advice else 'ok'}  {finding.what}: {finding.found}")
        if finding.advice:
            echo(f"    -> {finding.advice}")
    context.exit(0 if is_well else CommandRefused.exit_code)


@click.command("package", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def package(folder: Path) -> None:
    """Write the pipeline as one zip, and a main file for spark-submit, into FOLDER."""
    from namekeeper.pipeline.package import write_package

    for path in write_package(folder):
        echo(str(path))
