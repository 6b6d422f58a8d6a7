"""Reads tables with keys, such as TOML or JSON objects; an error names the key and what to write."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from namekeeper.common.near_names import did_you_mean
from namekeeper.errors import ConfigError

__all__ = ["refuse_unknown_keys", "struct_of"]

S = TypeVar("S", bound=Struct)

_MISPLACED = re.compile(r"Expected `([a-z]+)(?: \| null)?`, got `([a-z]+)` - at `\$\.(\w+)(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_KINDS = {
    "str": "a text in quotes", "int": "a whole number", "float": "a number", "bool": "true or false",
    "array": "a list", "object": "a table", "null": "null", "datetime": "a time without quotes",
}  # fmt: skip
"""Type in a message of msgspec -> its name for people."""


def struct_of(kind: type[S], table: Mapping[str, object], where: str) -> S:
    """Convert a table to a struct.

    Args:
        kind: the struct. Its fields are the keys that are known.
        table: keys and values.
        where: the place of the table, for messages.

    Raises:
        ConfigError: a key is unknown or missing, or a value has another type. One line says which.
    """
    refuse_unknown_keys(table, [field.encode_name for field in structs.fields(kind)], where)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_in_words(str(error))}") from None


def refuse_unknown_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse a key that is not known, and suggest one that is.

    Raises:
        ConfigError: names the first unknown key.
    """
    known = tuple(known)
    for key in table:
        if key not in known:
            question = did_you_mean(key, known) or f": it has {', '.join(known)}"
            raise ConfigError(f"{where}: unknown key {key!r}{question}")


def _in_words(problem: str) -> str:
    if missing := _MISSING.match(problem):
        return f"{missing[1]} is missing"
    found = _MISPLACED.fullmatch(problem)
    if found is None:
        return problem
    expected, got, key, inside = found.groups()
    place = f"a value of {key}" if inside else key
    return f"{place} must be {_KINDS.get(expected, expected)}, not {_KINDS.get(got, got)}"
