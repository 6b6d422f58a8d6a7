"""Shared by commands that use Spark: its options, the session, refusals, progress."""

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo
from namekeeper.cli.shared_options import watch_option
from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.failures import failures_of_spark, hush_interrupts, missing_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from namekeeper.pipeline.ingest.batch import Progress

__all__ = [
    "MakeSession",
    "interval_option",
    "pairs",
    "refusals",
    "session_options",
    "shown_steps",
]

MakeSession = Callable[[], "SparkSession"]
"""Makes the session that options ask for; it takes seconds, so it is called when there is work."""


def session_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add options that say which Spark does the work; the command gets a `MakeSession` as `session`."""

    @functools.wraps(command)
    def with_session(
        *args: object,
        memory: str,
        master: str,
        remote: str | None,
        settings: Mapping[str, str],
        **more: object,
    ) -> None:
        def make() -> "SparkSession":
            from namekeeper.pipeline.session import get_session

            hush_interrupts()
            return get_session(remote=remote, master=master, conf={"spark.driver.memory": memory, **settings})

        command(*args, session=make, **more)

    options = (
        click.option(
            "--memory", default="2g", show_default=True, metavar="SIZE", callback=_heap,
            help="Heap of a Spark started here.",
        ),
        click.option("--master", default="local[*]", show_default=True, metavar="URL", help="Its master."),
        click.option("--remote", envvar="SPARK_REMOTE", metavar="sc://HOST:PORT", help="Spark Connect."),
        click.option(
            "--conf", "settings", multiple=True, metavar="NAME=VALUE", callback=pairs,
            help="A setting of Spark; may be repeated.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        with_session = option(with_session)
    return with_session


def pairs(_context: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Take NAME=VALUE."""
    if bad := [value for value in values if "=" not in value]:
        raise click.BadParameter(f"{bad[0]!r} is not like NAME=VALUE")
    return dict(value.split("=", 1) for value in values)


def _heap(_context: click.Context, _param: click.Parameter, value: str) -> str:
    """Take what Java takes."""
    if not re.fullmatch(r"[1-9][0-9]*[kmgt]", value, re.IGNORECASE):
        raise click.BadParameter(f"{value!r} is no size; they are like 512m or 2g")
    return value


interval_option = watch_option(
    "Run again and again, with this pause in between; alone, of a minute.", pause="60s"
)


@contextmanager
def refusals() -> Iterator[None]:
    """Show what the pipeline refuses, or Spark fails at, as one line, with the exit code of a refusal.

    The same for a package of the pipeline that is not installed, and for a file or folder that this user may
    not read or write.
    """
    try:
        with failures_of_spark():
            yield
    except PipelineError as error:
        raise CommandRefused(str(error)) from error
    except ImportError as error:
        if (missing := missing_package(error)) is None:
            raise
        raise CommandRefused(str(missing)) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise CommandRefused(
            f"{error.filename} can't be used: {error.strerror}; may this user read and write it?"
        ) from error


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
            echo(f"{what} ({total})" if total > 1 else what, err=True)

    yield line
