"""The journals of the name servers that are configured on this host."""

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from namekeeper.app.journal_settings import journal_folder
from namekeeper.cli.connecting import PLAIN_CONNECTOR, Connector, properties_of
from namekeeper.cli.launch import load_startup, path_of
from namekeeper.cli.output import note
from namekeeper.cli.shared_options import addresses_of_environment
from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import ConfigError, NamekeeperError, RemotingConnectError
from namekeeper.files import read_named_text
from namekeeper.journal.disk.lock import is_locked
from namekeeper.journal.reading.reader import find_journals
from namekeeper.remoting.address import Address, parse_addresses

__all__ = [
    "NoJournalHereError",
    "journals_by_default",
    "journals_here",
    "journals_of_this_host",
]


class NoJournalHereError(ConfigError):
    """No name server that is configured on this host has a journal."""


class RunsWithoutJournalError(ConfigError):
    """A name server of this host runs without a journal."""


def journals_of_this_host(config_files: Sequence[str]) -> list[str]:
    """Folders of the journals of configured name servers.

    Args:
        config_files: their properties files, and TOML files of observers; without one, the name servers that
            are started without one.

    Raises:
        NoJournalHereError: there is no journal; the message says where it was looked for.
        ConfigError: a properties file can't be used.
    """
    found: list[str] = []
    looked: list[str] = []
    files: Sequence[str | None] = config_files or [None]
    for file in files:
        if file is not None and Path(file).suffix == ".toml":
            folder = _folder_of_observer(file)
            looked.append(folder)
            found += [folder] if Path(folder).is_dir() else []
            continue
        settings = load_startup(file, {}).settings
        if settings.journal_path:
            looked.append(settings.journal_path)
            found += [settings.journal_path] if Path(settings.journal_path).is_dir() else []
        else:
            parent = _folder_of_ports(settings)
            looked.append(f"{parent}/<port>")
            found += [each.folder for each in find_journals(parent) if each.folder != parent]
    if not found:
        raise NoJournalHereError(
            f"there is no journal in {' or '.join(looked)}: give --journal DIR for each name server, -c FILE"
            " for its properties file, -n HOST:PORT if it runs, or --warehouse URI"
        )
    return list(dict.fromkeys(found))


def journals_by_default(
    config_files: Sequence[str], connector: Callable[[], Connector], *, needs_journal: bool = True
) -> tuple[list[str], list[Address]]:
    """The journals of this host; without one, those at the addresses of NAMESRV_ADDR, as `journals_here`.

    A journal of this host comes first: the variable may be set for another cluster, and what a command reads
    must not change with it silently.

    Args:
        config_files: properties files of name servers of this host.
        connector: how to reach the servers that the variable names.
        needs_journal: as in `journals_here`.

    Raises:
        ConfigError: there is neither; the message says where it was looked for.
    """
    try:
        return journals_of_this_host(config_files), []
    except NoJournalHereError:
        listed = addresses_of_environment()
        if config_files or not listed:
            raise
        instead = "this reads those of" if needs_journal else "this asks the name servers of"
        note(f"note: there is no journal on this host: {instead} NAMESRV_ADDR, {listed}")
        return journals_here([listed], connector(), needs_journal=needs_journal)


def journals_here(
    addresses: Sequence[str], connector: Connector = PLAIN_CONNECTOR, *, needs_journal: bool = True
) -> tuple[list[str], list[Address]]:
    """Folders of the journals of this host's name servers at some addresses, and the rest of the addresses.

    A server that runs is asked where it writes: an earlier one at the same port may have left its journal at
    the usual place. Of a server that does not run the journal is looked for there.

    Args:
        addresses: lists of addresses.
        connector: how to reach the servers.
        needs_journal: whether a server of this host that runs without a journal is an error; otherwise it is
            in the rest.

    Raises:
        ConfigError: a server that runs has no journal; the message says so.
    """
    if not addresses:
        return [], []  # no settings are read, which may be worth a warning
    parent = Path(_folder_of_ports(load_startup(None, {}).settings))
    found: list[str] = []
    others: list[Address] = []
    for text in addresses:
        for address in parse_addresses(text):
            try:
                folder = _folder_of(address, str(parent / str(address.port)), connector)
            except RunsWithoutJournalError:
                if needs_journal:
                    raise
                folder = None
            if folder is not None:
                found.append(folder)
            else:
                others.append(address)
    return found, others


def _folder_of_observer(file: str) -> str:
    """Folder of the journals that an observer keeps.

    Raises:
        ConfigError: its file can't be used, or names no folder.
    """
    from namekeeper.observe.config import parse_observing

    return parse_observing(read_named_text(file), source=file, journal="").journal


def _folder_of(address: Address, usual: str, connector: Connector) -> str | None:
    """Folder of the journal of a name server of this host; None if it can't be had here.

    Args:
        address: of the name server.
        usual: where it writes if it was started without a properties file.
        connector: how to reach it.
    """
    if not _is_here(address.host):
        return None
    try:
        properties = properties_of(address, connector)
    except RemotingConnectError:
        return usual if Path(usual).is_dir() else None  # it does not run
    except NamekeeperError:
        # It runs and does not say where it writes. A journal that nobody writes to is not its own.
        return usual if is_locked(usual) else None
    if properties.get("journalEnable") != "true":
        raise RunsWithoutJournalError(
            f"the name server at {address} runs without a journal (journalEnable, or it is not one of ours)"
            + (
                f"; an earlier one left {usual}: give --journal {usual} to read that"
                if Path(usual).is_dir()
                else ""
            )
        )
    folder = _folder_by(properties, address.port)
    if not Path(folder).is_absolute():  # of its own working folder
        return None
    # In a container the same path may be another folder: only one that is written to now is its own.
    return folder if is_locked(folder) else None


def _folder_by(properties: Mapping[str, str], port: int) -> str:
    """Folder of the journal of a server with these properties, which listens at a port."""
    settings = structs.replace(
        NamesrvSettings(),
        journal_path=properties.get("journalPath", ""),
        kv_config_path=properties.get("kvConfigPath", ""),
    )
    return journal_folder(settings, port)


def _is_here(host: str) -> bool:
    """Whether an address is one of this host: only such can be listened at."""
    try:
        infos = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, where in infos:
            with socket.socket(family, kind, protocol) as probe:
                probe.bind(where)
    except OSError:
        return False
    return True


def _folder_of_ports(settings: NamesrvSettings) -> str:
    """The folder in which every name server with these settings has a journal, by its port."""
    path_of(settings, "kv_config_path", instead="--journal DIR, -c FILE, --http HOST:PORT or --warehouse URI")
    return str(Path(journal_folder(settings, settings.listen_port)).parent)
