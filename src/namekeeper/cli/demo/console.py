"""The end of the demo on a screen: the console with its journals, in a browser."""

import contextlib
import subprocess
import sys
import webbrowser

from namekeeper.cli.demo.incident import Incident
from namekeeper.cli.demo.show import Stage
from namekeeper.errors import NamekeeperError

__all__ = ["show_console"]


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
