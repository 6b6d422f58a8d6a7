"""`namekeeper journal ship DIR URI`: sealed segments to where the pipeline reads them."""

import time

import click

from namekeeper.cli.output import echo
from namekeeper.cli.spark import interval_option, refusals, shown_steps
from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.errors import PipelineError

__all__ = ["ship"]

_EXIT_INTERRUPTED = 130


@click.command("ship", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("journal", metavar="DIR")
@click.argument("target", metavar="URI")
@interval_option
@click.pass_context
def ship(context: click.Context, /, journal: str, target: str, *, watch_ms: int | None) -> None:
    """Copy the sealed segments of the journal in DIR to URI, a path or any file system that pyarrow knows.

    A segment appears atomically. Segments that are there already are not sent again, and nothing is deleted.
    One that can't be read, or changes meanwhile, holds up no other; it is reported, and sent the next time.
    """
    try:
        with refusals():
            if watch_ms is None:
                _ship_once(journal, target)
            while watch_ms is not None:
                try:
                    _ship_once(journal, target)
                except PipelineError as error:
                    echo(f"{error}; trying again in {shown_duration(watch_ms)}", err=True)
                time.sleep(watch_ms / 1_000)
    except KeyboardInterrupt:
        echo("stopped; every copied segment is complete", err=True)
        context.exit(_EXIT_INTERRUPTED)


def _ship_once(journal: str, target: str) -> None:
    from namekeeper.pipeline.files.folder import open_folder
    from namekeeper.pipeline.ship import ship as ship_segments

    with shown_steps() as progress:
        shipped = ship_segments(open_folder(journal), open_folder(target), progress)
    copied, there = shown_count(shipped.copied, "segment"), f"{shipped.there:,} were there before"
    echo(f"{copied} copied ({shipped.bytes:,} bytes); {there}", err=True)
