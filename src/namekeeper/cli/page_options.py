"""Options of commands that serve the page: where it listens, and who may open it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from namekeeper.cli.credentials import rather_set
from namekeeper.cli.page_access import access_file_option, allow_host_option, page_address, rules_of_pages
from namekeeper.console.companion import PageSettings
from namekeeper.console.histories import HISTORY_BYTES
from namekeeper.http.doors import Doors, is_loopback, make_token

__all__ = ["NO_PAGE", "page_options", "take_page"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

PORT = 9_888
NO_PAGE = -1
"""The port of a command that may run without the page, and does."""
_NAMES = ("host", "port", "token", "names", "access_file")


def page_options(*, is_optional: bool) -> Callable[[_Function], _Function]:
    """The options of the page; `take_page` takes them, but `history_bytes` and `expected_file`.

    Args:
        is_optional: whether the command also runs without the page.
    """
    least, more = (NO_PAGE, "; -1: no page") if is_optional else (0, "")
    options = (
        click.option(
            "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen."
        ),
        click.option(
            "--port", type=click.IntRange(least, 65_535), default=PORT, show_default=True,
            help=f"0: a free one{more}.",
        ),
        click.option(
            "--token", metavar="TEXT", envvar="NAMEKEEPER_CONSOLE_TOKEN",
            help="What a browser has to have; made if --host is not loopback. "
            + rather_set("NAMEKEEPER_CONSOLE_TOKEN"),
        ),
        allow_host_option,
        access_file_option,
        click.option(
            "--history-bytes", type=click.IntRange(1), default=HISTORY_BYTES, show_default=True,
            metavar="BYTES",
            help="Memory of the histories, about. The oldest changes are dropped when it is full.",
        ),
        click.option(
            "--expect", "expected_file", metavar="FILE",
            help="File of the expected state: the page shows deviations from it, and maintenance windows.",
        ),
    )  # fmt: skip

    def decorate(function: _Function) -> _Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def take_page(given: dict[str, Any]) -> PageSettings | None:
    """Take the options of the page out of those of a command; None: it is not wanted.

    Raises:
        ConfigError: the access rules can't be used.
    """
    host, port, token, names, access_file = (given.pop(name) for name in _NAMES)
    if port == NO_PAGE:
        return None
    rules = None if access_file is None else rules_of_pages(access_file)
    if token is None and rules is None and not is_loopback(host):
        token = make_token()
    policy = None if rules is None else lambda: rules.policy
    source = click.get_current_context().get_parameter_source("port")
    return PageSettings(
        host=host,
        port=port,
        doors=Doors(host, frozenset(map(str.lower, names)), token or "", policy=policy),
        address_of=lambda found: page_address(host, names, token or "", found),
        rules=rules,
        may_move=source is ParameterSource.DEFAULT,
    )
