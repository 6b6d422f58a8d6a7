"""The only functions by which commands print, so that text from strangers is made safe for a terminal."""

import io
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from namekeeper.common.printable import printable_lines

__all__ = ["echo", "is_one_stream", "is_wide", "json_option", "note"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FORM = "namekeeper.form"
"""Key of the context at which the value of `--output` is kept."""


def json_option(*, wide: str = "") -> Callable[[_Function], _Function]:
    """Add `--json` and `-o`, `--output`; the command gets both as `as_json`.

    Args:
        wide: what `-o wide` shows, which the command finds out by `is_wide`; empty: it has no such form.
    """
    forms = ["text", "json", *(["wide"] if wide else [])]
    text = f"json: the same as --json{f'; wide: {wide}' if wide else ''}."

    def decorate(function: _Function) -> _Function:
        function = click.option(
            "-o", "--output", "form", type=click.Choice(forms), is_eager=True, expose_value=False,
            callback=_keep_form, help=text,
        )(function)  # fmt: skip
        return click.option("--json", "as_json", is_flag=True, callback=_is_json, help="Print JSON.")(
            function
        )

    return decorate


def is_wide() -> bool:
    """Whether the command that runs was given `-o wide`."""
    return click.get_current_context().meta.get(_FORM) == "wide"


def _keep_form(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    context.meta[_FORM] = value


def _is_json(context: click.Context, _option: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's
    return value or context.meta.get(_FORM) == "json"


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
