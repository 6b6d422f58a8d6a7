"""Keeps an answer within a size: long lists, maps and texts are cut, and the answer says which."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["ANSWER_BYTES", "LeftOut", "bounded"]

ANSWER_BYTES = 48 * 1024
"""Most bytes of an answer as JSON: about 12,000 tokens. Assistants drop larger results, or lose the question
over them."""
ITEMS, CHARACTERS = 200, 2_000
"""Most items of a list or map, and characters of a text; fewer if the answer is too large with so many."""
_LEAST_CHARACTERS = 64

Schema = Mapping[str, Any]


class LeftOut(Struct, frozen=True):
    """A list, map or text of which a part is left out; of several in the same place the sums."""

    path: str
    """The place, such as `entries[].rows`."""
    unit: str
    """items or characters."""
    shown: int
    total: int


def bounded(
    value: Mapping[str, Any], schema: Schema, *, limit_bytes: int = ANSWER_BYTES
) -> tuple[dict[str, Any], list[LeftOut]]:
    """Cut the lists, maps and texts of a value until its JSON fits.

    Args:
        value: plain values, as JSON has them.
        schema: the JSON schema of the value; it tells maps from structs, whose members all stay.
        limit_bytes: most bytes of its JSON.
    """
    items, characters = ITEMS, CHARACTERS
    while True:
        cutting = _Cutting(schema.get("$defs", {}), items, characters)
        found = cutting.cut(value, schema, "")
        is_least = items == 1 and characters == _LEAST_CHARACTERS
        if is_least or len(msgspec.json.encode(found)) <= limit_bytes:
            return found, cutting.left_out()
        items, characters = max(1, items // 2), max(_LEAST_CHARACTERS, characters // 2)


class _Cutting:
    def __init__(self, defs: Mapping[str, Schema], items: int, characters: int) -> None:
        self._defs, self._items, self._characters = defs, items, characters
        self._sums: dict[tuple[str, str], tuple[int, int]] = {}

    def left_out(self) -> list[LeftOut]:
        """The places that were cut, by path."""
        return [LeftOut(*place, *sums) for place, sums in sorted(self._sums.items()) if sums[0] < sums[1]]

    def cut(self, value: Any, schema: Schema, path: str) -> Any:  # noqa: ANN401 - any JSON
        """The value with at most so many items and characters in each place."""
        if isinstance(value, str):
            self._note(path, "characters", min(len(value), self._characters), len(value))
            return value if len(value) <= self._characters else value[: self._characters] + "..."
        if isinstance(value, list):
            kept = value[: self._items]
            self._note(path, "items", len(kept), len(value))
            inner = _first(self._meant(schema, "items"), "items")
            return [self.cut(each, inner, f"{path}[]") for each in kept]
        if isinstance(value, dict):
            return self._cut_members(value, schema, path)
        return value

    def _cut_members(self, value: Mapping[str, Any], schema: Schema, path: str) -> dict[str, Any]:
        members = _first(self._meant(schema, "properties"), "properties")
        if members:
            prefix = f"{path}." if path else ""
            return {
                name: self.cut(each, members.get(name, {}), f"{prefix}{name}") for name, each in value.items()
            }
        inner = _first(self._meant(schema, "additionalProperties"), "additionalProperties")
        kept = dict(islice(value.items(), self._items))
        self._note(path, "items", len(kept), len(value))
        return {self._cut_name(name, path): self.cut(each, inner, f"{path}[]") for name, each in kept.items()}

    def _cut_name(self, name: str, path: str) -> str:
        return str(self.cut(name, {}, f"{path}[]"))

    def _note(self, path: str, unit: str, shown: int, total: int) -> None:
        before = self._sums.get((path, unit), (0, 0))
        self._sums[path, unit] = before[0] + shown, before[1] + total

    def _meant(self, schema: Schema, keyword: str) -> Iterator[Schema]:
        """The schemas with a keyword among those that a value may have."""
        while "$ref" in schema:
            schema = self._defs[schema["$ref"].rpartition("/")[2]]
        if keyword in schema:
            yield schema
        for each in schema.get("anyOf", ()):
            yield from self._meant(each, keyword)


def _first(found: Iterator[Schema], keyword: str) -> Schema:
    """The value of a keyword; empty if no schema has it, or says no more than yes or no."""
    value: Any = next((each[keyword] for each in found), {})
    return value if isinstance(value, dict) else {}
