"""The only functions by which commands print, so that text from strangers is made safe for a terminal."""

import io
import os
import sys

import click

from namekeeper.common.printable import printable_lines

__all__ = ["echo", "is_one_stream", "note"]


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines; characters that act on a terminal are shown as escapes."""
    click.echo(printable_lines(text), err=err)


def note(message: str) -> None:
    """Print a line on stderr, which is not part of the output."""
    echo(message, err=True)


def is_one_stream() -> bool:
    """Whether stdout and stderr are the same file or pipe, whose reader can't tell them apart."""
    try:
        out, err = sys.stdout.fileno(), sys.stderr.fileno()
        return os.path.sameopenfile(out, err) and not os.isatty(err)
    except (io.UnsupportedOperation, OSError):
        return False
