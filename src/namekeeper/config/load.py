"""Properties, flags and environment -> NamesrvSettings, with the checks that need more than one property."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from namekeeper.common.near_names import did_you_mean
from namekeeper.common.printable import printable
from namekeeper.config.property import Spec, Value, convert
from namekeeper.config.settings import ALIASES, SPECS, NamesrvSettings
from namekeeper.errors import ConfigError

if TYPE_CHECKING:
    from namekeeper.common.networks import IpNetwork

__all__ = [
    "SPEC_OF_NAME",
    "environment_properties",
    "flag_properties",
    "parse_list",
    "parse_networks",
    "settings_from",
    "unknown_properties",
    "variable_of",
]

SPEC_OF_NAME: Mapping[str, Spec] = {**SPECS, **{alias: SPECS[name] for alias, name in ALIASES.items()}}
"""The property of every name in a file, Java's system properties included."""

_VARIABLES = frozenset(spec.variable for spec in SPECS.values())
_PREFIX = "NAMEKEEPER_"
_ENVIRONMENT_ALIASES = {"ROCKETMQ_SERIALIZE_TYPE": "serializeType"}
_OF_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?$")
"""Variables that Kubernetes sets in every pod for a service whose name begins with ours; it sets one that
ends with `_PORT` to an address, too."""


def settings_from(
    properties: Mapping[str, str],
    *,
    base: NamesrvSettings | None = None,
    home: str = "~",
    strict: bool = False,
) -> tuple[NamesrvSettings, list[str]]:
    """Make settings of properties by Java's rules; unknown names are ignored.

    Args:
        properties: Texts by the names they have in files.
        base: The values of properties that are not given; the defaults if omitted.
        home: The folder that replaces `~` at the beginning of a path.
        strict: Whether a value that Java would silently replace is an error.

    Returns:
        The settings, and a warning for each value that may have been meant differently.

    Raises:
        ConfigError: A value that can't be used; the message holds name, value and what is allowed.
    """
    old = base or NamesrvSettings()
    values: dict[str, Value] = {}
    warnings: list[str] = []
    for name, text in properties.items():
        spec = SPEC_OF_NAME.get(name)
        if spec is None:
            warnings += _near_miss(name)
            continue
        values[spec.field], warning = convert(spec, text, getattr(old, spec.field), strict=strict)
        warnings += [warning] if warning else []
    settings = _at_home(msgspec.structs.replace(old, **values), home)
    _check(settings)
    return settings, warnings


def unknown_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Unknown properties; they are kept and shown, as in Java."""
    return {name: text for name, text in properties.items() if name not in SPEC_OF_NAME}


def environment_properties(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Pick our properties out of the environment, with warnings; an empty variable counts as none."""
    properties = {
        name: environment[key] for key, name in _ENVIRONMENT_ALIASES.items() if environment.get(key)
    }
    warnings = []
    for name, spec in SPECS.items():
        text = environment.get(spec.variable)
        if text and "://" in text and isinstance(spec.default, int):
            # Kubernetes sets such a variable in every pod beside a service called e.g. namekeeper-http.
            warnings.append(f"{spec.variable}={text} is Kubernetes' address of a service, not ours: ignored")
        elif text:
            properties[name] = text
    return properties, warnings + _unknown_variables(environment)


def variable_of(name: str, environment: Mapping[str, str]) -> str:
    """The variable by which the environment gives a property."""
    aliases = (variable for variable, meant in _ENVIRONMENT_ALIASES.items() if meant == name)
    return next(
        (each for each in (SPECS[name].variable, *aliases) if environment.get(each)), SPECS[name].variable
    )


def flag_properties(fields: Mapping[str, str | None]) -> dict[str, str]:
    """Properties given as flags, from texts by field name; None is a flag that wasn't given."""
    return {spec.name: text for spec in SPECS.values() if (text := fields.get(spec.field)) is not None}


def parse_list(text: str) -> list[str]:
    """Read a list separated by commas, semicolons or blanks."""
    return text.replace(",", " ").replace(";", " ").split()


def parse_networks(name: str, text: str) -> tuple["IpNetwork", ...]:
    """Read a list of networks separated by commas, semicolons or blanks; a single address is one too.

    Args:
        name: of the property that has it.
        text: its value.

    Raises:
        ConfigError: Something that isn't a network.
    """
    parts = parse_list(text)
    if not parts:
        return ()
    from namekeeper.common.networks import parse_network  # ipaddress is slow to import

    try:
        return tuple(map(parse_network, parts))
    except ValueError as error:
        raise ConfigError(f"{name}={text}: {error}") from None


def _near_miss(name: str) -> list[str]:
    """A warning for a name that looks misspelt; other unknown names are normal in Java's files."""
    question = did_you_mean(name, SPECS)
    return [f"{printable(name)} is not a property{question}"] if question else []


def _unknown_variables(environment: Mapping[str, str]) -> list[str]:
    unknown = (
        name
        for name in sorted(environment)
        if name.startswith(_PREFIX)
        and name not in _VARIABLES
        and not _is_of_kubernetes(name, environment[name])
    )
    return [
        f"{printable(name)} in the environment is not a property"
        + (did_you_mean(name, sorted(_VARIABLES), prefix=_PREFIX) or ": `namekeeper serve --help` lists them")
        for name in unknown
    ]


def _is_of_kubernetes(name: str, text: str) -> bool:
    return bool(_OF_KUBERNETES.search(name)) or (name.endswith("_PORT") and "://" in text)


def _at_home(settings: NamesrvSettings, home: str) -> NamesrvSettings:
    changed: dict[str, str] = {}
    for spec in SPECS.values():
        value = getattr(settings, spec.field) if spec.facts.path else None
        if isinstance(value, str) and value.startswith("~/"):
            changed[spec.field] = home.rstrip("/") + value[1:]
    return msgspec.structs.replace(settings, **changed) if changed else settings


def _check(settings: NamesrvSettings) -> None:
    """Refuse combinations that can't work."""
    if settings.enable_controller_in_namesrv:
        raise ConfigError(
            "enableControllerInNamesrv=true: namekeeper has no controller; run RocketMQ's own by itself"
            " (mqcontroller), point the brokers' controllerAddr at it, and set this property to false"
        )
    if settings.body_bytes_in_flight_limit < settings.remoting_frame_max_length:
        raise ConfigError(
            f"bodyBytesInFlightLimit={settings.body_bytes_in_flight_limit}: must be at least"
            f" remotingFrameMaxLength ({settings.remoting_frame_max_length}), or long frames are never read"
        )
    low, high = settings.write_buffer_low_water_mark, settings.write_buffer_high_water_mark
    if low and high and low > high:
        raise ConfigError(
            f"writeBufferLowWaterMark={low}: must not be above writeBufferHighWaterMark ({high})"
        )
    parse_networks("proxyProtocolTrustedNetworks", settings.proxy_protocol_trusted_networks)
    parse_networks("brokerNetworks", settings.broker_networks)
    parse_networks("notifyNetworks", settings.notify_networks)
    if settings.http_tls_need_client_auth != "none" and settings.http_tls_mode == "disabled":
        raise ConfigError(
            f"httpTlsNeedClientAuth={settings.http_tls_need_client_auth}: needs httpTlsMode=enforcing;"
            " without TLS nobody can show a certificate"
        )
    _check_tls(settings)


def _check_tls(settings: NamesrvSettings) -> None:
    required = settings.tls_server_need_client_auth == "require" and not settings.tls_test_mode_enable
    if required and settings.tls_server_mode != "disabled" and not settings.tls_server_trust_cert_path:
        raise ConfigError(
            "tls.server.need.client.auth=require: needs tls.server.trustCertPath, the authorities to accept;"
            " accepting any certificate, as Java does, is not possible here"
        )
