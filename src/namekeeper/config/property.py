"""The description of one property: its name in files, flags and environment, its type, limits and meaning."""

import re
from collections.abc import Mapping
from enum import StrEnum
from inspect import get_annotations
from typing import Any

from msgspec import Struct

from namekeeper.errors import ConfigError

__all__ = [
    "GROUPS",
    "Property",
    "PropertyGroup",
    "PropertyKind",
    "Spec",
    "Value",
    "convert",
    "format_value",
    "specs_of",
]

Value = int | bool | str | None

_NUMBER = re.compile(r"[+-]?[0-9]+")
_JAVA_BLANKS = "".join(map(chr, range(0x21)))


class PropertyGroup(StrEnum):
    """The origin of a property, which is also its part of the reference page."""

    NAMESRV = "NamesrvConfig"
    NETTY = "NettyServerConfig"
    TLS = "TLS"
    OURS = "Namekeeper"


GROUPS: Mapping[PropertyGroup, str] = {
    PropertyGroup.NAMESRV: "Java's properties of the name server",
    PropertyGroup.NETTY: "Java's properties of the network server",
    PropertyGroup.TLS: "TLS, by the names of Java's system properties",
    PropertyGroup.OURS: "Namekeeper's own",
}


class PropertyKind(StrEnum):
    """Type of a value, by Java's setter."""

    INT = "int"
    LONG = "long"
    BOOLEAN = "boolean"
    STRING = "string"


class Property(Struct, frozen=True):
    """Facts about a property besides its Python type; all but the first two are given by name."""

    about: str
    group: PropertyGroup
    unit: str = ""
    name: str = ""
    """Java's name, if it isn't the field's name in camel case."""
    aliases: tuple[str, ...] = ()
    """Other names under which it is read, e.g. a system property of the JVM."""
    low: int = -(2**31)
    high: int = 2**31 - 1
    long: bool = False
    """Whether Java's setter takes a long."""
    choices: tuple[str, ...] = ()
    """All values allowed, whatever their case."""
    nonempty: bool = False
    path: bool = False
    """Whether it names a file or folder: `~/` is the user's home, and 318 may never change it."""
    remote: bool = True
    """Whether request 318 may change it where the operator allows such changes at all."""
    live: bool = False
    """Whether a change by request 318 has an effect before the next start."""
    secret: bool = False
    """Whether request 319 leaves it out."""
    inert: bool = False
    """Whether it is accepted only so that existing files work, without effect."""


class Spec(Struct, frozen=True):
    """One property, ready for use."""

    field: str
    """Name of the field in NamesrvSettings."""
    name: str
    """Name in files and in 318 and 319."""
    kind: PropertyKind
    default: Value
    facts: Property

    @property
    def flag(self) -> str:
        """Name on the command line."""
        return "--" + self.field.replace("_", "-")

    @property
    def variable(self) -> str:
        """Name in the environment."""
        return "NAMEKEEPER_" + self.field.upper()


def specs_of(settings: type[Struct]) -> dict[str, Spec]:
    """Specs of all fields of a settings type, by the name they have in files."""
    defaults = dict(
        zip(reversed(settings.__struct_fields__), reversed(settings.__struct_defaults__), strict=False)
    )
    annotations: dict[str, Any] = {}
    for each in reversed(settings.__mro__):
        annotations |= get_annotations(each)
    specs: dict[str, Spec] = {}
    for field in settings.__struct_fields__:
        annotated = annotations[field]
        about: Property = annotated.__metadata__[0]
        name = about.name or _camel(field)
        specs[name] = Spec(field, name, _kind(annotated.__origin__, about), defaults[field], about)
    return specs


def convert(spec: Spec, text: str, old: Value, *, strict: bool) -> tuple[Value, str | None]:
    """Turn text into a value by Java's rules; what Java ignores silently is returned as a warning.

    Args:
        spec: The property.
        text: The given text.
        old: The value that stays if the text is no number.
        strict: For flags and environment, which Java doesn't have: raise an error where Java would be silent.

    Raises:
        ConfigError: A value that is out of the limits, or isn't one of the choices.
    """
    if spec.kind is PropertyKind.STRING:
        return _checked_text(spec, text.strip(_JAVA_BLANKS)), None
    value, note = _flag(text) if spec.kind is PropertyKind.BOOLEAN else _number(spec, text, old)
    if note is None:
        return value, None
    if strict:
        raise ConfigError(
            f"{spec.name}={text}: not {'true or false' if spec.kind is PropertyKind.BOOLEAN else 'a number'}"
        )
    return value, f"{spec.name}: {note}, as Java does"


def format_value(value: Value) -> str:
    """Write a value as 319 shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _flag(text: str) -> tuple[Value, str | None]:
    word = text.lower()
    return word == "true", None if word in {
        "true",
        "false",
    } else f"{text!r} is not true or false: taken as false"


def _number(spec: Spec, text: str, old: Value) -> tuple[Value, str | None]:
    bits = 63 if spec.kind is PropertyKind.LONG else 31
    number = int(text) if _NUMBER.fullmatch(text) and len(text) <= 20 else None
    if number is None or not -(1 << bits) <= number < 1 << bits:
        return old, f"{text!r} is not a number: {format_value(old)} stays"
    if not spec.facts.low <= number <= spec.facts.high:
        raise ConfigError(f"{spec.name}={text}: must be from {spec.facts.low} to {spec.facts.high}")
    return number, None


def _checked_text(spec: Spec, text: str) -> str:
    if spec.facts.nonempty and not text:
        raise ConfigError(f"{spec.name} must not be empty")
    if not spec.facts.choices:
        return text
    for choice in spec.facts.choices:
        if text.lower() == choice.lower():
            return choice
    raise ConfigError(f"{spec.name}={text}: must be one of {', '.join(spec.facts.choices)}")


def _kind(origin: object, about: Property) -> PropertyKind:
    if origin is bool:
        return PropertyKind.BOOLEAN
    if origin is int:
        return PropertyKind.LONG if about.long else PropertyKind.INT
    return PropertyKind.STRING


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)
