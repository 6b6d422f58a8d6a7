"""`namekeeper journal verify | seal`: checks a journal for losses; seals its open segment."""

import sys
import time
from pathlib import Path

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.output import echo, json_option
from namekeeper.cli.render import render_json
from namekeeper.cli.verify_text import verify_lines
from namekeeper.errors import JournalError
from namekeeper.journal.disk.folder import SEAL_REQUEST
from namekeeper.journal.disk.identity import load_identity
from namekeeper.journal.disk.lock import is_locked, take_lock
from namekeeper.journal.disk.recovery import recover
from namekeeper.journal.reading.reader import find_segments
from namekeeper.journal.reading.verify import verify as verify_folder

__all__ = ["seal", "verify"]

EXIT_LOST = 1
POLL_SECONDS = 0.05

_SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.command("verify", context_settings=_SETTINGS)
@click.argument("folder", metavar="DIR")
@json_option()
def verify(folder: str, *, as_json: bool) -> None:
    """Check everything in DIR: no missing numbers, complete changes and checkpoints, readable files.

    Problems come before lines that do not count because of them; --json has everything. Exits with 0
    if nothing is lost, 1 if something is or may be lost, 2 if DIR is not a journal.
    """
    try:
        report = verify_folder(folder)
    except JournalError as error:
        raise CommandRefused(str(error)) from None
    if as_json:
        echo(render_json(report))
    else:
        echo("\n".join(verify_lines(report)))
    if not report.is_complete:
        sys.exit(EXIT_LOST)


@click.command("seal", context_settings=_SETTINGS)
@click.argument("folder", metavar="DIR")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds to wait for the server.",
)
def seal(folder: str, *, timeout: float) -> None:
    """Seal everything that is written to DIR. If a server writes there, it is asked to do so.

    Only sealed segments can be shipped and read by Spark.
    """
    try:
        before = {str(name) for name in find_segments(folder)}
        if is_locked(folder):
            _ask_server(folder, timeout)
        else:
            _seal_leftovers(folder)
        after = [str(name) for name in find_segments(folder)]
    except JournalError as error:
        raise CommandRefused(str(error)) from None
    except OSError as error:
        raise CommandRefused(f"{folder} can't be written: {error.strerror or error}") from None
    for name in after:
        if name not in before and not name.endswith(".open"):
            echo(name)


def _ask_server(folder: str, timeout: float) -> None:
    request = Path(folder) / SEAL_REQUEST
    request.touch()
    deadline = time.monotonic() + timeout
    while request.exists():
        if time.monotonic() > deadline:
            raise CommandRefused(
                f"the name server that writes to {folder} did not seal within {timeout:g} s: see its log, or"
                " set a longer --timeout"
            )
        time.sleep(POLL_SECONDS)


def _seal_leftovers(folder: str) -> None:
    identity = load_identity(folder)
    if identity is None:
        raise JournalError(
            f"{folder} has no identity.json: it holds shipped segments, which are sealed already"
        )
    release = take_lock(folder)
    try:
        recover(folder, identity)
    finally:
        release()
