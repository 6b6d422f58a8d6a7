"""`namekeeper pipeline ...`: from journals to tables, and whether this machine can."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from namekeeper.cli.failure import Refused
from namekeeper.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from namekeeper.pipeline.ingest import Progress

__all__ = ["interval_option", "pipeline", "refusals", "session_of", "session_options", "shown_steps"]


@click.group("pipeline", context_settings={"help_option_names": ["-h", "--help"]})
def pipeline() -> None:
    """Turn journals into tables with Spark."""


def session_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say which Spark does the work; `session_of` makes it of them."""
    options = (
        click.option("--memory", default="2g", show_default=True, help="Heap of a Spark started here."),
        click.option("--master", default="local[*]", show_default=True, help="Its master."),
        click.option("--remote", envvar="SPARK_REMOTE", metavar="sc://HOST:PORT", help="Spark Connect."),
        click.option(
            "--conf", "settings", multiple=True, metavar="NAME=VALUE", callback=_pairs,
            help="A setting of Spark; may be repeated.",
        ),
    )  # fmt: skip
    for option in options:
        command = option(command)
    return command


def _pairs(_context: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Take NAME=VALUE."""
    if bad := [value for value in values if "=" not in value]:
        raise click.BadParameter(f"{bad[0]!r} is not like NAME=VALUE")
    return dict(value.split("=", 1) for value in values)


def _seconds(_context: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """Take 60s, 5m or 1h."""
    from namekeeper.pipeline.job import parse_interval

    try:
        return None if value is None else parse_interval(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


interval_option = click.option(
    "--watch", metavar="60s", callback=_seconds, help="Do it again and again, with this time in between."
)


@pipeline.command("run")
@click.option(
    "--journal", "journals", multiple=True, required=True, metavar="URI",
    help="Folder with segments, in it or below it; may be repeated.",
)  # fmt: skip
@click.option(
    "--warehouse", required=True, metavar="URI", help="Where the tables are; made at the first run."
)
@click.option(
    "--report-time-zone", metavar="ZONE", help="Zone that defines a day, for a new warehouse.  [UTC]"
)
@click.option(
    "--take", multiple=True, metavar="NAMESRV=UUID8", callback=_pairs,
    help="Which journal of a name server is right, where two claim the same time.",
)  # fmt: skip
@interval_option
@session_options
@click.pass_context
def run(  # noqa: PLR0913 - one for each option
    context: click.Context, /, journals: tuple[str, ...], warehouse: str, *, report_time_zone: str | None,
    take: Mapping[str, str], watch: float | None, memory: str, master: str, remote: str | None,
    settings: Mapping[str, str],
) -> None:  # fmt: skip
    """Bring the tables of a warehouse up to date with the journals of all name servers.

    What is in already is not read again, whatever its file is called now. Ends with 0 if it is done, 2 if
    something was refused; what was committed before stays as it is.
    """
    from namekeeper.pipeline.job import run_job
    from namekeeper.pipeline.run import Request

    request = Request(journals, warehouse, report_time_zone, take)
    with refusals(), shown_steps() as progress:
        session = session_of(memory, master, remote, settings)
        context.exit(
            run_job(request, session, progress, lambda line: click.echo(line, err=True), watch=watch)
        )


@pipeline.command("doctor")
@click.option("--journal", "journals", multiple=True, metavar="URI", help="Also look at this journal.")
@click.option("--warehouse", metavar="URI", help="Also look at this warehouse.")
@click.option("--quick", is_flag=True, help="Do not start Spark.")
@session_options
@click.pass_context
def doctor(  # noqa: PLR0913 - one for each option
    context: click.Context, /, journals: tuple[str, ...], warehouse: str | None, *, quick: bool, memory: str,
    master: str, remote: str | None, settings: Mapping[str, str],
) -> None:  # fmt: skip
    """Say what the pipeline finds on this machine, and what to do. Ends with 2 if something is missing."""
    from namekeeper.pipeline.doctor import examine

    session = session_of(memory, master, remote, settings)
    start = None if quick else lambda: session().range(3).count()
    is_well = True
    for finding in examine(journals, warehouse, start=start, environment=os.environ):
        is_well &= not finding.advice
        click.echo(f"{'  ' if finding.advice else 'ok'}  {finding.what}: {finding.found}")
        if finding.advice:
            click.echo(f"    -> {finding.advice}")
    context.exit(0 if is_well else Refused.exit_code)


@pipeline.command("package")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def package(folder: Path) -> None:
    """Write the pipeline as one zip, and a main file for spark-submit, into FOLDER."""
    from namekeeper.pipeline.package import write_package

    for path in write_package(folder):
        click.echo(path)


def session_of(
    memory: str, master: str, remote: str | None, settings: Mapping[str, str]
) -> Callable[[], "SparkSession"]:
    """What makes the session that options ask for, when it is needed."""

    def make() -> "SparkSession":
        from namekeeper.pipeline.session import get_session

        return get_session(remote=remote, master=master, conf={"spark.driver.memory": memory, **settings})

    return make


@contextmanager
def refusals() -> Iterator[None]:
    """Show what the pipeline refuses as one line, with the exit code of a refusal."""
    try:
        yield
    except PipelineError as error:
        raise Refused(str(error)) from error


@contextmanager
def shown_steps() -> Iterator["Progress"]:
    """Show steps of long work on stderr: a bar on a terminal, a line for each elsewhere."""
    if sys.stderr.isatty():
        from namekeeper.cli.progress import shown_progress

        with shown_progress() as show:
            yield show
        return
    steps: list[str] = []

    def line(what: str, _done: int, total: int) -> None:
        if steps[-1:] != [what]:
            steps.append(what)
            click.echo(f"{what} ({total})" if total > 1 else what, err=True)

    yield line
