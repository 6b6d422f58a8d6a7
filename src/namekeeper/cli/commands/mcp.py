"""`namekeeper mcp`: answers questions of assistants by the Model Context Protocol, over stdio or HTTP."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from namekeeper.answers.source import PastAnswers
from namekeeper.app.access_files import AccessFiles
from namekeeper.app.stop_signals import run_until_stopped
from namekeeper.cli.credentials import rather_set
from namekeeper.cli.failure import describe, failure_of
from namekeeper.cli.history import (
    history_source_options,
    take_journals,
    take_pages,
    take_source,
    take_zone,
)
from namekeeper.cli.output import echo, note
from namekeeper.cli.page_access import access_file_option, allow_host_option, page_address, rules_of_pages
from namekeeper.cli.sections import SectionedCommand
from namekeeper.cli.spark import MakeSession
from namekeeper.clock import SystemClock
from namekeeper.errors import ConfigError, NamekeeperError, RemotingError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.http.asking_who_knows import ask_who_knows
from namekeeper.http.doors import Doors, is_loopback, make_token
from namekeeper.http.watchers import WhoKnows
from namekeeper.journal.reading.reader import FoundJournal

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from namekeeper.mcp.pages import AssistantPages

__all__ = ["asking_commands", "mcp"]


@click.command("mcp", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--port", type=click.IntRange(0, 65_535),
    help="Serve assistants over HTTP at this port; 0: a free one. Without it: over stdin and stdout.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--mcp-token", metavar="TEXT", envvar="NAMEKEEPER_MCP_TOKEN",
    help="The bearer token that an assistant has to send; made if --host is not loopback. "
    + rather_set("NAMEKEEPER_MCP_TOKEN"),
)  # fmt: skip
@click.option(
    "--expect", "expected_file", metavar="FILE",
    help="File of the expected state: deviations from it are incidents, too, and maintenance is marked.",
)  # fmt: skip
@allow_host_option
@access_file_option
@history_source_options
@click.pass_context
def mcp(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, port: int | None, host: str, mcp_token: str | None, names: tuple[str, ...],
    access_file: str | None, expected_file: str | None, journals: tuple[str, ...], warehouse: str | None,
    zone_name: str | None, session: MakeSession,
) -> None:  # fmt: skip
    """Answer questions of assistants: what is wrong, why, since when, what was there.

    An assistant starts this command and speaks the Model Context Protocol over stdin and stdout; with --port
    it listens for several. Nothing can be changed by it. It ends when the standard input does, or by SIGTERM.
    """
    from namekeeper.mcp.answers import Sources
    from namekeeper.mcp.pages import AssistantPages
    from namekeeper.mcp.server import make_server

    zone = take_zone(zone_name)
    here = _InContext(context, journals, warehouse, session)
    try:
        rules = None if access_file is None else rules_of_pages(access_file)
        expected = None if expected_file is None else ExpectedFile(expected_file, note)
        sources = Sources(
            here.journals, here.who_knows, SystemClock(), zone, expected,
            warehouse=None if warehouse is None else here.answers, asking=here.in_thread,
        )  # fmt: skip
        server = make_server(sources)
        _look(sources.answers)
        with contextlib.suppress(KeyboardInterrupt):
            if port is None:
                asyncio.run(_serve_stdio(server))
            else:
                doors = _doors(host, mcp_token, names, rules)
                address_of = partial(page_address, host, names, "")
                asyncio.run(_serve_pages(AssistantPages(host, port, doors, server), address_of, rules))
    except NamekeeperError as error:
        raise failure_of(error) from error


class _InContext:
    """Finds journals and pages by the options of the command, in the thread that answers a question.

    Args:
        context: has the options.
        journals: folders that were given.
        warehouse: where a warehouse is; None: there is none.
        session: makes the session of Spark, if Spark has to read it.
    """

    def __init__(
        self, context: click.Context, journals: Sequence[str], warehouse: str | None, session: MakeSession
    ) -> None:
        self._context, self._folders = context, journals
        self._warehouse, self._session = warehouse, session

    def answers(self) -> PastAnswers:
        """The warehouse, as it is now.

        Raises:
            NamekeeperError: it can't be read, or journals are given, too.
        """
        with self.in_thread():
            return take_source(
                self._folders, self._warehouse, lambda *_: None, self._session, pages_too=False
            )

    def journals(self) -> list[str | FoundJournal]:
        """The journals, as they are now.

        Raises:
            NamekeeperError: one can't be used.
        """
        with self.in_thread():
            return take_journals(self._folders, pages_too=False)

    def who_knows(self, topic: str) -> Mapping[str, WhoKnows | RemotingError]:
        """The clients that looked up a topic since its last change, at each name server.

        Raises:
            NamekeeperError: no name server is known that could be asked.
        """
        with self.in_thread():
            pages, token, tls = take_pages()
        if not pages:
            raise ConfigError(
                "no name server can be asked: start namekeeper mcp with --http HOST:PORT, or -n HOST:PORT"
            )
        answers = asyncio.run(ask_who_knows(pages, topic, token=token, tls=tls))
        return dict(zip(map(str, pages), answers, strict=True))

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[None]:
        """Have the options at hand, and errors of commands as those of Namekeeper."""
        with self._context, asking_commands():
            yield


@contextlib.contextmanager
def asking_commands() -> Iterator[None]:
    """Make a NamekeeperError of what ends a command."""
    try:
        yield
    except click.ClickException as error:
        raise ConfigError(error.format_message()) from None


def _look(answers: Callable[[], object]) -> None:
    """Say at the start why no question can be answered, if so; that may change, so it is no error."""
    try:
        answers()
    except NamekeeperError as error:
        note(f"namekeeper: {describe(error)}")


def _doors(host: str, token: str | None, names: Sequence[str], rules: AccessFiles | None) -> Doors:
    if token is None and rules is None and not is_loopback(host):
        token = make_token()
        note(f"bearer token: {token}")
    return Doors(
        host,
        frozenset(map(str.lower, names)),
        token or "",
        credential_place="send it as bearer token; namekeeper mcp printed it, or was given it",
        policy=None if rules is None else lambda: rules.policy,
    )


async def _serve_stdio(server: "Server") -> None:
    from namekeeper.mcp.stdio import serve_stdio

    await run_until_stopped(serve_stdio(server))


async def _serve_pages(
    pages: "AssistantPages", address_of: Callable[[int], str], rules: AccessFiles | None
) -> None:
    _log_to_stderr()
    async with pages:
        echo(f"{address_of(pages.port)}mcp")
        await run_until_stopped(*([] if rules is None else [rules.watch(lambda _: None)]))


def _log_to_stderr() -> None:
    """Print each question and each refusal, with the client."""
    handler = logging.StreamHandler()
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    log = logging.getLogger("namekeeper.mcp")
    log.setLevel(logging.INFO)
    log.addHandler(handler)
