"""`namekeeper console`: a page in a browser, over journals, running name servers or a warehouse."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from namekeeper.access.request_class import HTTP_PAGES
from namekeeper.app.access_files import AccessFiles
from namekeeper.app.process import spare_the_collector
from namekeeper.app.stop_signals import stopping_by_signals
from namekeeper.cli.connecting import connection_options, take_connection
from namekeeper.cli.console_sources import (
    OperatorsPages,
    WarehouseOfConsole,
    journal_source,
    pages_in,
    running_source,
    source_of_causes,
)
from namekeeper.cli.credentials import rather_set
from namekeeper.cli.failure import failure_of
from namekeeper.cli.journals import journals_by_default, journals_here
from namekeeper.cli.output import echo
from namekeeper.cli.shared_options import ADDRESSES, OLD_ADDRESSES, Option
from namekeeper.cli.spark import MakeSession, session_options
from namekeeper.cli.tls_files import pages_tls
from namekeeper.clock import SystemClock
from namekeeper.console.histories import CAUSE_PART, HISTORY_BYTES, Histories
from namekeeper.console.server import ConsoleServer
from namekeeper.console.views import ConsoleViews
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.http.doors import Doors, is_loopback, make_token, problem_with_host_name

__all__ = ["console", "page_address"]

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - not to bind to it


def _host_names(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for problem in filter(None, map(problem_with_host_name, names)):
        raise click.BadParameter(problem)
    return names


@click.command("console", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--journal", "journals", multiple=True, metavar="DIR",
    help="Journal folder of a name server, or a folder with several; may be repeated. By default those "
    "of the name servers on this host, ~/namesrv/journal/*.",
)  # fmt: skip
@click.option(
    "-c",
    "--config-file",
    "config_files",
    multiple=True,
    metavar="FILE",
    help="Properties file of a name server on this host, to find its journal.",
)
@click.option(
    *ADDRESSES, "addresses", cls=Option, old_names=OLD_ADDRESSES, multiple=True, metavar="LIST",
    help="Name servers: a journal is found on this host by its server's port; without one the server is "
    "asked, as with --namesrv. NAMESRV_ADDR counts where this host has no journal.  [env: NAMESRV_ADDR]",
)  # fmt: skip
@click.option(
    "--namesrv", "namesrvs", multiple=True, metavar="LIST",
    help="Name servers that run, 'host:port;host:port': they are asked, and remembered from now on.",
)  # fmt: skip
@click.option(
    "--warehouse", metavar="URI",
    help="Tables that `namekeeper pipeline run` made, as they are when the console starts.",
)  # fmt: skip
@click.option(
    "--http", "pages", multiple=True, metavar="LIST",
    help="Operators' HTTP ports of name servers, 'host:port;https://host:port': who has asked for a topic, "
    "and the journal behind `why` where none is given.",
)  # fmt: skip
@click.option(
    "--http-token", default="", envvar="NAMEKEEPER_HTTP_TOKEN",
    help=f"Sent to them, where access rules ask for one. {rather_set('NAMEKEEPER_HTTP_TOKEN')}",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=9_888, show_default=True, help="0: a free one."
)
@click.option(
    "--token", metavar="TEXT", envvar="NAMEKEEPER_CONSOLE_TOKEN",
    help="What a browser has to have; made if --host is not loopback. "
    + rather_set("NAMEKEEPER_CONSOLE_TOKEN"),
)  # fmt: skip
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", callback=_host_names,
    help="Another name by which browsers reach this host; may be repeated.",
)  # fmt: skip
@click.option(
    "--access-file",
    metavar="FILE",
    help="Access rules of a name server: the page is for those whom its rules about http allow.",
)
@click.option(
    "--history-bytes", type=click.IntRange(1), default=HISTORY_BYTES, show_default=True, metavar="BYTES",
    help="Memory of the histories, about. The oldest changes are dropped when it is full.",
)  # fmt: skip
@click.option("--until-eof", is_flag=True, hidden=True, help="End when the standard input does.")
@connection_options
@session_options
@click.pass_context
def console(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, journals: tuple[str, ...], config_files: tuple[str, ...],
    addresses: tuple[str, ...], namesrvs: tuple[str, ...], warehouse: str | None, session: MakeSession,
    pages: tuple[str, ...], http_token: str, host: str, port: int, token: str | None,
    names: tuple[str, ...], access_file: str | None, history_bytes: int,
    until_eof: bool, **connection: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Show what name servers hold, held and disagreed about, as a page in a browser.

    Runs until it is interrupted. Nothing can be changed by the page.
    """
    if warehouse is not None and (journals or config_files or addresses):
        raise click.UsageError(
            "give either --warehouse URI, or journals by --journal DIR, -c FILE or -n HOST:PORT"
        )
    try:
        connector, timeout_ms = take_connection(context, connection)
        asked = pages_in(pages)
        operators = OperatorsPages(asked, http_token, pages_tls(connector.tls_files, asked))
        here, others = journals_here(addresses, connector, needs_journal=False)
        folders, asking = [*journals, *here], [*namesrvs, *map(str, others)]
        if config_files or not (folders or asking or warehouse):
            more, others = journals_by_default(config_files, lambda: connector, needs_journal=False)
            folders, asking = [*folders, *more], [*asking, *map(str, others)]
        running = running_source(asking, connector, timeout_ms)
        tables = None if warehouse is None else WarehouseOfConsole(warehouse, session)
        stored = [] if tables is None else [tables.history()]
        histories = Histories([journal_source(folders), running, *stored], history_bytes)
        rules = None if access_file is None else _rules_of(access_file)
    except NamekeeperError as error:
        raise failure_of(error) from error
    if token is None and rules is None and not is_loopback(host):
        token = make_token()
    policy = None if rules is None else lambda: rules.policy
    doors = Doors(host, frozenset(map(str.lower, names)), token or "", policy=policy)
    views = ConsoleViews(
        histories, source_of_causes(folders, tables, operators, history_bytes // CAUSE_PART), SystemClock(),
        operators.who_knows,
    )  # fmt: skip
    server = ConsoleServer(host, port, doors, histories, views)
    spare_the_collector()
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as closing:
        closing.callback(running.close)
        address_of = partial(page_address, host, names, token or "")
        asyncio.run(_serve(server, address_of, rules, until_eof=until_eof))


def page_address(host: str, names: Sequence[str], token: str, port: int) -> str:
    """The address of the page: by the first of the names given for it if it listens at every address."""
    name = names[0] if names and host in _EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/{f'#token={token}' if token else ''}"


def _rules_of(file: str) -> AccessFiles:
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


async def _serve(
    server: ConsoleServer, address_of: Callable[[int], str], rules: AccessFiles | None, *, until_eof: bool
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    watching = None if rules is None else asyncio.create_task(rules.watch(lambda _: None))
    if until_eof:  # a killed parent can't end it
        loop.add_reader(sys.stdin, lambda: stop.set() if not os.read(sys.stdin.fileno(), 100) else None)
    try:
        with stopping_by_signals(stop.set):
            async with server:
                echo(address_of(server.port))
                await stop.wait()
                if watching is not None:
                    watching.cancel()
    except NamekeeperError as error:
        raise failure_of(error) from error
