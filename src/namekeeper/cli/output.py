"""Where commands print: text of strangers reaches a terminal in no other way."""

import click

from namekeeper.common.printable import printable_lines

__all__ = ["echo", "note"]


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines; what would act on a terminal is shown as an escape."""
    click.echo(printable_lines(text), err=err)


def note(message: str) -> None:
    """Print a line on stderr, which is not part of the output."""
    echo(message, err=True)
