"""Sources of `namekeeper console`: journals, running name servers, a warehouse."""

import asyncio
from collections.abc import Callable, Sequence

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.snapshot import LABEL_PROPERTY
from namekeeper.answers.evidence import Evidence
from namekeeper.answers.source import JournalAnswers, PastAnswers, no_such_cluster
from namekeeper.cli.connecting import Connector
from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.history import with_label
from namekeeper.cli.output import note
from namekeeper.cli.remote_journal import RemoteJournal
from namekeeper.cli.spark import MakeSession, refusals
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.errors import ConfigError, NamekeeperError, RemotingError
from namekeeper.history.sources.running import RunningSource
from namekeeper.history.sources.warehouse import WarehouseSource
from namekeeper.http.asking_who_knows import ask_who_knows
from namekeeper.http.watchers import WhoKnows
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.remoting.address import parse_addresses
from namekeeper.remoting.page_address import PageAddress, parse_page_addresses
from namekeeper.remoting.tls_client import Tls

__all__ = [
    "OperatorsPages",
    "WarehouseOfConsole",
    "addresses_in",
    "pages_in",
    "running_source",
    "source_of_causes",
]


class OperatorsPages:
    """Name servers that are asked over their operators' pages.

    Args:
        pages: where they are.
        token: sent where access rules ask for one; empty: none.
        tls: for those that speak TLS; None: the authorities of the system count.
    """

    def __init__(self, pages: Sequence[PageAddress], token: str, tls: Tls | None = None) -> None:
        self._pages, self._token, self._tls = pages, token, tls

    def __bool__(self) -> bool:
        """Whether there is anyone to ask."""
        return bool(self._pages)

    def who_knows(self, topic: str) -> dict[str, WhoKnows | RemotingError]:
        """Return the clients that looked up a topic since its last change, at each name server."""
        answers = asyncio.run(ask_who_knows(self._pages, topic, token=self._token, tls=self._tls))
        return dict(zip(map(str, self._pages), answers, strict=True))

    def journals(self) -> list[FoundJournal]:
        """The journals of the name servers as they are now.

        Raises:
            JournalError: one can't be read.
        """
        return [RemoteJournal(page, token=self._token, tls=self._tls).found() for page in self._pages]


class WarehouseOfConsole:
    """A warehouse whose refusals are shown on the page, and not in the terminal.

    Args:
        uri: where it is.
        session: makes the session of Spark, if Spark has to read the tables.
        label: of the cluster whose name servers are shown; None: all are.
    """

    def __init__(self, uri: str, session: MakeSession, label: str | None = None) -> None:
        self._uri, self._session, self._label = uri, session, label

    def history(self) -> WarehouseSource:
        """The history of its name servers.

        Raises:
            CommandRefused: there is no warehouse, or no Spark to read it with.
            ConfigError: no name server has the label.
        """
        with refusals():
            from namekeeper.console.warehouse_history import warehouse_history
            from namekeeper.pipeline.answers.engines import open_tables

            return warehouse_history(open_tables(self._uri, self._session), label=self._label)

    def source(self) -> PastAnswers:
        """Where the cause of an error is found.

        Raises:
            ConfigError: the warehouse can't be read.
        """
        try:
            return _ShownWarehouse(self._uri, self._session, cluster=self._label)
        except CommandRefused as error:
            raise ConfigError(error.message) from error


class _ShownWarehouse(WarehouseAnswers):
    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        try:
            return super().evidence(topic, at)
        except CommandRefused as error:
            raise ConfigError(error.message) from error


def source_of_causes(
    folders: Sequence[str],
    warehouse: WarehouseOfConsole | None,
    pages: OperatorsPages,
    limit_bytes: int,
    label: str | None = None,
) -> Callable[[], PastAnswers] | None:
    """Where `why` finds causes: a warehouse, else journals in folders, else those that operators' pages give.

    None if there is none of them. The function raises a ConfigError or a JournalError for what can't be read.

    Args:
        folders: with journals.
        warehouse: None: there is none.
        pages: of name servers that run.
        limit_bytes: bounds the memory of the history that one cause needs, about; not that of a warehouse.
        label: of the cluster whose journals count; None: all do.
    """

    def answers(found: Sequence[str | FoundJournal]) -> PastAnswers:
        wanted = found if label is None else with_label(found, label)
        return JournalAnswers([*wanted], limit_bytes=limit_bytes)

    if warehouse is not None:
        return warehouse.source
    if folders:
        return lambda: answers(folders)
    return (lambda: answers(pages.journals())) if pages else None


def running_source(
    lists: Sequence[str], connector: Connector, timeout_ms: int, label: str | None = None
) -> RunningSource:
    """The history of running name servers, from now on.

    Args:
        lists: their addresses, `host:port;host:port`.
        connector: how to reach them.
        timeout_ms: how long to wait for each answer.
        label: of the cluster whose name servers are asked. Those that do not answer now are left out, with a
            line. None: all are asked.

    Raises:
        ConfigError: an address can't be used, or no name server has the label.
    """
    addrs = addresses_in(lists)
    if label is not None and addrs:
        addrs = asyncio.run(_with_label(addrs, connector, timeout_ms, label))
    return RunningSource(addrs, connector.open, timeout_ms)


async def _with_label(addrs: Sequence[str], connector: Connector, timeout_ms: int, label: str) -> list[str]:
    """The name servers whose configuration has the label of a cluster now."""
    labels = {}
    async with connector.open() as sender:
        for addr in addrs:
            try:
                config = await operations.get_namesrv_config(Namesrv(addr, sender, timeout_ms))
            except NamekeeperError as error:
                note(f"{addr} is left out: its label is not known: {error}")
            else:
                labels[addr] = config.get(LABEL_PROPERTY, "")
    found = [addr for addr, own in labels.items() if own == label]
    if not found:
        raise no_such_cluster(label, labels.values())
    return found


def pages_in(lists: Sequence[str]) -> list[PageAddress]:
    """The operators' pages in some lists, `host:port;https://host:port`, each once.

    Raises:
        ConfigError: an address can't be used.
    """
    return list(dict.fromkeys(page for text in lists for page in parse_page_addresses(text)))


def addresses_in(lists: Sequence[str]) -> list[str]:
    """Each address of some lists once."""
    return list(dict.fromkeys(str(address) for text in lists for address in parse_addresses(text)))
