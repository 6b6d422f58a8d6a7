"""A journal of two boots to look into: the first is sealed, the second is open."""

import os
from pathlib import Path

from click.testing import CliRunner, Result

from namekeeper.cli.group import journal
from namekeeper.journal.contract.record import ServerStopped
from namekeeper.journal.disk.writer import Writer
from tests.unit.journal.disk_parts import WALL_MS, Feeder, writer_on

__all__ = ["make", "run", "write_on"]


def make(folder: Path) -> tuple[Feeder, Writer]:
    """Make it; gives what writes the second boot."""
    feeder = Feeder()
    writer = writer_on(os, feeder.backlog, str(folder))
    writer.step(feeder.now)
    feeder.begin(writer.opened)
    feeder.change(2)
    feeder.put(ServerStopped(last_seq=7))
    writer.step(feeder.now)
    writer.close(feeder.now)
    second = Feeder(wall_ms=WALL_MS + 60_000)
    writer = writer_on(os, second.backlog, str(folder))
    writer.step(second.now)
    second.begin(writer.opened)
    write_on(second, writer)
    return second, writer


def write_on(feeder: Feeder, writer: Writer) -> None:
    """Write one more change."""
    feeder.change()
    writer.step(feeder.advance(1_000))


def run(*words: str) -> Result:
    return CliRunner().invoke(journal, [*words], prog_name="namekeeper journal")
