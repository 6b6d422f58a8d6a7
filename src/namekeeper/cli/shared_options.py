"""Options that have the same name and the same meaning in every command, and their earlier names."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from namekeeper.common.durations import parse_duration_ms
from namekeeper.config.java_options import NAMESRV_ADDR, system_properties

__all__ = [
    "ADDRESSES",
    "OLD_ADDRESSES",
    "Option",
    "addresses_of_environment",
    "cluster_option",
    "namesrv_option",
    "watch_option",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

ADDRESSES = ("-n", "--namesrvAddr")
"""Names of the option for the addresses of name servers, as Java has them."""
OLD_ADDRESSES = ("--namesrv-addr",)
"""Earlier names of the option for the addresses."""


class Option(click.Option):
    """An option with earlier names, which work and are in no help and no completion.

    Args:
        old_names: the earlier names.
    """

    def __init__(self, *args: Any, old_names: Sequence[str] = (), **settings: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **settings)
        self.old_names = tuple(old_names)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:  # noqa: ANN401 - click's
        """Have the earlier names read, too."""
        with self._with_old_names():
            super().add_to_parser(parser, ctx)

    @contextmanager
    def _with_old_names(self) -> Iterator[None]:
        listed = self.opts
        self.opts = [*self.old_names, *listed]
        try:
            yield
        finally:
            self.opts = listed


def addresses_of_environment() -> str:
    """The name servers that the environment lists, as RocketMQ's tools read it; empty if none."""
    return (os.environ.get("NAMESRV_ADDR") or system_properties(os.environ).get(NAMESRV_ADDR, "")).strip()


def namesrv_option(text: str, *, old_names: Sequence[str] = ()) -> Callable[[_Function], _Function]:
    """The option for the addresses of name servers, as `namesrv_addr`; otherwise the environment's count.

    Args:
        text: of the help.
        old_names: earlier names in this command.
    """
    return click.option(
        *ADDRESSES, "namesrv_addr", cls=Option, old_names=[*OLD_ADDRESSES, *old_names], metavar="LIST",
        default=addresses_of_environment, show_default=False, help=f"{text}  [env: NAMESRV_ADDR]",
    )  # fmt: skip


def cluster_option(
    text: str = "Only name servers with this label",
    **settings: Any,  # noqa: ANN401 - click's
) -> Callable[[_Function], _Function]:
    """The option for the label of a cluster, as `cluster`; None: all clusters.

    Args:
        text: what it does; the help goes on with where labels come from.
        settings: further ones of the option.
    """
    return click.option(
        "--cluster", "cluster", metavar="LABEL", **settings,
        help=f"{text}: the setting clusterLabel, or the name in the file of an observer.",
    )  # fmt: skip


def watch_option(
    text: str, *, pause: str | None = None, names: Sequence[str] = (), old_names: Sequence[str] = ()
) -> Callable[[_Function], _Function]:
    """The option `--watch` for a command that goes on, as `watch_ms`: the pause in ms, or None.

    Args:
        text: of the help.
        pause: the pause if `--watch` stands alone; None: it has to be given.
        names: names that the option also has in this command.
        old_names: earlier names.
    """
    alone = {} if pause is None else {"is_flag": False, "flag_value": pause}
    return click.option(
        *names, "--watch", "watch_ms", cls=Option, old_names=old_names, metavar="60s", callback=_pause,
        help=text, **alone,
    )  # fmt: skip


def _pause(_context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else parse_duration_ms(value, above_zero=True)
    except ValueError as error:
        alone = "; if it stands alone, write it last" if getattr(option, "flag_value", None) else ""
        raise click.BadParameter(f"{error}{alone}") from None
