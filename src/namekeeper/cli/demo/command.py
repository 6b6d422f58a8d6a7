"""`namekeeper demo`: an incident in fast motion, then what the journals tell of it."""

import asyncio
import logging
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from namekeeper.cli.demo.history import tell_history
from namekeeper.cli.demo.incident import Incident
from namekeeper.cli.demo.show import Stage
from namekeeper.errors import NamekeeperError

__all__ = ["demo"]


@click.command()
@click.option(
    "--report",
    default="demo-report.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Where the HTML report goes.",
)
def demo(report: str) -> None:
    """Two name servers and a small fleet live through an incident; then the journals explain it.

    Everything is on free loopback ports and in a temporary folder, but for the report.
    """
    # What the client and the registrars would log is part of the story, and told there.
    logging.getLogger("namekeeper").addHandler(logging.NullHandler())
    console = Console(highlight=False)
    stage = Stage(console)
    try:
        with tempfile.TemporaryDirectory(prefix="namekeeper-demo-") as folder:
            incident = Incident(stage, Path(folder))
            asyncio.run(incident.run())
            tell_history(stage, incident, Path(folder), Path(report))
    except NamekeeperError as error:
        console.print(f"[red]the demo failed:[/] {error}")
        sys.exit(1)
