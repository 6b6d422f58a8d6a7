"""What the commands that use Spark share: its options, the session, what it refuses, how far it is."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from namekeeper.cli.failure import Refused
from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.failures import failures_of_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from namekeeper.pipeline.ingest.batch import Progress

__all__ = [
    "interval_option",
    "pairs",
    "refusals",
    "session_of",
    "session_options",
    "shown_steps",
]


def session_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say which Spark does the work; `session_of` makes it of them."""
    options = (
        click.option("--memory", default="2g", show_default=True, help="Heap of a Spark started here."),
        click.option("--master", default="local[*]", show_default=True, help="Its master."),
        click.option("--remote", envvar="SPARK_REMOTE", metavar="sc://HOST:PORT", help="Spark Connect."),
        click.option(
            "--conf", "settings", multiple=True, metavar="NAME=VALUE", callback=pairs,
            help="A setting of Spark; may be repeated.",
        ),
    )  # fmt: skip
    for option in options:
        command = option(command)
    return command


def pairs(_context: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
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


def session_of(
    memory: str, master: str, remote: str | None, settings: Mapping[str, str]
) -> Callable[[], "SparkSession"]:
    """What makes the session that options ask for, when it is needed."""

    def make() -> "SparkSession":
        from namekeeper.pipeline.session import get_session, hush_interrupts

        hush_interrupts()
        return get_session(remote=remote, master=master, conf={"spark.driver.memory": memory, **settings})

    return make


@contextmanager
def refusals() -> Iterator[None]:
    """Show what the pipeline refuses, or Spark fails at, as one line, with the exit code of a refusal."""
    try:
        with failures_of_spark():
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
