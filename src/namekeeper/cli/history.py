"""Common parts of the commands about the past: sources of history, times, zones, progress."""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from namekeeper.answers.evidence import DAY_MS, FOREVER
from namekeeper.answers.source import (
    JournalAnswers,
    PastAnswers,
    SourceProgress,
    found_in,
    no_such_cluster,
)
from namekeeper.answers.times import Zone, instant_of, zone_of
from namekeeper.cli.connecting import SENDER_OPTIONS, Connector, sender_options, take_connector
from namekeeper.cli.credentials import rather_set
from namekeeper.cli.journals import journals_by_default, journals_here
from namekeeper.cli.output import json_option, note
from namekeeper.cli.shared_options import ADDRESSES, OLD_ADDRESSES, Option, cluster_option
from namekeeper.cli.spark import MakeSession, session_options
from namekeeper.cli.tls_files import pages_tls
from namekeeper.clock import SystemClock
from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable
from namekeeper.errors import ConfigError
from namekeeper.history.rows import is_about_a_name
from namekeeper.journal.reading.reader import FoundJournal, JournalReader
from namekeeper.remoting.address import Address, parse_addresses
from namekeeper.remoting.page_address import PageAddress, parse_page_addresses

if TYPE_CHECKING:
    from namekeeper.remoting.tls_client import Tls

__all__ = [
    "AT_HELP",
    "EXIT_NOT_KNOWN",
    "EXIT_NO_SUCH_NAME",
    "has_records_of",
    "history_options",
    "history_source_options",
    "journal_options",
    "journal_source_options",
    "shown_reading",
    "take_instant",
    "take_journals",
    "take_pages",
    "take_sender",
    "take_source",
    "take_zone",
    "with_label",
    "zone_option",
]


F = TypeVar("F", bound=Callable[..., Any])

EXIT_NOT_KNOWN = 3
"""Exit status: the state is not known at any name server."""

EXIT_NO_SUCH_NAME = 4
"""Exit status: no name server has a record of the name; it may be misspelt."""

_LINES_FROM = 50
"""Without a terminal, progress is printed if there are at least this many segments."""
_LINES = 10
"""Number of printed lines of progress."""

_CONFIG_FILES, _ADDRESSES = "namekeeper.config_files", "namekeeper.addresses"
_PAGES, _TOKEN = "namekeeper.pages", "namekeeper.token"
"""Keys of the context at which the values of `-c`, `-n`, `--http` and `--token` are kept."""
_SENDER_OPTIONS = "namekeeper.sender_options"
"""Key of the context with the options for TLS and signatures: their files are read when somebody is asked."""
_CLUSTER = "namekeeper.cluster"
"""Key of the context with the value of `--cluster`."""
_REMOTE = "namekeeper.remote_journals"
"""Key of the context with the journals of other hosts: `--follow` continues with the copied files."""

AT_HELP = (
    "Time: ISO 8601, as it is printed, ms since 1970, a time of day, 'yesterday 03:12', 10m or '2 hours ago'."
)


def zone_option(function: F) -> F:
    """Add the option for the zone in which times are read and shown."""
    return click.option(
        "--zone", "zone_name", metavar="ZONE", help="Time zone to read and show times in; yours by default."
    )(function)


def history_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the source of the history, Spark, the zone and JSON."""
    return history_source_options(json_option()(function))


def history_source_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the source of the history, Spark and the zone."""
    function = session_options(_with_sender_options(function))
    function = zone_option(function)
    function = click.option("--warehouse", metavar="URI", help="Tables that `namekeeper pipeline run` made.")(
        function
    )
    return _journal_options(function)


def journal_source_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the journals, the zone and JSON."""
    return journal_options(json_option()(function))


def journal_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the journals and the zone."""
    return _journal_options(zone_option(_with_sender_options(function)))


def _journal_options(function: Callable[..., None]) -> Callable[..., None]:
    function = click.option(
        "-c", "--config-file", "config_files", multiple=True, metavar="FILE", callback=_note,
        expose_value=False,
        help="Properties file of a name server on this host, or TOML file of `namekeeper observe`, to find"
        " its journals.",
    )(function)  # fmt: skip
    function = click.option(
        *ADDRESSES, "addresses", cls=Option, old_names=OLD_ADDRESSES, multiple=True, metavar="LIST",
        callback=_note, expose_value=False,
        help="Name servers: a journal is found on this host by its server's port, or else read over its "
        "operators' pages. NAMESRV_ADDR counts where this host has no journal.  [env: NAMESRV_ADDR]",
    )(function)  # fmt: skip
    function = click.option(
        "--http", "pages", multiple=True, metavar="HOST:PORT", callback=_note, expose_value=False,
        help="Operators' HTTP port of a running name server, to read its journal over it; https://HOST:PORT "
        "where it speaks TLS.",
    )(function)  # fmt: skip
    function = click.option(
        "--http-token", "token", cls=Option, old_names=["--token"],
        default="", callback=_note, expose_value=False, envvar="NAMEKEEPER_HTTP_TOKEN",
        help="Sent to operators' pages as bearer token, where access rules ask for one. "
        + rather_set("NAMEKEEPER_HTTP_TOKEN"),
    )(function)  # fmt: skip
    function = cluster_option(callback=_note, expose_value=False)(function)
    return click.option(
        "--journal", "journals", multiple=True, metavar="DIR",
        help="Journal folder of a name server, or a folder with several; may be repeated. By default those "
        "of the name servers on this host, ~/namesrv/journal/*.",
    )(function)  # fmt: skip


def _with_sender_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for TLS and signatures; the context gets their values."""

    @functools.wraps(command)
    def with_sender_options(*args: object, **options: object) -> None:
        meta = click.get_current_context().meta
        meta[_SENDER_OPTIONS] = {name: options.pop(name) for name in SENDER_OPTIONS}
        command(*args, **options)

    return sender_options(with_sender_options)


def _note(context: click.Context, option: click.Parameter, values: tuple[str, ...] | str | None) -> None:
    context.meta[f"namekeeper.{option.name}"] = values


def take_zone(name: str | None) -> Zone:
    """Read `--zone`.

    Raises:
        click.BadParameter: there is no such zone.
    """
    try:
        return zone_of(name)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--zone") from None


def take_instant(text: str, zone: Zone, option: str = "--at") -> int:
    """Read the time of an option, as wall ms.

    Raises:
        click.BadParameter: it is not a time.
    """
    try:
        return instant_of(text, now_ms=SystemClock().now().wall_ms, zone=zone)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def take_source(  # noqa: PLR0913 - one for each option
    journals: Sequence[str],
    warehouse: str | None,
    progress: SourceProgress,
    session: MakeSession,
    *,
    namesrv: str | None = None,
    back_ms: int = DAY_MS,
    pages_too: bool = True,
) -> PastAnswers:
    """The source of the answers: a warehouse, or journals; by default those of this host.

    Args:
        journals: folders.
        warehouse: where it is; None: there is none.
        progress: called while it is read.
        session: makes the session of Spark, if it is needed.
        namesrv: only this name server is wanted.
        back_ms: how long before a time the history of a topic is read.
        pages_too: whether `--http` names journals.

    Raises:
        click.UsageError: both are given.
        NamekeeperError: it can't be used; the message says what to do.
    """
    meta = click.get_current_context().meta
    config_files: tuple[str, ...] = meta.get(_CONFIG_FILES, ())
    addresses: tuple[str, ...] = meta.get(_ADDRESSES, ())
    pages: tuple[str, ...] = meta.get(_PAGES, ()) if pages_too else ()
    if warehouse is not None and (journals or config_files or addresses or pages):
        raise click.UsageError(
            "give either --warehouse URI, or journals by --journal DIR, -c FILE, -n or --http HOST:PORT"
        )
    if warehouse is None:
        return JournalAnswers(take_journals(journals), namesrv, back_ms=back_ms, progress=progress)
    from namekeeper.cli.warehouse import WarehouseAnswers

    cluster: str | None = meta.get(_CLUSTER)
    return WarehouseAnswers(warehouse, session, namesrv, cluster=cluster, back_ms=back_ms, progress=progress)


def take_journals(journals: Sequence[str], *, pages_too: bool = True) -> list[str | FoundJournal]:
    """The folders of the journals that the options name, by default of those of this host.

    Args:
        journals: folders.
        pages_too: whether the pages of `--http` count where other options name journals.

    Raises:
        NamekeeperError: one can't be used; the message says what to do.
    """
    meta = click.get_current_context().meta
    config_files: tuple[str, ...] = meta.get(_CONFIG_FILES, ())
    addresses: tuple[str, ...] = meta.get(_ADDRESSES, ())
    here, others = journals_here(addresses, take_sender())
    pages = () if (journals or config_files or addresses) and not pages_too else meta.get(_PAGES, ())
    found: list[str | FoundJournal] = [*journals, *here, *_remote_journals(pages, others)]
    if config_files or not found:
        here, others = journals_by_default(config_files, take_sender)
        found += [*here, *_remote_journals((), others)]
    cluster: str | None = meta.get(_CLUSTER)
    return found if cluster is None else [*with_label(found, cluster)]


def with_label(folders: Sequence[str | FoundJournal], label: str) -> list[FoundJournal]:
    """The journals of the name servers with the label of a cluster.

    Args:
        folders: those with journals, or journals that were found.
        label: of the cluster.

    Raises:
        ConfigError: there is none.
        JournalError: one is not a journal, or can't be read.
    """
    found = [each for folder in folders for each in found_in(folder)]
    labels = {each: JournalReader(each).cluster_label() for each in found}
    wanted = [each for each in found if labels[each] == label]
    if not wanted:
        raise no_such_cluster(label, labels.values())
    return wanted


def _remote_journals(pages: Sequence[str], others: Sequence[Address]) -> list[FoundJournal]:
    """The journals of running name servers, by their operators' pages or by their own addresses."""
    if not pages and not others:
        return []
    from namekeeper.cli.remote_journal import RemoteJournal, pages_of

    meta = click.get_current_context().meta
    connector = take_sender()
    known: dict[PageAddress, RemoteJournal] = meta.setdefault(_REMOTE, {})
    named = [page for text in pages for page in parse_page_addresses(text)]
    found = list(dict.fromkeys([*named, *(pages_of(address, connector) for address in others)]))
    tls = pages_tls(connector.tls_files, found)
    for page in found:
        if page not in known:
            known[page] = RemoteJournal(page, token=meta.get(_TOKEN, ""), tls=tls)
    return [journal.found() for journal in known.values()]


def take_pages() -> "tuple[list[PageAddress], str, Tls | None]":
    """The operators' pages of `--http`, or of the name servers of `-n`; the token and TLS for them.

    Raises:
        NamekeeperError: an address can't be used, or a name server does not say where its pages are.
    """
    meta = click.get_current_context().meta
    connector = take_sender()
    found = [page for text in meta.get(_PAGES, ()) for page in parse_page_addresses(text)]
    if not found and (addresses := meta.get(_ADDRESSES, ())):
        from namekeeper.cli.remote_journal import pages_of

        listed = [address for text in addresses for address in parse_addresses(text)]
        lacks = "does not say where its pages are"
        found = [pages_of(each, connector, lacks=lacks, other_ways="") for each in listed]
    return list(dict.fromkeys(found)), meta.get(_TOKEN, ""), pages_tls(connector.tls_files, found)


def take_sender() -> Connector:
    """How name servers are reached, by the options of `history_source_options`."""
    context = click.get_current_context()
    return take_connector(context, dict(context.meta[_SENDER_OPTIONS]))


@contextmanager
def shown_reading() -> Iterator[SourceProgress]:
    """Give a function that shows the progress of reading: a bar on a terminal, a few lines elsewhere."""
    if sys.stderr.isatty():
        from namekeeper.cli.progress import shown_progress

        with shown_progress() as show:
            yield show
        return
    yield _print_progress


def _print_progress(what: str, done: int, total: int) -> None:
    if total >= _LINES_FROM and done and done % (total // _LINES) == 0:
        note(f"{what}: {done} of {total} segments read")


def has_records_of(name: str, source: PastAnswers) -> bool:
    """Whether a topic, broker or address was ever recorded; if not, a note says so and suggests names."""
    if any(map(is_about_a_name, source.changes(name, 0, FOREVER))):
        return True
    near = did_you_mean(name, [*source.topics(), *source.brokers()])
    note(f"there is no record of a topic, broker or address {printable(name)!r}{near}")
    return False
