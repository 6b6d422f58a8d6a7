"""`namekeeper console`: a page in a browser, over journals, running name servers or a warehouse."""

import asyncio
import contextlib
import os
import sys
from typing import Any

import click

from namekeeper.app.process import spare_the_collector
from namekeeper.app.stop_signals import run_until_stopped
from namekeeper.cli.connecting import connection_options, take_connection
from namekeeper.cli.console_sources import (
    OperatorsPages,
    WarehouseOfConsole,
    pages_in,
    running_source,
    source_of_causes,
)
from namekeeper.cli.credentials import rather_set
from namekeeper.cli.failure import failure_of
from namekeeper.cli.journals import journals_by_default, journals_here
from namekeeper.cli.output import echo
from namekeeper.cli.page_options import page_options, take_page
from namekeeper.cli.shared_options import ADDRESSES, OLD_ADDRESSES, Option, cluster_option
from namekeeper.cli.spark import MakeSession, session_options
from namekeeper.cli.tls_files import pages_tls
from namekeeper.clock import SystemClock
from namekeeper.console.companion import Companion
from namekeeper.console.histories import CAUSE_PART, Histories
from namekeeper.console.journal_folders import JournalFolders
from namekeeper.console.views import ConsoleViews
from namekeeper.errors import NamekeeperError
from namekeeper.expected.incidents import ExpectedFile

__all__ = ["console"]


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
@cluster_option()
@page_options(is_optional=False)
@click.option("--until-eof", is_flag=True, hidden=True, help="End when the standard input does.")
@connection_options
@session_options
@click.pass_context
def console(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, journals: tuple[str, ...], config_files: tuple[str, ...],
    addresses: tuple[str, ...], namesrvs: tuple[str, ...], warehouse: str | None, session: MakeSession,
    pages: tuple[str, ...], http_token: str, cluster: str | None, history_bytes: int,
    expected_file: str | None, until_eof: bool, **more: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Show what name servers hold, held and disagreed about, as a page in a browser.

    Runs until it is interrupted. Nothing can be changed by the page.
    """
    if warehouse is not None and (journals or config_files or addresses):
        raise click.UsageError(
            "give either --warehouse URI, or journals by --journal DIR, -c FILE or -n HOST:PORT"
        )
    try:
        page = take_page(more)
        connector, timeout_ms = take_connection(context, more)
        asked = pages_in(pages)
        operators = OperatorsPages(asked, http_token, pages_tls(connector.tls_files, asked))
        here, others = journals_here(addresses, connector, needs_journal=False)
        folders, asking = [*journals, *here], [*namesrvs, *map(str, others)]
        if config_files or not (folders or asking or warehouse):
            by_default, others = journals_by_default(config_files, lambda: connector, needs_journal=False)
            folders, asking = [*folders, *by_default], [*asking, *map(str, others)]
        running = running_source(asking, connector, timeout_ms, cluster)
        tables = None if warehouse is None else WarehouseOfConsole(warehouse, session, cluster)
        stored = [] if tables is None else [tables.history()]
        journal_folders = JournalFolders(folders, label=cluster)
        histories = Histories([*journal_folders.open(), running, *stored], history_bytes)
        expected = None if expected_file is None else ExpectedFile(expected_file, echo)
    except NamekeeperError as error:
        raise failure_of(error) from error
    views = ConsoleViews(
        histories, source_of_causes(folders, tables, operators, history_bytes // CAUSE_PART, cluster),
        SystemClock(), operators.who_knows, expected,
    )  # fmt: skip
    companion = Companion(
        histories, views=views, page=page, folders=journal_folders, expected=expected, announce=echo
    )
    spare_the_collector()
    try:
        with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as closing:
            closing.callback(running.close)
            asyncio.run(_run(companion, until_eof=until_eof))
    except NamekeeperError as error:
        raise failure_of(error) from error


async def _run(companion: Companion, *, until_eof: bool) -> None:
    parts = [companion.run()]
    if until_eof:  # a killed parent can't end it
        parts.append(_end_of_input())
    await run_until_stopped(*parts)


async def _end_of_input() -> None:
    """Wait for the end of the standard input."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(
        sys.stdin, lambda: ended.set() if not os.read(sys.stdin.fileno(), 100) else None
    )
    await ended.wait()
