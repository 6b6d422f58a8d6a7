"""The only functions by which commands print, so that text from strangers is made safe for a terminal."""

import click

from namekeeper.common.printable import printable_lines

__all__ = ["echo", "note"]


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines; characters that act on a terminal are shown as escapes."""
    click.echo(printable_lines(text), err=err)


def note(message: str) -> None:
    """Print a line on stderr, which is not part of the output."""
    echo(message, err=True)
