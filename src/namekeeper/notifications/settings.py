"""Reads the TOML file that says who gets which notifications."""

import re
from collections.abc import Mapping
from datetime import UTC
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from namekeeper.access.rules_file import parse_toml
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.times import Zone, zone_of
from namekeeper.common.durations import parse_duration_ms
from namekeeper.config.keyed_values import struct_of
from namekeeper.errors import ConfigError
from namekeeper.notifications.receivers import (
    IncidentSeverity,
    NotificationSettings,
    QuietHours,
    Receiver,
    SecretSource,
    SendBy,
)

__all__ = [
    "LONGEST_GRACE_MS",
    "LONGEST_WITHIN_MS",
    "RECEIVERS_LIMIT",
    "MessagesFile",
    "messages_in",
    "parse_messages_file",
]

E = TypeVar("E", bound=StrEnum)

LONGEST_GRACE_MS = 60 * 60 * 1_000
LONGEST_WITHIN_MS = 60 * 1_000
MOST_PER_MINUTE = 600
RECEIVERS_LIMIT = 20
"""Most receivers: each has a task, and entries in the outbox."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_INLINE_SECRETS = frozenset({"url", "token", "password"})


class MessagesFile(Struct, frozen=True):
    """The content of the file."""

    journals: tuple[str, ...]
    """Folders with journals."""
    settings: NotificationSettings
    expect: str = ""
    """File of the expected state; empty: none."""


class _ReceiverTable(Struct):
    type: str = ""
    url_file: str = ""
    url_env: str = ""
    token_file: str = ""
    token_env: str = ""
    tls_ca: str = ""
    severity: str = "info"
    kinds: list[str] = []
    clusters: list[str] = []
    name_servers: list[str] = []
    quiet: str = ""
    quiet_below: str = "critical"
    grace: str = "5s"
    within: str = "10s"
    most_per_minute: int = 10


class _MessagesTable(Struct):
    receivers: dict[str, dict[str, object]] = {}
    outbox: str = ""
    journals: list[str] = []
    expect: str = ""
    page: str = ""
    zone: str = "UTC"
    severity: dict[str, str] = {}


def parse_messages_file(text: str, *, source: str) -> MessagesFile:
    """Read the text of a file.

    Args:
        text: TOML.
        source: the file's name: paths in it are relative to its folder.

    Raises:
        ConfigError: something in it can't be used; one line says what, and never has a value that may be a
            secret.
    """
    return messages_in(parse_toml(text, source=source), source=source)


def messages_in(table: Mapping[str, object], *, source: str) -> MessagesFile:
    """Read the table that a file of messages is, or that another file has.

    Args:
        table: its keys and values.
        source: name of the file and, if it is a part, of the part; paths are relative to its folder.

    Raises:
        ConfigError: as `parse_messages_file`.
    """
    _refuse_inline_secrets(table, source)
    file = struct_of(_MessagesTable, table, source)
    folder = Path(source).parent
    if not file.outbox:
        raise ConfigError(f'{source}: there is no folder for the outbox: outbox = "messages"')
    if not 0 < len(file.receivers) <= RECEIVERS_LIMIT:
        raise ConfigError(
            f"{source}: it has {len(file.receivers)} receivers, and needs 1 to {RECEIVERS_LIMIT}:"
            " [receivers.operators]"
        )
    settings = NotificationSettings(
        outbox=str(folder / file.outbox),
        receivers=tuple(_receiver(name, one, folder, source) for name, one in file.receivers.items()),
        page=_page(file.page, source),
        zone=_zone(file.zone, source),
        severities={
            _kind(kind, f"{source}: severity"): _severity(name, f"{source}: severity: {kind}")
            for kind, name in file.severity.items()
        },
    )
    return MessagesFile(
        tuple(str(folder / each) for each in file.journals),
        settings,
        str(folder / file.expect) if file.expect else "",
    )


def _refuse_inline_secrets(table: Mapping[str, object], source: str) -> None:
    receivers = table.get("receivers")
    for name, one in receivers.items() if isinstance(receivers, dict) else ():
        for key in sorted(_INLINE_SECRETS & one.keys()) if isinstance(one, dict) else ():
            instead = "url" if key == "url" else "token"
            raise ConfigError(
                f"{source}: receiver {name!r}: {key} is a secret and does not belong here: give"
                f" {instead}_file or {instead}_env"
            )


def _receiver(name: str, keys: Mapping[str, object], folder: Path, source: str) -> Receiver:
    where = f"{source}: receiver {name!r}"
    table = struct_of(_ReceiverTable, keys, where)
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a name has at most 64 letters, digits, '.', '_' and '-'")
    send_by = _one_of(table.type, SendBy, f"{where}: type")
    token = None
    if table.token_file or table.token_env:
        token = _secret(table.token_file, table.token_env, "token", folder, where)
    if send_by is SendBy.APPRISE and (token is not None or table.tls_ca):
        raise ConfigError(f"{where}: token and tls_ca are for webhooks; apprise has both in its URL")
    if not 0 < table.most_per_minute <= MOST_PER_MINUTE:
        raise ConfigError(f"{where}: most_per_minute = {table.most_per_minute} is not 1 to {MOST_PER_MINUTE}")
    return Receiver(
        name=name,
        send_by=send_by,
        url=_secret(table.url_file, table.url_env, "url", folder, where),
        token=token,
        tls_ca=str(folder / table.tls_ca) if table.tls_ca else "",
        least=_severity(table.severity, f"{where}: severity"),
        kinds=frozenset(_kind(each, f"{where}: kinds") for each in table.kinds),
        clusters=tuple(table.clusters),
        name_servers=tuple(table.name_servers),
        quiet=_quiet(table.quiet, where),
        quiet_below=_severity(table.quiet_below, f"{where}: quiet_below"),
        grace_ms=_duration(table.grace, f"{where}: grace", LONGEST_GRACE_MS),
        within_ms=_duration(table.within, f"{where}: within", LONGEST_WITHIN_MS, least_ms=100),
        most_per_minute=table.most_per_minute,
    )


def _secret(file: str, env: str, what: str, folder: Path, where: str) -> SecretSource:
    if bool(file) == bool(env):
        raise ConfigError(f"{where}: give one of {what}_file and {what}_env")
    return SecretSource(str(folder / file) if file else "", env)


def _page(text: str, source: str) -> str:
    if text and (not text.startswith(("http://", "https://")) or "token=" in text or "@" in text):
        raise ConfigError(
            f"{source}: page must be the http or https address of the page, without a token or password"
        )
    return text


def _zone(name: str, source: str) -> Zone:
    try:
        return zone_of(name) or UTC
    except ConfigError as error:
        raise ConfigError(f"{source}: zone: {error}") from None


def _quiet(text: str, where: str) -> QuietHours | None:
    try:
        return QuietHours.parse(text) if text else None
    except ValueError as error:
        raise ConfigError(f"{where}: quiet: {error}") from None


def _severity(text: str, where: str) -> IncidentSeverity:
    return _one_of(text, IncidentSeverity, where)


def _kind(text: str, where: str) -> IncidentKind:
    return _one_of(text, IncidentKind, where)


def _one_of(text: str, choices: type[E], where: str) -> E:
    try:
        return choices(text)
    except ValueError:
        raise ConfigError(f"{where}: {text!r} is none of {', '.join(choices)}") from None


def _duration(text: str, where: str, most_ms: int, *, least_ms: int = 0) -> int:
    try:
        ms = parse_duration_ms(text)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None
    if not least_ms <= ms <= most_ms:
        raise ConfigError(f"{where}: {text!r} is not {least_ms:,} to {most_ms:,} ms")
    return ms
