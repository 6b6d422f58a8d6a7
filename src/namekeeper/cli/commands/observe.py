"""`namekeeper observe`: follows running name servers by read requests, and keeps a journal of each."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource
from msgspec import structs

from namekeeper.answers.source import JournalAnswers
from namekeeper.app.process import spare_the_collector
from namekeeper.app.stop_signals import run_until_stopped
from namekeeper.cli.commands.messages import open_messages
from namekeeper.cli.connecting import SENDER_OPTIONS, open_client, sender_options
from namekeeper.cli.credentials import take_credentials
from namekeeper.cli.failure import failure_of
from namekeeper.cli.output import echo, json_option, note
from namekeeper.cli.page_options import page_options, take_page
from namekeeper.cli.shared_options import cluster_option, namesrv_option
from namekeeper.cli.tls_files import TlsFiles, take_tls_files
from namekeeper.clock import SystemClock
from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.common.printable import printable
from namekeeper.common.shadow_names import shadow_id
from namekeeper.console.companion import Companion, CompanionMessages, PageSettings
from namekeeper.console.histories import CAUSE_PART, Histories
from namekeeper.console.journal_folders import JournalFolders
from namekeeper.console.views import ConsoleViews
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import ConfigError, NamekeeperError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.files import (
    make_folder,
    problem_with,
    read_named_text,
    read_own_file,
    replace_own_file,
)
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.notifications.receivers import SecretSource
from namekeeper.notifications.sending import check_secrets, read_secret
from namekeeper.notifications.settings import MessagesFile, messages_in, parse_messages_file
from namekeeper.observe.config import (
    ConnectionSettings,
    ObservedCluster,
    Observing,
    ShadowSettings,
    check_targets,
    parse_observing,
)
from namekeeper.observe.observer import ObserverState, ObserverStatus
from namekeeper.observe.observers import Observers
from namekeeper.observe.reporting import ObserverCollector, TroubleLines, reasons_of
from namekeeper.observe.schedule import Rates
from namekeeper.observe.shadow_server import ShadowServer, serve_words
from namekeeper.remoting.address import Address, parse_addresses
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.credentials import Credentials

__all__ = ["STATUS_FILE", "observe"]

STATUS_FILE = ".observe.json"
"""File in the folder of the journals, with the status of each name server."""
STATUS_SECONDS = 2.0
"""Interval at which it is written, and how long a stop waits for its removal."""
SAY_SECONDS = 0.5
"""Interval at which it is checked whether journals can be written."""
STALE_MS = 30_000
"""A status that is older was left by an observer that was killed."""


@click.command("observe", context_settings={"help_option_names": ["-h", "--help"]})
@namesrv_option("Name servers to observe, 'host:port;host:port'.")
@click.option(
    "--discover", metavar="LIST",
    help="Names in the DNS, 'name:port': each address behind one is a name server of its own.",
)  # fmt: skip
@click.option(
    "-c", "--config-file", metavar="FILE", help="TOML: several clusters, and how often to ask. Replaces -n."
)
@click.option(
    "--journal", default="", metavar="DIR", help="Folder for the journals: each name server has one below it."
)
@click.option(
    "--budget", "budget_percent", type=click.FloatRange(0, 100, min_open=True), default=1.0,
    show_default=True, metavar="PERCENT",
    help="What the requests may cost each name server, of one of its cores.",
)  # fmt: skip
@click.option(
    "--log", "log_file", metavar="FILE",
    help="Log file of the only name server in -n: causes of changes are read from Java's namesrv.log.",
)  # fmt: skip
@click.option(
    "--with-journal", "with_journals", multiple=True, metavar="DIR",
    help="Journals of name servers of ours to show beside: one, or a folder with several; may be repeated.",
)  # fmt: skip
@click.option(
    "--shadow", "shadow_port", type=click.IntRange(0, 65_535), metavar="PORT",
    help="Run a name server of ours at this port, for brokers that register with it as well; 0: a free port."
    " `namekeeper shadow` compares its tables with those of the observed ones.",
)  # fmt: skip
@click.option(
    "--shadow-config", metavar="FILE", help="Properties of that name server, as `serve -c` takes them."
)
@click.option(
    "--messages", "messages_file", metavar="FILE",
    help="TOML: send a message when an incident opens and one when it closes, as `messages run` does.",
)  # fmt: skip
@page_options(is_optional=True)
@cluster_option("The page and the messages are about name servers with this label only")
@click.option(
    "--status",
    "shows_status",
    is_flag=True,
    help="Print what the observer that writes to --journal does, and end.",
)
@json_option()
@sender_options
@click.pass_context
def observe(  # noqa: PLR0913 - one for each option
    context: click.Context, /, *, namesrv_addr: str, discover: str | None, config_file: str | None,
    journal: str, budget_percent: float, log_file: str | None, with_journals: tuple[str, ...],
    shadow_port: int | None, shadow_config: str | None, messages_file: str | None, history_bytes: int,
    expected_file: str | None, cluster: str | None,
    shows_status: bool, as_json: bool, **connection: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Keep a journal of name servers that run, of any release, by asking them, and show a page about them.

    Only read requests are sent, and no more than --budget allows. Runs until SIGTERM or Ctrl-C; a line is
    printed when a name server is observed, and when it is not. The page is that of `console`, with /metrics,
    /healthz and /readyz. Read the journals also with `why`, `history`, `route-at` and `journal`, as those of
    a name server of ours.
    """
    try:
        if shows_status:
            _show(_folder_of(journal, config_file), as_json=as_json)
            return
        page = take_page(connection)
        if config_file is not None:
            others = (discover, log_file, shadow_config, *(connection[name] for name in SENDER_OPTIONS))
            if any(others) or shadow_port is not None:
                raise ConfigError(
                    f"{config_file} says which name servers there are, and how they are reached: leave out"
                    " --discover, --log, --shadow, --shadow-config and the options for connections"
                )
            observing = _load(config_file, journal, with_journals)
            secret = ""
        else:
            source = context.get_parameter_source("namesrv_addr")
            if source is not ParameterSource.COMMANDLINE and (discover or (with_journals and not journal)):
                namesrv_addr = ""
            if with_journals and not namesrv_addr and not discover:
                observing, secret = Observing(journal, ()), ""
            else:
                observing, secret = _of_options(
                    namesrv_addr, discover or "", journal, budget_percent, log_file, connection
                )
            observing = structs.replace(
                observing,
                with_journals=with_journals,
                clusters=_with_shadow(observing.clusters, shadow_port, shadow_config),
            )
        observing = structs.replace(observing, shown_label=cluster)
        messages = _messages_of(observing, messages_file, config_file or "")
        _follow(observing, secret, page, messages, expected_file, history_bytes)
    except NamekeeperError as error:
        raise failure_of(error) from error


def _follow(
    observing: Observing,
    secret: str,
    page: PageSettings | None,
    messages: MessagesFile | None,
    expected_file: str | None,
    history_bytes: int,
) -> None:
    """Observe and follow until the process is stopped.

    Raises:
        NamekeeperError: something can't be used.
    """
    if observing.clusters:
        _make_folder(observing.journal)
    openers = {cluster.label: _client_opener(cluster.access, secret) for cluster in observing.clusters}
    observers = Observers(
        observing, lambda cluster: openers[cluster.label](), clock=SystemClock(),
        on_change=_announce, on_removed=lambda id_: echo(f"{id_}: journal removed: older than the retention"),
    )  # fmt: skip
    observers.departed.begin()
    shadows = [
        ShadowServer(
            shadow_id(each.label),
            serve_words(observing, each, each.shadow),
            lambda line: echo(printable(line)),
        )
        for each in observing.clusters
        if each.shadow is not None
    ]
    status_file = Path(observing.journal) / STATUS_FILE if observing.clusters else None
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as closing:
        opened = None if messages is None else open_messages(messages, closing)
        expected = None if opened is None else opened.expected
        if expected_file is not None:
            expected = ExpectedFile(expected_file, echo)
            opened = None if opened is None else structs.replace(opened, expected=expected)
        companion = _companion(
            observing, observers, shadows,
            page=page, messages=opened, expected=expected, history_bytes=history_bytes,
        )  # fmt: skip
        spare_the_collector()
        asyncio.run(_run(observers, shadows, companion, status_file))


def _of_options(
    namesrv_addr: str,
    discover: str,
    journal: str,
    budget_percent: float,
    log_file: str | None,
    connection: dict[str, Any],
) -> tuple[Observing, str]:
    """Return the cluster that the options name, and the secret key.

    Raises:
        ConfigError: something is missing, or can't be used.
    """
    if not namesrv_addr and not discover:
        raise ConfigError("which name servers? give -n HOST:PORT, --discover NAME:PORT or -c FILE")
    if not journal:
        raise ConfigError("where are the journals to be kept? give --journal DIR")
    files: TlsFiles = take_tls_files(connection)
    credentials = take_credentials(connection, os.environ)
    access = ConnectionSettings(
        tls=connection["tls"] or files != TlsFiles(),
        tls_ca=files.ca,
        tls_cert=files.cert,
        tls_key=files.key,
        access_key="" if credentials is None else credentials.access_key,
    )
    name_servers = _list(namesrv_addr)
    if log_file and len(name_servers) != 1:
        raise ConfigError("--log is the file of one name server in -n: of several, name the files in -c FILE")
    logs = {name_servers[0]: log_file} if log_file else {}
    cluster = ObservedCluster("", name_servers, _list(discover), access, logs)
    observing = Observing(journal, (cluster,), Rates(budget=budget_percent / 100))
    check_targets(observing, "-n")
    return observing, "" if credentials is None else credentials.secret_key


def _with_shadow(
    clusters: Sequence[ObservedCluster], port: int | None, config_file: str | None
) -> tuple[ObservedCluster, ...]:
    """The cluster of the options with its shadow, if there is to be one.

    Raises:
        ConfigError: there is nothing that it could be compared with, or an option lacks the other one.
    """
    if port is None:
        if config_file is not None:
            raise ConfigError("--shadow-config has the properties of a shadow: give --shadow PORT, too")
        return tuple(clusters)
    if not clusters:
        raise ConfigError("--shadow needs name servers to compare it with: give -n HOST:PORT")
    return tuple(structs.replace(each, shadow=ShadowSettings(port, config_file or "")) for each in clusters)


def _list(text: str) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(parse_addresses(text))) if text else ()


def _load(config_file: str, journal: str, with_journals: Sequence[str] = ()) -> Observing:
    text = read_named_text(config_file)
    return parse_observing(text, source=config_file, journal=journal, with_journals=with_journals)


def _make_folder(path: str) -> None:
    try:
        make_folder(path)
    except OSError as error:
        raise ConfigError(f"{path}: {problem_with(error.filename or path, error)}") from None


def _client_opener(access: ConnectionSettings, secret: str) -> Callable[[], RemotingClient]:
    """Return what opens clients that reach the name servers of one cluster."""
    files = TlsFiles(access.tls_ca, access.tls_cert, access.tls_key) if access.tls else None
    if access.secret_key_file:
        secret = read_secret(SecretSource(file=access.secret_key_file), {})
    credentials = Credentials(access.access_key, secret) if access.access_key else None
    return lambda: open_client(files, credentials)


def _messages_of(observing: Observing, messages_file: str | None, config_file: str) -> MessagesFile | None:
    """The settings of messages; None: nobody gets any.

    Raises:
        ConfigError: two files have them, or they can't be used.
    """
    if messages_file is not None and observing.messages:
        raise ConfigError(f"{config_file} has [messages]: leave out --messages")
    if messages_file is not None:
        file = parse_messages_file(read_named_text(messages_file), source=messages_file)
    elif observing.messages:
        file = messages_in(observing.messages, source=config_file)
    else:
        return None
    check_secrets(file.settings.receivers)
    return file


def _companion(  # noqa: PLR0913 - one for each part
    observing: Observing,
    observers: Observers,
    shadows: Sequence[ShadowServer],
    *,
    page: PageSettings | None,
    messages: CompanionMessages | None,
    expected: ExpectedFile | None,
    history_bytes: int,
) -> Companion | None:
    """The companion, which reads the journals while they are written; None: nobody looks at them here."""
    if page is None and messages is None:
        return None
    made = observing.journal if observing.clusters else ""
    folders = JournalFolders(
        observing.with_journals, made, label=observing.shown_label, has_left=observers.departed.has_left
    )
    histories = Histories(folders.look(), history_bytes)
    causes_bytes = history_bytes // CAUSE_PART
    views = ConsoleViews(
        histories, lambda: JournalAnswers(folders.found, limit_bytes=causes_bytes), SystemClock(),
        expected=expected,
    )  # fmt: skip
    return Companion(
        histories,
        views=views,
        page=None if page is None else structs.replace(page, is_needed=False),
        folders=folders,
        messages=messages,
        expected=expected,
        reasons=lambda: reasons_of(observers.status(), observers.undiscovered, _problems_of(shadows)),
        collect=lambda: [ObserverCollector(observers.status())],
        announce=echo,
    )


def _problems_of(shadows: Sequence[ShadowServer]) -> dict[str, str]:
    return {each.id: each.problem for each in shadows if each.problem}


async def _run(
    observers: Observers,
    shadows: Sequence[ShadowServer],
    companion: Companion | None,
    status_file: Path | None,
) -> None:
    threads = DaemonThreads("status file", 1)
    parts = [observers.run(), _say_what_is_recorded(observers), *(each.run() for each in shadows)]
    if companion is not None:
        parts.append(companion.run())
    if status_file is not None:
        parts.append(_write_status(observers, status_file, threads))
    try:
        await run_until_stopped(*parts)
    finally:
        if status_file is not None:
            with contextlib.suppress(TimeoutError):  # the disk hangs
                async with asyncio.timeout(STATUS_SECONDS):
                    await threads.run(partial(status_file.unlink, missing_ok=True))


async def _say_what_is_recorded(observers: Observers) -> None:
    """Print a line when a journal can't be written or a log can't be read, and when it can be again."""
    lines = TroubleLines()
    while True:
        for line in lines.of(observers.status()):
            echo(line)
        await asyncio.sleep(SAY_SECONDS)


async def _write_status(observers: Observers, status_file: Path, threads: DaemonThreads) -> None:
    while True:
        await threads.run(_save_status, observers.status(), status_file)
        await asyncio.sleep(STATUS_SECONDS)


def _save_status(status: Mapping[str, ObserverStatus], status_file: Path) -> None:
    """Write the status; a disk that is full does not end the observer."""
    data = msgspec.json.format(msgspec.json.encode(status), indent=2)
    with contextlib.suppress(OSError):
        replace_own_file(str(status_file), data + b"\n", is_synced=False)


def _announce(id_: str, status: ObserverStatus) -> None:
    """Print the line of a new state."""
    echo(_line(id_, status))


def _line(id_: str, status: ObserverStatus) -> str:
    what = f"{shown_count(status.brokers, 'broker')}, {shown_count(status.topics, 'topic')}"
    if status.state is ObserverState.OBSERVED:
        return f"{id_}: observed: {what}"
    if status.state is ObserverState.READING and status.unread:
        left = f"{status.unread:,} of {shown_count(status.topics, 'topic')}"
        needed = shown_duration(round(status.reading_ms, -3))
        return f"{id_}: reading: {left} left, about {needed} within the budget"
    if status.state is ObserverState.READING:
        return f"{id_}: reading: it answers at {status.addr}"
    return f"{id_}: {status.state.value}: {' '.join(status.reason.split())}"


def _folder_of(journal: str, config_file: str | None) -> str:
    if journal or config_file is None:
        if not journal:
            raise ConfigError("whose status? give --journal DIR or -c FILE")
        return journal
    return _load(config_file, journal).journal


def _show(folder: str, *, as_json: bool) -> None:
    """Print the status that an observer wrote last."""
    text, age_ms = _read_status(folder)
    if age_ms > STALE_MS:
        note(f"note: this is {shown_duration(age_ms)} old: no observer writes there now")
    if as_json:
        echo(text.rstrip())
        return
    try:
        found = msgspec.json.decode(text, type=dict[str, ObserverStatus])
    except UNREADABLE_JSON as error:
        raise ConfigError(f"{folder}: {STATUS_FILE} is not valid: {error}") from None
    for id_, status in found.items():
        for line in _lines(id_, status):
            echo(line)


def _read_status(folder: str) -> tuple[str, int]:
    """The text of the status, and how old it is."""
    path = Path(folder) / STATUS_FILE
    try:
        data = read_own_file(str(path))
        written_ms = 0 if data is None else int(path.stat().st_mtime * 1_000)
    except OSError as error:
        raise ConfigError(f"{path}: {problem_with(str(path), error)}") from None
    if data is None:
        raise ConfigError(f"{folder} has no {STATUS_FILE}: no observer writes there now")
    return data.decode(errors="replace"), SystemClock().now().wall_ms - written_ms


def _lines(id_: str, status: ObserverStatus) -> Iterator[str]:
    windows = status.windows
    yield _line(id_, status)
    brokers, topics = shown_duration(windows.members_ms), shown_duration(windows.topics_ms)
    queues = shown_duration(windows.queues_ms)
    yield f"  windows: brokers {brokers}, topics {topics}, queues and permissions {queues}"
    if status.is_sweep_late:
        oldest = shown_duration(round(status.oldest_ms, -3))
        yield f"  late: queues and permissions of a topic were last read {oldest} ago"
    requests = shown_count(status.requests, "request")
    yield f"  {requests}, about {status.cost_us / 1e6:.1f} s of its processor"
    for code, why in status.refused.items():
        yield f"  request {code} is refused: {why}"
    if status.log is not None:
        found = status.log.trouble or f"{status.log.path}: {shown_count(status.log.entries, 'cause')}"
        yield f"  log: {found}"
    if status.journal is not None:
        trouble = status.journal.trouble
        yield f"  journal: {status.journal.folder}{f': not recording: {trouble}' if trouble else ''}"
        if status.journal.waiting:
            yield f"  {shown_count(status.journal.waiting, 'change')} not on the disk yet"
