"""`namekeeper pipeline archive`: moves or deletes shipped segments that a warehouse has."""

import time

import click

from namekeeper.cli.durations import take_duration
from namekeeper.cli.output import echo, note
from namekeeper.cli.spark import refusals, shown_steps
from namekeeper.common.counts import shown_count
from namekeeper.pipeline.ingest.segments import bytes_of

__all__ = ["archive"]

_SHOWN = 10


@click.command("archive", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--journal", required=True, metavar="URI", help="Folder with shipped segments.")
@click.option("--warehouse", required=True, metavar="URI", help="The warehouse that has them.")
@click.option("--target", metavar="URI", help="Move them here; without it they are deleted.")
@click.option(
    "--older-than", "age_ms", callback=take_duration, default="60 days", show_default=True,
    metavar="DURATION",
    help="Only those that were shipped before; longer than servers keep them (journalRetentionDays).",
)  # fmt: skip
@click.option("--apply", "is_applied", is_flag=True, help="Do it; else the segments are only shown.")
def archive(journal: str, warehouse: str, *, target: str | None, age_ms: int, is_applied: bool) -> None:
    """Move or delete shipped segments that a warehouse has.

    Every kept version of the warehouse must have them, so those of the last loads stay. Another warehouse can
    only be built from segments that are still there. Without --apply nothing is changed. The folder of a
    server is refused.
    """
    from namekeeper.pipeline.archive import archivable
    from namekeeper.pipeline.archive import archive as archive_segments
    from namekeeper.pipeline.files.folder import open_folder
    from namekeeper.pipeline.store.lock import lock_warehouse
    from namekeeper.pipeline.store.stores import open_store

    with refusals(), shown_steps() as progress:
        source, tables = open_folder(journal), open_folder(warehouse)
        cold = open_folder(target) if target else None
        open_store(tables).version()  # the lock would make its folder
        with lock_warehouse(tables):
            found = archivable(source, tables, int(time.time() * 1_000) - age_ms)
            for segment in found.segments[: 0 if is_applied else _SHOWN]:
                echo(segment.path)
            if is_applied:
                archive_segments(found.segments, source, cold, progress)
    what = f"{shown_count(len(found.segments), 'segment')} ({bytes_of(found.segments):,} bytes)"
    where = f"to {target}" if target else "away"
    done = f"went {where}" if is_applied else f"can go {where}: --apply does it"
    note(f"{what} {done}; {shown_count(found.left, 'segment', 'do')} not")
