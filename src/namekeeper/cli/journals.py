"""The journals of the name servers that are configured on this host."""

import socket
from collections.abc import Sequence
from pathlib import Path

from namekeeper.app.journal_settings import journal_folder
from namekeeper.cli.launch import load_startup
from namekeeper.config.settings import NamesrvSettings
from namekeeper.errors import ConfigError
from namekeeper.journal.reading.reader import find_journals
from namekeeper.remoting.address import Address, parse_addresses

__all__ = ["journals_at", "journals_here", "journals_of_this_host"]


def journals_of_this_host(config_files: Sequence[str]) -> list[str]:
    """Folders of the journals of configured name servers.

    Args:
        config_files: their properties files; without one, the name servers that are started without one.

    Raises:
        ConfigError: there is no journal; the message says where it was looked for.
    """
    found: list[str] = []
    looked: list[str] = []
    files: Sequence[str | None] = config_files or [None]
    for file in files:
        settings = load_startup(file, {}).settings
        if settings.journal_path:
            looked.append(settings.journal_path)
            found += [settings.journal_path] if Path(settings.journal_path).is_dir() else []
        else:
            parent = _folder_of_ports(settings)
            looked.append(f"{parent}/<port>")
            found += [each.folder for each in find_journals(parent) if each.folder != parent]
    if not found:
        raise ConfigError(
            f"there is no journal in {' or '.join(looked)}: give --journal DIR for each name server, -c FILE"
            " for its properties file, -n HOST:PORT if it runs, or --warehouse URI"
        )
    return list(dict.fromkeys(found))


def journals_at(addresses: Sequence[str]) -> list[str]:
    """Folders of the journals of the name servers of this host that listen at some addresses.

    Raises:
        ConfigError: one of them is on another host, or its journal is not where a server without a
            properties file has it.
    """
    found, others = journals_here(addresses)
    if others:
        raise ConfigError(
            f"there is no journal of {others[0]} on this host: give -c FILE for its properties file, or"
            " --journal DIR; of another host's, copy it here with `namekeeper journal ship`"
        )
    return found


def journals_here(addresses: Sequence[str]) -> tuple[list[str], list[Address]]:
    """Folders of the journals of this host's name servers at some addresses, and the rest of the addresses.

    A server without a properties file has its journal at a known place.
    """
    if not addresses:
        return [], []  # no settings are read, which may be worth a warning
    parent = Path(_folder_of_ports(load_startup(None, {}).settings))
    found: list[str] = []
    others: list[Address] = []
    for text in addresses:
        for address in parse_addresses(text):
            folder = parent / str(address.port)
            if _is_here(address.host) and folder.is_dir():
                found.append(str(folder))
            else:
                others.append(address)
    return found, others


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
    return str(Path(journal_folder(settings, settings.listen_port)).parent)
