"""The configuration that requests 318 and 319 change and show (protocol.md 2.13, 2.14, 5.5)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from namekeeper.config.load import settings_from
from namekeeper.config.properties import format_properties, parse_properties, without_byte_order_mark
from namekeeper.config.property import format_value
from namekeeper.config.settings import ALIASES, SPECS, NamesrvSettings
from namekeeper.errors import ConfigError, RequestError

__all__ = ["RuntimeConfig", "is_secret", "read_lines"]

_SYSTEM_ERROR = 1
_NO_PERMISSION = 16

_BODY_LIMIT = 64 * 1024
"""Longest text of 318: many times the size of all properties."""
_LINES_LIMIT = 1_000
"""Most lines of it: many times the number of all properties, and parsed in a few milliseconds."""

_ALWAYS_REFUSED = frozenset(
    name.casefold()
    for spec in SPECS.values()
    if spec.facts.path or not spec.facts.remote
    for name in (spec.name, *spec.facts.aliases)
)
_PATH_ENDINGS = ("path", "pathname", "file", "filename", "dir", "directory", "folder", "root", "home")
_SECRET_PARTS = ("password", "secret")


class RuntimeConfig(Struct, frozen=True, kw_only=True):
    """The properties of a running server; changing them makes a new value."""

    settings: NamesrvSettings
    """The settings in effect; changed properties that need a restart take effect later."""
    unknown: Mapping[str, str]
    """Unknown properties of the file: shown, and changed by 318 like the others."""
    stored: Mapping[str, str]
    """The content of the file: that of the start, and the changes by 318 since."""
    black_list: frozenset[str]
    """Names that 318 refuses besides the fixed ones, in lower case: `configBlackList` at the start."""

    @classmethod
    def start(cls, settings: NamesrvSettings, stored: Mapping[str, str]) -> "RuntimeConfig":
        """Begin with the settings and with what the properties file held."""
        named = {ALIASES.get(name, name): text for name, text in stored.items()}
        return cls(
            settings=settings,
            unknown={name: text for name, text in named.items() if name not in SPECS},
            stored=named,
            black_list=frozenset(
                name for part in settings.config_black_list.split(";") if (name := part.strip().casefold())
            ),
        )

    def text(self) -> str:
        """All properties as 319 answers them: sorted `key=value` lines, not escaped, without secrets."""
        shown = self.values()
        lines = (f"{key}={_on_one_line(shown[key])}\n" for key in sorted(shown) if not is_secret(key))
        return "".join(lines)

    def values(self) -> dict[str, str]:
        """All properties that have a value, secrets included."""
        return {**self.unknown, **_values(self.settings)}

    def file_text(self) -> str:
        """The text for `configStorePath`: the properties of the start and the changed ones, escaped."""
        return format_properties(dict(sorted(self.stored.items())))

    def update(self, body: bytes) -> tuple["RuntimeConfig", Mapping[str, str]]:
        """Apply the text of a request 318.

        Returns:
            The new configuration, and the properties whose value has changed.

        Raises:
            RequestError: Text that can't be used, a property on the black list, or updates not allowed.
        """
        if not body:
            return self, {}
        wanted = _parsed(body)
        self._refuse(wanted)
        _check_values(wanted)
        known = {ALIASES.get(name, name): text for name, text in wanted.items()}
        try:
            settings, _ = settings_from({n: t for n, t in known.items() if n in SPECS}, base=self.settings)
        except ConfigError as error:
            raise RequestError(_SYSTEM_ERROR, str(error)) from None
        unknown = {name: known.get(name, text) for name, text in self.unknown.items()}
        return self._changed_to(settings, unknown)

    def reread(
        self, found: Mapping[str, str], *, source: str, given: frozenset[str]
    ) -> tuple["RuntimeConfig", Mapping[str, str], Sequence[str]]:
        """Apply the lines of the properties file that differ from what was read or written before.

        Args:
            found: The lines, see `read_lines`.
            source: Path of the file, for messages.
            given: Properties that a flag or the environment overrides.

        Returns:
            The new configuration, the properties whose value has changed, and the names of those whose
            change has no effect before the next start.

        Raises:
            ConfigError: A value that can't be used; the message says what is allowed.
        """
        names = {*found, *self.stored} & (SPECS.keys() - given)
        differing = sorted(name for name in names if found.get(name) != self.stored.get(name))
        live = [name for name in differing if SPECS[name].facts.live]
        wanted = {name: found.get(name, format_value(SPECS[name].default)) for name in live}
        try:
            settings, _ = settings_from(wanted, base=self.settings)
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None
        unknown = {name: value for name, value in found.items() if name not in SPECS}
        updated, changed = self._changed_to(settings, unknown)
        return (
            structs.replace(updated, stored=dict(found)),
            changed,
            [name for name in differing if name not in live],
        )

    def _refuse(self, wanted: Mapping[str, str]) -> None:
        names = [name.strip().casefold() for name in wanted]
        if any(_is_always_refused(name) or name in self.black_list for name in names):
            raise RequestError(_NO_PERMISSION, "Can not update config in black list.")
        if not self.settings.allow_config_update:
            raise RequestError(
                _NO_PERMISSION,
                "Can not update config: this name server was started with allowConfigUpdate=false.",
            )

    def _changed_to(
        self, settings: NamesrvSettings, unknown: Mapping[str, str]
    ) -> tuple["RuntimeConfig", Mapping[str, str]]:
        before = self.values()
        after = {**unknown, **_values(settings)}
        changed = {name: text for name, text in after.items() if before.get(name) != text}
        updated = RuntimeConfig(
            settings=settings, unknown=unknown, stored={**self.stored, **changed}, black_list=self.black_list
        )
        return updated, changed


def read_lines(data: bytes, *, source: str) -> dict[str, str]:
    """Read the content of a properties file for `reread`: up to a second, so not on the event loop.

    Returns:
        Property -> its text, by the names of today.

    Raises:
        ConfigError: Content that can't be used; the message names `source`.
    """
    text, _ = without_byte_order_mark(data, source=source)
    return {ALIASES.get(name, name): value for name, value in parse_properties(text, source=source).items()}


def _parsed(body: bytes) -> dict[str, str]:
    if len(body) > _BODY_LIMIT:
        raise RequestError(_SYSTEM_ERROR, f"the text is longer than {_BODY_LIMIT} bytes")
    if body.count(b"\n") + body.count(b"\r") > _LINES_LIMIT:
        raise RequestError(_SYSTEM_ERROR, f"the text has more than {_LINES_LIMIT} lines")
    try:
        return parse_properties(body.decode(errors="replace"))
    except ConfigError:
        raise RequestError(_SYSTEM_ERROR, "string2Properties error") from None


def _check_values(wanted: Mapping[str, str]) -> None:
    for name, text in wanted.items():
        if any(ord(character) < 0x20 and character != "\t" for character in text):
            # Java writes such a value as lines of their own, which set other properties at the next start.
            raise RequestError(_SYSTEM_ERROR, f"the value of {_on_one_line(name)} holds control characters")


def _values(settings: NamesrvSettings) -> dict[str, str]:
    """Texts of all properties that have a value."""
    values = ((spec.name, getattr(settings, spec.field)) for spec in SPECS.values())
    return {name: format_value(value) for name, value in values if value is not None}


def _is_always_refused(folded: str) -> bool:
    return folded in _ALWAYS_REFUSED or folded.startswith("tls.") or folded.endswith(_PATH_ENDINGS)


def is_secret(name: str) -> bool:
    """Whether the value of a property is never shown."""
    spec = SPECS.get(name)
    return spec.facts.secret if spec else any(part in name.lower() for part in _SECRET_PARTS)


def _on_one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
