"""Settings of a broker from the properties file of a RocketMQ broker, as `broker.conf`."""

import contextlib
import errno
import logging
import os
import socket
from collections.abc import Mapping
from typing import Any

from namekeeper.config.misread import misread_lines
from namekeeper.config.properties import as_utf8, entries_of, without_byte_order_mark
from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, problem_with, read_if_exists
from namekeeper.model.broker import MASTER_ID
from namekeeper.nsaddr import address_server_url
from namekeeper.remoting.address import parse_address

__all__ = ["read_broker_conf", "settings_of_broker_conf"]

_log = logging.getLogger("namekeeper.broker")

_FIELDS = {
    "brokerName": "broker_name",
    "brokerClusterName": "cluster_name",
    "namesrvAddr": "namesrv_addr",
    "brokerId": "broker_id",
    "registerNameServerPeriod": "register_name_server_period_ms",
    "registerBrokerTimeoutMills": "register_broker_timeout_ms",
    "forceRegister": "force_register",
    "compressedRegister": "compressed_register",
    "enableSplitRegistration": "enable_split_registration",
    "splitRegistrationSize": "split_registration_size",
    "brokerPermission": "broker_permission",
    "enableSlaveActingMaster": "enable_slave_acting_master",
    "brokerHeartbeatInterval": "broker_heartbeat_interval_ms",
    "sendHeartbeatTimeoutMillis": "send_heartbeat_timeout_ms",
    "brokerNotActiveTimeoutMillis": "broker_not_active_timeout_ms",
    "compatibleWithOldNameSrv": "compatible_with_old_name_srv",
    "autoCreateTopicEnable": "auto_create_topic_enable",
    "defaultTopicQueueNums": "default_topic_queue_nums",
    "clusterTopicEnable": "cluster_topic_enable",
    "brokerTopicEnable": "broker_topic_enable",
    "traceTopicEnable": "trace_topic_enable",
    "msgTraceTopicName": "msg_trace_topic_name",
    "reviveQueueNum": "revive_queue_num",
}
"""Java's property -> field of `BrokerSettings`."""
_ADDRESS = (
    "brokerIP1", "listenPort", "brokerIP2", "haListenPort", "brokerRole", "fetchNamesrvAddrByAddressServer",
    "rmqAddressServerDomain", "rmqAddressServerSubGroup",
)  # fmt: skip
"""Properties that make up an address or the role."""
_KNOWN = frozenset((*_FIELDS, *_ADDRESS))
_PORT, _HA_PORT = "10911", "10912"
_ROLES = ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE")
_ANY_PEER = ("192.0.2.1", 9)
"""An address of no host (RFC 5737); nothing is sent to it."""


def read_broker_conf(path: str | os.PathLike[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `BrokerSettings` from a properties file; blocks on the disk.

    The file is read as Java reads it. A warning is logged for each line that probably means something else,
    such as a value in quotes or with a comment behind it.

    Args:
        path: the file.
        defaults: of the fields of `BrokerSettings`.

    Raises:
        ConfigError: the file can't be read, or a value can't be used; names both.
    """
    source = os.fspath(path)
    try:
        found = read_if_exists(source, limit=SMALL_FILE_BYTES)
    except OSError as error:
        raise ConfigError(f"can't read {source}: {problem_with(source, error)}") from None
    if found is None:
        raise ConfigError(f"can't read {source}: {os.strerror(errno.ENOENT)}")
    data, warnings = without_byte_order_mark(found, source=source)
    entries = list(entries_of(data.decode("iso-8859-1"), source=source))
    for warning in [*warnings, *misread_lines(data, source=source, known=_KNOWN)]:
        _log.warning("%s", warning)
    return settings_of_broker_conf(
        {entry.key: entry.value for entry in entries},
        defaults,
        source=source,
        lines={entry.key: entry.line for entry in entries},
    )


def settings_of_broker_conf(
    properties: Mapping[str, str],
    defaults: Mapping[str, Any],
    *,
    source: str = "the properties",
    lines: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the fields of `BrokerSettings` from properties with Java's names.

    As in Java, a broker that does not say its address has that of this host, and one that does not say its
    name has the host's name. A master has the id 0 whatever `brokerId` says.

    Args:
        properties: with Java's names.
        defaults: of the fields of `BrokerSettings`.
        source: where the properties are from, for messages.
        lines: property -> its line there, for messages.

    Raises:
        ConfigError: a value that can't be used.
    """
    given = {name: value.strip() for name, value in properties.items()}
    places = {name: f"{source}, line {line}" for name, line in (lines or {}).items()}
    fields: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        if name in given:
            text = as_utf8(given[name]) if name == "namesrvAddr" else given[name]
            fields[field] = _value(f"{places.get(name, source)}: {name}", text, defaults.get(field))
    fields.setdefault("broker_name", socket.gethostname())
    role = given.get("brokerRole", _ROLES[0])
    if role not in _ROLES:
        raise ConfigError(f"{places.get('brokerRole', source)}: brokerRole={role}: write {', '.join(_ROLES)}")
    if role != "SLAVE":
        fields["broker_id"] = MASTER_ID
    elif fields.get("broker_id", MASTER_ID) <= MASTER_ID:
        raise ConfigError(f"{source}: a slave needs a brokerId above 0")
    ip = given.get("brokerIP1") or _own_ip()
    ha_ip = given.get("brokerIP2") or given.get("brokerIP1") or ip
    for field, host, host_name, port, port_name in (
        ("broker_addr", ip, "brokerIP1", given.get("listenPort", _PORT), "listenPort"),
        ("ha_server_addr", ha_ip, "brokerIP2", given.get("haListenPort", _HA_PORT), "haListenPort"),
    ):
        place = places.get(port_name) or places.get(host_name) or source
        _check_address(f"{place}: {host_name} and {port_name}", as_utf8(host), port)
        fields[field] = f"{host}:{port}"
    if given.get("fetchNamesrvAddrByAddressServer", "").lower() == "true" and not fields.get("namesrv_addr"):
        fields["address_server"] = address_server_url(
            given.get("rmqAddressServerDomain", "jmenv.tbsite.net"),
            subgroup=given.get("rmqAddressServerSubGroup", "nsaddr"),
        )
    fields["unknown"] = {
        name: value for name, value in properties.items() if name not in _FIELDS and name not in _ADDRESS
    }
    return fields


def _value(what: str, text: str, default: object) -> object:
    """A value of the type that its field has; as in Java, every text but `true` is false."""
    if isinstance(default, bool):
        return text.lower() == "true"
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ConfigError(f"{what}={text}: write a whole number") from None
    return text


def _check_address(what: str, host: str, port: str) -> None:
    """Refuse a value that is no address, such as the placeholder of a guide, in the words of the file."""
    try:
        parse_address(f"{host}:{port}")
    except ConfigError as error:
        raise ConfigError(f"{what}: {error}") from None
    if not host.isascii():
        raise ConfigError(f"{what}: {host} is not an address: write that of the broker, as in 10.0.0.1")


def _own_ip() -> str:
    """The address by which other hosts most likely reach this one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(_ANY_PEER)
        return str(probe.getsockname()[0])
    return "127.0.0.1"
