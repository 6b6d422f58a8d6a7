"""`namekeeper demo`: an incident in fast motion, and then its explanation from the journals."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType

import click
from rich.console import Console
from rich.markup import escape

from namekeeper.cli.demo.history import tell_history
from namekeeper.cli.demo.incident import Incident
from namekeeper.cli.demo.show import Stage
from namekeeper.errors import NamekeeperError

__all__ = ["demo", "show_console"]

_SIGNALLED = 128
"""Shells add the number of the signal."""


@click.command()
@click.option(
    "--report",
    default="demo-report.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Where the HTML report goes.",
)
@click.option(
    "--browser/--no-browser", "in_browser", default=None,
    help="End with the console in a browser, until Ctrl-C; by default on a terminal with a display.",
)  # fmt: skip
def demo(report: str, *, in_browser: bool | None) -> None:
    """Two name servers and a small fleet live through an incident; then the journals explain it.

    Everything is on free loopback ports and in a temporary folder, but for the report.
    """
    # The demo itself shows what the client and the registrars would log.
    logging.getLogger("namekeeper").addHandler(logging.NullHandler())
    console = Console(highlight=False)
    stage = Stage(console)
    interruption = _Interruption()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interruption.take)
    try:
        with tempfile.TemporaryDirectory(prefix="namekeeper-demo-") as folder:
            incident = Incident(stage, Path(folder))
            asyncio.run(interruption.run(incident.run()))
            tell_history(stage, incident, Path(folder), Path(report))
            if _is_wanted(in_browser):
                show_console(stage, incident)
    except NamekeeperError as error:
        console.print(f"[red]the demo failed:[/] {escape(str(error))}")
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("stopped; nothing is left behind")
        sys.exit(_SIGNALLED + signal.SIGINT)


class _Interruption:
    """Ends the demo by way of everything that stops processes and removes the folder, as Ctrl-C does."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._number = 0

    def take(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        # Once is enough. It is not ignored by its number: a process that starts just now would inherit that.
        signal.signal(number, lambda *_: None)
        self._number = number
        if self._task is None:
            sys.exit(_SIGNALLED + number)
        # SystemExit could leave the task before it knows of a process that just starts.
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def run(self, work: Coroutine[None, None, None]) -> None:
        """Do work that a signal cancels."""
        self._task = asyncio.ensure_future(work)
        try:
            await self._task
        except asyncio.CancelledError:
            if self._number:
                sys.exit(_SIGNALLED + self._number)
            raise
        finally:
            self._task = None


def _is_wanted(in_browser: bool | None) -> bool:  # noqa: FBT001 - the value of the option
    """Whether to open a browser: the option, or whether a terminal and a display are there."""
    if in_browser is not None:
        return in_browser
    has_display = sys.platform in {"darwin", "win32"} or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return has_display and sys.stdin.isatty() and sys.stdout.isatty() and "CI" not in os.environ


def show_console(stage: Stage, incident: Incident) -> None:
    """Start the console, open it at the time when nobody could send, and wait for Ctrl-C.

    Raises:
        NamekeeperError: it did not start.
    """
    stage.step("The same on a screen; Ctrl-C ends it, and the journals go")
    journals = [word for server in incident.servers for word in ("--journal", str(server.journal))]
    command = [sys.executable, "-m", "namekeeper", "console", "--port", "0", *journals]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as console:  # noqa: S603 - our own program
        assert console.stdout is not None
        try:
            address = console.stdout.readline().strip()
            if not address:
                raise NamekeeperError("the console did not start")
            address = f"{address}?at={incident.times.wiped_ms}"
            stage.note(f"[bold]{address}[/]")
            if not webbrowser.open(address):
                stage.note("no browser could be opened here: open that address in one")
            with contextlib.suppress(KeyboardInterrupt):
                console.wait()
        finally:
            console.terminate()
