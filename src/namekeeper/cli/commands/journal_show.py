"""`namekeeper journal ls | cat | tail`: the segments and records of a journal."""

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.history import take_instant
from namekeeper.cli.output import echo, is_wide, json_option, note
from namekeeper.cli.render import render_json
from namekeeper.cli.shared_options import watch_option
from namekeeper.common.durations import parse_duration_ms
from namekeeper.common.printable import printable_json
from namekeeper.errors import JournalError
from namekeeper.journal.contract.lines import Line, read_envelope
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.contract.record import Envelope
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, find_segments

__all__ = ["cat", "ls", "tail"]

EXIT_BROKEN = 1
"""Exit status: some lines are not records."""
WATCH_PAUSE = "200ms"
"""How often a watched journal is read again."""

_ROW = "{:<24} {:>14} {:>14} {:>12}  {}"
_MORE = "{:>14}  {:<32}"
_DELETE = b"\x7f"
"""The only ASCII character that JSON does not escape although it can't be displayed."""
_SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.command("ls", context_settings=_SETTINGS)
@click.argument("folder", metavar="DIR")
@json_option(wide="also the name server and its boot in ms")
def ls(folder: str, *, as_json: bool) -> None:
    """List the segments in DIR: when their boot began, which records they hold, their size."""
    rows = [(name, _size(folder, name)) for name in _segments(folder)]
    if as_json:
        echo(render_json([_as_dict(name, size) for name, size in rows]))
        return
    wide = is_wide()
    more = f"{_MORE.format('#boot (ms)', '#name server')}  " if wide else ""
    echo(more + _ROW.format("#boot (UTC)", "#first seq", "#last seq", "#bytes", "#file"))
    for name, size in rows:
        last = "open" if name.last_seq is None else name.last_seq
        more = f"{_MORE.format(name.boot, name.namesrv)}  " if wide else ""
        echo(more + _ROW.format(_utc(name.boot), name.first_seq, last, size, name))


def _boot(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """Take the number of a boot, or its time as `ls` prints it, in UTC."""
    if value is None or value.strip().isdecimal():
        return None if value is None else int(value)
    return take_instant(value, UTC, "--boot")


@click.command("cat", context_settings=_SETTINGS)
@click.argument("folder", metavar="DIR")
@click.option(
    "--boot", callback=_boot, metavar="MS|TIME", help="Only records of this boot, as `ls` shows it."
)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Only records of this kind; may be repeated."
)
def cat(folder: str, *, boot: int | None, kinds: tuple[str, ...]) -> None:
    """Print the records in DIR in order, one JSON object a line.

    Lines that are not records are reported on stderr; then the exit status is 1.
    """
    broken = 0
    segments = [name for name in _segments(folder) if boot in {None, name.boot}]
    for name, line in JournalReader(FoundJournal(folder), segments=segments).lines():
        envelope = read_envelope(line, name)
        if isinstance(envelope, str):
            broken += 1
            note(f"{name}, line {line.number}: {envelope}")
        elif not kinds or envelope.kind in kinds:
            _write(line)
    if broken:
        sys.exit(EXIT_BROKEN)


@click.command("tail", context_settings=_SETTINGS)
@click.argument("folder", metavar="DIR")
@click.option("-n", "--lines", "count", type=click.IntRange(min=0), default=10, show_default=True)
@watch_option(
    "Print new records as they are written, until interrupted; look for them after this pause. Alone, of a "
    "fifth of a second.", pause=WATCH_PAUSE,
)  # fmt: skip
@click.option("-f", "--follow", is_flag=True, hidden=True)
def tail(folder: str, *, count: int, watch_ms: int | None, follow: bool) -> None:
    """Print the last records in DIR."""
    last = _last_records(folder, count)
    for _, line in last:
        _write(line)
    position = _position(last[-1][0]) if last else _end(folder)
    pause_ms = parse_duration_ms(WATCH_PAUSE) if follow and watch_ms is None else watch_ms
    while pause_ms:
        sys.stdout.flush()
        time.sleep(pause_ms / 1_000)
        for envelope, line in _records_after(folder, position):
            _write(line)
            position = _position(envelope)


def _segments(folder: str) -> list[SegmentName]:
    try:
        return find_segments(folder)
    except JournalError as error:
        raise CommandRefused(str(error)) from None


def _records(folder: str, segments: Sequence[SegmentName]) -> Iterator[list[tuple[Envelope, Line]]]:
    """The records of each segment."""
    journal = JournalReader(FoundJournal(folder), segments=segments)

    def read(name: SegmentName) -> list[tuple[Envelope, Line]]:
        found = ((read_envelope(line, name), line) for line in journal.lines_of(name))
        return [(envelope, line) for envelope, line in found if isinstance(envelope, Envelope)]

    return journal.read_each(read)


def _last_records(folder: str, count: int) -> list[tuple[Envelope, Line]]:
    found: list[tuple[Envelope, Line]] = []
    for records in _records(folder, _segments(folder)[::-1]) if count else ():
        found = [*records, *found]
        if len(found) >= count:
            break
    return found[-count:] if count else []


def _records_after(folder: str, position: tuple[int, int]) -> Iterator[tuple[Envelope, Line]]:
    segments = [
        name for name in _segments(folder) if name.last_seq is None or (name.boot, name.last_seq) > position
    ]
    for records in _records(folder, segments):
        yield from (each for each in records if _position(each[0]) > position)


def _end(folder: str) -> tuple[int, int]:
    last = _last_records(folder, 1)
    return _position(last[-1][0]) if last else (0, 0)


def _position(envelope: Envelope) -> tuple[int, int]:
    return (envelope.boot, envelope.seq)


def _write(line: Line) -> None:
    """Print a record as it is in the file, or the same value without characters that act on a terminal."""
    data = line.data
    if not data.isascii() or _DELETE in data:
        data = printable_json(data.decode("utf-8", "replace")).encode()
    sys.stdout.buffer.write(data + b"\n")


def _size(folder: str, name: SegmentName) -> int:
    try:
        return (Path(folder) / str(name)).stat().st_size
    except FileNotFoundError:
        return 0  # sealed or deleted meanwhile


def _as_dict(name: SegmentName, size: int) -> dict[str, object]:
    return {
        "file": str(name),
        "namesrv": name.namesrv,
        "boot": name.boot,
        "firstSeq": name.first_seq,
        "lastSeq": name.last_seq,
        "bytes": size,
    }


def _utc(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")[:23]
