"""Collects everything that a name server is started with, from file, environment and flags."""

from collections.abc import Mapping

from msgspec import Struct, structs

from namekeeper.config.java_options import HOME, ROCKETMQ_HOME, ignored_options, system_properties
from namekeeper.config.load import (
    SPEC_OF_NAME,
    environment_properties,
    flag_properties,
    settings_from,
    variable_of,
)
from namekeeper.config.misread import misread_lines
from namekeeper.config.properties import parse_properties, without_byte_order_mark
from namekeeper.config.property import format_value
from namekeeper.config.runtime import RuntimeConfig
from namekeeper.config.settings import SPECS, NamesrvSettings
from namekeeper.errors import ConfigError

__all__ = ["Startup", "boot_line", "make_startup", "with_tls_file"]

_WHEN_EMPTY = {"bindAddress": "127.0.0.1"}
"""Meanings of an empty value for Java, where that is not the default."""


class Startup(Struct, frozen=True, kw_only=True):
    """The arguments of the app; made by `make_startup`."""

    settings: NamesrvSettings
    runtime_config: RuntimeConfig
    config_file: str | None = None
    """The file of `-c`, which a request 318 rewrites."""
    given: frozenset[str] = frozenset()
    """Properties that a flag or the environment gives: no file overrides them."""
    warnings: tuple[str, ...] = ()
    """Lines for the log, once it is open."""


def make_startup(
    *,
    file_data: bytes | None = None,
    config_file: str | None = None,
    tls_file_data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str | None] | None = None,
    home: str = "~",
) -> Startup:
    """Put the sources together: flag over environment over TLS file over file over Java's system property.

    Args:
        file_data: Content of the properties file.
        config_file: Its path; request 318 writes there.
        tls_file_data: Content of the file of `tls.config.file`; None if there is none to read.
        environment: Environment variables, ours and others.
        flags: Texts of flags by field name; None for those not given.
        home: The user's home, unless the environment gives Java another one.

    Raises:
        ConfigError: One line that says what can't be used.
    """
    environment = environment or {}
    of_java = system_properties(environment)
    home = of_java.get(HOME, home)
    source = config_file or "properties"
    from_environment, warnings = environment_properties(environment)
    stored: dict[str, str] = {}
    if file_data is not None:
        text, notes = without_byte_order_mark(file_data, source=source)
        stored = parse_properties(text, source=source)
        warnings += [*notes, *misread_lines(text, source=source)]
    base, notes = _from_java(of_java, environment)
    warnings += [*notes, *ignored_options(environment, SPEC_OF_NAME)]
    settings, notes = _from_file(stored, base, config_file, home)
    warnings += notes
    given_by_flags = flag_properties(flags or {})
    over = {**from_environment, **given_by_flags}
    if tls_file_data is not None:
        name = over.get("tls.config.file", settings.tls_config_file)
        settings, notes = with_tls_file(structs.replace(settings, tls_config_file=name), tls_file_data)
        warnings += notes
    of_files = settings
    settings, notes = settings_from(over, base=settings, home=home, strict=True)
    warnings += _overridden(
        {variable_of(name, environment): name for name in from_environment.keys() - given_by_flags},
        stored, (of_files, settings), source,
    )  # fmt: skip
    warnings += [*notes, *_without_effect(settings)]
    return Startup(
        settings=settings,
        given=frozenset(over),
        runtime_config=RuntimeConfig.start(settings, stored),
        config_file=config_file,
        warnings=tuple(warnings),
    )


def with_tls_file(
    settings: NamesrvSettings, data: bytes, given: frozenset[str] = frozenset()
) -> tuple[NamesrvSettings, list[str]]:
    """Override settings by the keys of a TLS file, as Java does at the start and at each reload.

    Args:
        settings: what they are without it.
        data: content of the file.
        given: names of properties that are not overridden.
    """
    fixed = {"tls.server.mode", "tls.enable", "tls.config.file", *given}
    text, marked = without_byte_order_mark(data, source=settings.tls_config_file)
    entries = parse_properties(text, source=settings.tls_config_file)
    used, empty = _without_empty(
        {name: text for name, text in entries.items() if name.startswith("tls.") and name not in fixed}
    )
    changed, warnings = settings_from(used, base=settings)
    return changed, [*marked, *misread_lines(text, source=settings.tls_config_file), *empty, *warnings]


def boot_line(settings: NamesrvSettings, port: int) -> str:
    """The line on stdout that scripts and container images wait for."""
    host = settings.bind_address.strip("[]")
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"The Name Server boot success. serializeType={settings.serialize_type}, address {address}"


def _from_java(
    of_java: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[NamesrvSettings, list[str]]:
    """The defaults, and what Java reads from system properties: their names have dots."""
    home = of_java.get(ROCKETMQ_HOME) or environment.get("ROCKETMQ_HOME")
    used = {name: text for name, text in of_java.items() if "." in name and name in SPEC_OF_NAME}
    try:
        return settings_from(used, base=NamesrvSettings(rocketmq_home=home))
    except ConfigError as error:
        raise ConfigError(f"in the environment, for Java: {error}") from None


def _from_file(
    stored: Mapping[str, str], base: NamesrvSettings, config_file: str | None, home: str
) -> tuple[NamesrvSettings, list[str]]:
    try:
        # Java: the file of -c is where 318 writes, whatever the file itself says.
        there = {"configStorePath": config_file} if config_file else {}
        used, empty = _without_empty({**stored, **there})
        settings, warnings = settings_from(used, base=base, home=home)
    except ConfigError as error:
        raise ConfigError(f"{config_file}: {error}") if config_file else error from None
    return settings, [*empty, *warnings]


def _without_empty(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The properties with a value for each that can't be empty here, though Java starts; and warnings."""
    used: dict[str, str] = {}
    warnings: list[str] = []
    for name, text in properties.items():
        spec = SPEC_OF_NAME.get(name)
        if text.strip() or spec is None or not (spec.facts.nonempty or spec.facts.choices):
            used[name] = text
            continue
        taken = _WHEN_EMPTY.get(spec.name, format_value(spec.default))
        used[name] = taken
        warnings.append(f"{name} is empty: {taken} is used; give a value, or remove the line")
    return used, warnings


def _overridden(
    names: Mapping[str, str],
    stored: Mapping[str, str],
    both: tuple[NamesrvSettings, NamesrvSettings],
    source: str,
) -> list[str]:
    """Warnings about values in the properties file that do not count, because the environment has others.

    Args:
        names: of properties that the environment gives, by the variables that do.
        stored: what the file holds.
        both: the settings before and with the environment.
        source: name of the file.
    """
    found = []
    for variable, name in sorted(names.items()):
        spec = SPECS[name]
        written = next((each for each in (name, *spec.facts.aliases) if each in stored), None)
        there, here = (getattr(each, spec.field) for each in both)
        if written is None or there == here:
            continue
        values = ("", "") if spec.facts.secret else (f"={format_value(here)}", f"={format_value(there)}")
        found.append(
            f"{variable}{values[0]} in the environment counts, and {written}{values[1]} in {source} does"
            " not: remove one of them"
        )
    return found


def _without_effect(settings: NamesrvSettings) -> list[str]:
    names = [
        spec.name
        for spec in SPECS.values()
        if spec.facts.inert and format_value(getattr(settings, spec.field)) != format_value(spec.default)
    ]
    return [f"accepted, but without effect here: {', '.join(names)}"] if names else []
