"""Options for access to pages, of the console and for assistants: names of this host, and access rules."""

import os
from collections.abc import Sequence

import click

from namekeeper.access.request_class import HTTP_PAGES
from namekeeper.app.access_files import AccessFiles
from namekeeper.errors import ConfigError
from namekeeper.http.doors import problem_with_host_name

__all__ = ["access_file_option", "allow_host_option", "page_address", "rules_of_pages"]

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - not to bind to it


def _host_names(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for problem in filter(None, map(problem_with_host_name, names)):
        raise click.BadParameter(problem)
    return names


allow_host_option = click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", callback=_host_names,
    help="Another name by which browsers reach this host; may be repeated.",
)  # fmt: skip
access_file_option = click.option(
    "--access-file", metavar="FILE",
    help="Access rules of a name server: the page is for those whom its rules about http allow.",
)  # fmt: skip


def rules_of_pages(file: str) -> AccessFiles:
    """The access rules in a file, which is watched later.

    Raises:
        ConfigError: it can't be used, or has no rule about the pages: everybody could read them.
    """
    rules = AccessFiles(file, os.environ)
    if not any(HTTP_PAGES in rule.codes for rule in rules.policy.rules.rules):
        raise ConfigError(
            f'{file}: no rule is about the pages, so everybody could read them: requests = ["http"]'
        )
    return rules


def page_address(host: str, names: Sequence[str], token: str, port: int) -> str:
    """The address of the page: by the first of the names given for it if it listens at every address."""
    name = names[0] if names and host in _EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/{f'#token={token}' if token else ''}"
