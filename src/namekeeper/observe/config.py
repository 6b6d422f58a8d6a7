"""The clusters that an observer follows: from the options of the command, or from a TOML file."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from namekeeper import __version__
from namekeeper.access.rules_file import parse_toml
from namekeeper.common.durations import parse_duration_ms
from namekeeper.common.namesrv_clusters import LABEL_RULE, is_valid_label
from namekeeper.config.keyed_values import struct_of
from namekeeper.errors import ConfigError
from namekeeper.journal.contract.names import id_of_host
from namekeeper.journal.settings import DAY_MS, JournalSettings, Limits, WriterSettings
from namekeeper.observe.journal import QUEUE_BYTES
from namekeeper.observe.schedule import Rates
from namekeeper.remoting.address import Address, parse_address

__all__ = [
    "LONGEST_BUDGET",
    "ConnectionSettings",
    "ObservedCluster",
    "Observing",
    "ShadowSettings",
    "Target",
    "check_targets",
    "journal_settings",
    "parse_observing",
    "writer_settings",
]

LONGEST_BUDGET = 100.0
"""Percent of one core: more than a name server has for an observer."""
SHORTEST_MS = 100
"""Least period of a request: the answers of a name server change less often."""

_HIGHEST_PORT = 65_535
_SIZE = re.compile(r"([0-9]{1,18}) ?([KMG]i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class ConnectionSettings(Struct, frozen=True):
    """How the name servers of a cluster are reached."""

    tls: bool = False
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    access_key: str = ""
    secret_key_file: str = ""
    """A file that holds the secret key alone."""


class ShadowSettings(Struct, frozen=True):
    """A name server of ours beside those of a cluster."""

    port: int
    """0 picks a free one."""
    config_file: str = ""
    """Properties that it has; empty: the defaults."""


class ObservedCluster(Struct, frozen=True):
    """Name servers that belong together."""

    label: str
    """In the journals and before the ids of its name servers; empty: none."""
    name_servers: tuple[Address, ...]
    discover: tuple[Address, ...] = ()
    """Names in the DNS: each address behind one is a name server of its own."""
    access: ConnectionSettings = ConnectionSettings()
    logs: Mapping[Address, str] = {}
    """Name server -> its log file, as the observer can read it."""
    shadow: ShadowSettings | None = None
    """The name server that brokers try out; None: none."""


class Observing(Struct, frozen=True):
    """All that one process observes."""

    journal: str
    """Folder with a folder for each name server."""
    clusters: tuple[ObservedCluster, ...]
    rates: Rates = Rates()
    limits: Limits = Limits()
    """Limits of each journal."""
    with_journals: tuple[str, ...] = ()
    """Folders with journals of name servers of ours, which are followed as well."""
    messages: Mapping[str, object] = {}
    """The table about messages, as it stands in the file; empty: there is none."""
    shown_label: str | None = None
    """Label of the name servers that the page and the messages are about; None: of all."""


class Target(Struct, frozen=True):
    """One name server to observe."""

    id: str
    """Id of the journal, and the name of its folder."""
    address: Address

    @classmethod
    def of(cls, cluster: ObservedCluster, address: Address) -> "Target":
        """The name server of a cluster at an address."""
        own = id_of_host(*address)
        return cls(f"{cluster.label}.{own}" if cluster.label else own, address)


class _ClusterTable(Struct):
    name_servers: list[str] = []
    discover: list[str] = []
    tls: bool = False
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    access_key: str = ""
    secret_key_file: str = ""
    logs: dict[str, str] = {}
    shadow_port: int | None = None
    shadow_config: str = ""


class _ObserveFile(Struct):
    clusters: dict[str, dict[str, object]] = {}
    journal: str = ""
    with_journals: list[str] = []
    messages: dict[str, object] = {}
    budget_percent: float = 1.0
    members_every: str = "1s"
    topics_every: str = "2s"
    queues_every: str = "5s"
    kv_every: str = "10s"
    config_every: str = "60s"
    answer_within: str = "5s"
    kv_namespaces: tuple[str, ...] = Rates().kv_namespaces
    retention_bytes: str = "4 GiB"
    retention_age: str = "30d"


def parse_observing(
    text: str, *, source: str, journal: str = "", with_journals: Sequence[str] = ()
) -> Observing:
    """Read the text of a file.

    Args:
        text: TOML.
        source: the file's name: paths in it are relative to its folder.
        journal: folder of the journals if it was given beside the file; it counts before the file's.
        with_journals: folders to follow besides those of the file.

    Raises:
        ConfigError: something in it can't be used; one line says what, and what to write.
    """
    file = struct_of(_ObserveFile, parse_toml(text, source=source), source)
    folder = Path(source).parent
    where = journal or (str(folder / file.journal) if file.journal else "")
    if not where and file.clusters:
        raise ConfigError(f'{source}: there is no folder for the journals: journal = "observed"')
    observing = Observing(
        where,
        tuple(_cluster(label, one, source) for label, one in file.clusters.items()),
        _rates(file, source),
        Limits(
            _bytes(file.retention_bytes, source),
            _duration(file.retention_age, "retention_age", source, DAY_MS),
        ),
        (*(str(folder / each) for each in file.with_journals), *with_journals),
        file.messages,
    )
    check_targets(observing, source)
    return observing


def check_targets(observing: Observing, source: str) -> None:
    """Refuse to observe nothing, or two name servers with one journal.

    Raises:
        ConfigError: says what is wrong.
    """
    found: dict[str, Address] = {}
    for cluster in observing.clusters:
        if not cluster.name_servers and not cluster.discover:
            raise ConfigError(
                f'{source}: cluster {cluster.label!r} has no name servers: name_servers = ["host:9876"]'
            )
        for address in cluster.name_servers:
            target = Target.of(cluster, address)
            other = found.setdefault(target.id, address)
            if other is not address:
                raise ConfigError(
                    f"{source}: {other} and {address} would have one journal, {target.id}: list one of them"
                )
    if not observing.clusters and not observing.with_journals:
        raise ConfigError(f"{source}: it names no cluster: [clusters.east]")


def journal_settings(target: Target, restart: str, cluster_label: str = "") -> JournalSettings:
    """How a name server is recorded."""
    return JournalSettings(
        server_version=__version__,
        scan_interval_ms=0,
        queue_bytes=QUEUE_BYTES,
        observed_addr=str(target.address),
        restart=restart,
        cluster_label=cluster_label,
    )


def writer_settings(observing: Observing, target: Target) -> WriterSettings:
    """Where a name server is recorded."""
    folder = str(Path(observing.journal) / target.id)
    return WriterSettings(folder=folder, namesrv=target.id, is_configured=True, limits=observing.limits)


def _cluster(label: str, keys: Mapping[str, object], source: str) -> ObservedCluster:
    table = struct_of(_ClusterTable, keys, f"{source}: cluster {label!r}")
    if not is_valid_label(label):
        raise ConfigError(f"{source}: cluster {label!r}: a label has {LABEL_RULE}")
    if bool(table.tls_cert) != bool(table.tls_key):
        raise ConfigError(
            f"{source}: cluster {label!r}: tls_cert and tls_key go together: give both, or none"
        )
    if bool(table.access_key) != bool(table.secret_key_file):
        raise ConfigError(f"{source}: cluster {label!r}: access_key and secret_key_file go together")
    folder = Path(source).parent
    paths = {
        name: str(folder / getattr(table, name)) if getattr(table, name) else ""
        for name in ("tls_ca", "tls_cert", "tls_key", "secret_key_file")
    }
    access = ConnectionSettings(
        tls=table.tls or any(paths[name] for name in ("tls_ca", "tls_cert")),
        access_key=table.access_key,
        **paths,
    )
    name_servers = _addresses(table.name_servers, source)
    logs = dict(zip(_addresses(list(table.logs), source), table.logs.values(), strict=True))
    for address in logs.keys() - set(name_servers) if not table.discover else ():
        raise ConfigError(f"{source}: cluster {label!r}: logs has {address}, which is none of name_servers")
    return ObservedCluster(
        label,
        name_servers,
        _addresses(table.discover, source),
        access,
        {address: str(folder / path) for address, path in logs.items()},
        _shadow(label, table, source),
    )


def _shadow(label: str, table: _ClusterTable, source: str) -> ShadowSettings | None:
    port = table.shadow_port
    if port is None:
        if table.shadow_config:
            raise ConfigError(f"{source}: cluster {label!r}: shadow_config needs a shadow_port")
        return None
    if not 0 <= port <= _HIGHEST_PORT:
        raise ConfigError(f"{source}: cluster {label!r}: shadow_port = {port} is no port")
    config = table.shadow_config
    return ShadowSettings(port, str(Path(source).parent / config) if config else "")


def _addresses(texts: list[str], source: str) -> tuple[Address, ...]:
    try:
        return tuple(map(parse_address, texts))
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def _rates(file: _ObserveFile, source: str) -> Rates:
    if not 0 < file.budget_percent <= LONGEST_BUDGET:
        raise ConfigError(f"{source}: budget_percent = {file.budget_percent:g} is not between 0 and 100")
    periods: Mapping[str, Any] = {
        f"{name}_ms": _duration(getattr(file, f"{name}_every"), f"{name}_every", source, SHORTEST_MS)
        for name in ("members", "topics", "queues", "kv", "config")
    }
    return Rates(
        budget=file.budget_percent / 100,
        answer_ms=_duration(file.answer_within, "answer_within", source, SHORTEST_MS),
        kv_namespaces=tuple(dict.fromkeys(file.kv_namespaces)),
        **periods,
    )


def _duration(text: str, name: str, source: str, least_ms: int) -> int:
    try:
        ms = parse_duration_ms(text)
    except ValueError as error:
        raise ConfigError(f"{source}: {name}: {error}") from None
    if ms < least_ms:
        raise ConfigError(f"{source}: {name} = {text!r} is less than {least_ms:,} ms")
    return ms


def _bytes(text: str, source: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise ConfigError(f"{source}: retention_bytes = {text!r} is no size: write it as 4 GiB or 500 MiB")
    return int(match[1]) * _UNITS[(match[2] or "")[:1].lower()]
