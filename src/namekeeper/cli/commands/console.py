"""`namekeeper console`: a page for operators in a browser, over journals and running name servers."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from namekeeper.answers.source import HistorySource, JournalSource
from namekeeper.cli.connecting import Connector, connection_options, take_connection
from namekeeper.cli.failure import failure_of
from namekeeper.cli.journals import journals_at, journals_of_this_host
from namekeeper.cli.output import echo
from namekeeper.cli.remote_journal import RemoteJournal
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Histories, JournalHistory
from namekeeper.console.live import LiveHistory
from namekeeper.console.server import ConsoleServer
from namekeeper.console.views import ConsoleViews
from namekeeper.errors import ConfigError, NamekeeperError, RemotingError
from namekeeper.http.asking_who_knows import ask_who_knows
from namekeeper.http.doors import Doors, is_loopback, make_token
from namekeeper.http.watchers import WhoKnows
from namekeeper.journal.reading.reader import FoundJournal, find_journals
from namekeeper.remoting.address import parse_addresses

__all__ = ["console", "journal_histories", "live_histories"]


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
    "-n", "--namesrv-addr", "addresses", multiple=True, metavar="HOST:PORT",
    help="A name server on this host, to find its journal by its port.",
)  # fmt: skip
@click.option(
    "--namesrv", "namesrvs", multiple=True, metavar="LIST",
    help="Name servers that run, 'host:port;host:port': they are asked, and remembered from now on.",
)  # fmt: skip
@click.option(
    "--http", "pages", multiple=True, metavar="LIST",
    help="Operators' HTTP ports of name servers, 'host:port;host:port': who has asked for a topic, and the "
    "journal behind `why` where none is given.",
)  # fmt: skip
@click.option("--http-token", default="", help="Sent to them, where access rules ask for one.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=9_888, show_default=True, help="0: a free one."
)
@click.option(
    "--token", metavar="TEXT", envvar="NAMEKEEPER_CONSOLE_TOKEN",
    help="What a browser has to have; made if --host is not loopback.  [env: NAMEKEEPER_CONSOLE_TOKEN]",
)  # fmt: skip
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME",
    help="Another name by which browsers reach this host; may be repeated.",
)  # fmt: skip
@click.option("--until-eof", is_flag=True, hidden=True, help="End when the standard input does.")
@connection_options
@click.pass_context
def console(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, journals: tuple[str, ...], config_files: tuple[str, ...],
    addresses: tuple[str, ...], namesrvs: tuple[str, ...], pages: tuple[str, ...], http_token: str,
    host: str, port: int, token: str | None, names: tuple[str, ...], until_eof: bool,
    **connection: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Show what name servers hold, held and disagreed about, as a page in a browser.

    Runs until it is interrupted. Nothing can be changed by the page.
    """
    try:
        folders = [*journals, *journals_at(addresses)]
        if config_files or not (folders or namesrvs):
            folders += journals_of_this_host(config_files)
        live = live_histories(namesrvs, *take_connection(context, connection))
        histories = Histories([*journal_histories(folders), *live])
        operators = _addresses(pages)
    except NamekeeperError as error:
        raise failure_of(error) from error
    if token is None and not is_loopback(host):
        token = make_token()
    doors = Doors(host, frozenset(name.lower() for name in names), token or "")

    def open_source() -> HistorySource:
        remote = [] if folders else [RemoteJournal(addr, http_token).found() for addr in operators]
        return JournalSource([*folders, *remote])

    def who_knows(topic: str) -> dict[str, WhoKnows | RemotingError]:
        answers = asyncio.run(ask_who_knows(operators, topic, http_token))
        return dict(zip(operators, answers, strict=True))

    source = open_source if folders or operators else None
    views = ConsoleViews(histories, source, SystemClock(), who_knows)
    with contextlib.suppress(KeyboardInterrupt), _closing(live):
        asyncio.run(
            _serve(ConsoleServer(host, port, doors, histories, views), host, token, until_eof=until_eof)
        )


def live_histories(lists: Sequence[str], connector: Connector, timeout_ms: int) -> list[LiveHistory]:
    """The histories of running name servers, from now on.

    Args:
        lists: their addresses, `host:port;host:port`.
        connector: how to reach them.
        timeout_ms: how long to wait for each answer.

    Raises:
        ConfigError: an address can't be used.
    """
    return [LiveHistory(addr, connector.open, timeout_ms) for addr in _addresses(lists)]


def _addresses(lists: Sequence[str]) -> list[str]:
    """Each address of some lists once."""
    return list(dict.fromkeys(str(address) for text in lists for address in parse_addresses(text)))


def journal_histories(folders: Sequence[str]) -> list[JournalHistory]:
    """The histories in some folders.

    Raises:
        JournalError: a folder is not a journal, or can't be read.
        ConfigError: two folders are of one name server.
    """
    sources: dict[str, JournalHistory] = {}
    found_at: dict[str, FoundJournal] = {}
    for found in dict.fromkeys(each for folder in folders for each in find_journals(folder)):
        source = JournalHistory(found)
        namesrv = source.followed.versions.namesrv
        if namesrv in sources:
            raise ConfigError(
                f"{found_at[namesrv]} and {found} are both the journal of {namesrv}: give one of them"
            )
        sources[namesrv], found_at[namesrv] = source, found
    return list(sources.values())


@contextlib.contextmanager
def _closing(live: Sequence[LiveHistory]) -> Iterator[None]:
    try:
        yield
    finally:
        for history in live:
            history.close()


async def _serve(server: ConsoleServer, host: str, token: str | None, *, until_eof: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    if until_eof:  # whoever started it may be killed, and can't end it then
        loop.add_reader(sys.stdin, lambda: stop.set() if not os.read(sys.stdin.fileno(), 100) else None)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        async with server:
            shown_host = f"[{host}]" if ":" in host else host
            echo(f"http://{shown_host}:{server.port}/{f'#token={token}' if token else ''}")
            await stop.wait()
    except NamekeeperError as error:
        raise failure_of(error) from error
