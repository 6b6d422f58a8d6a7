"""Options that take a duration."""

import click

from namekeeper.common.durations import parse_duration_ms

__all__ = ["take_duration"]


def take_duration(_context: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Callback of an option: `90s`, `1h30m` or `2 hours` to whole ms above zero.

    Raises:
        click.BadParameter: The text is no duration, or zero.
    """
    try:
        return None if value is None else parse_duration_ms(value, above_zero=True)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
