"""Makes a record from a row of the pipeline's tables, whose columns are the fields of the record."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from namekeeper.journal.contract.record import EnvelopeMembers, Record
from namekeeper.journal.contract.stated import FieldStatement, RowPart, fields_of, kind_name

__all__ = ["record_of"]

R = TypeVar("R", bound=Record)


def record_of(kind: type[R], row: Mapping[str, Any]) -> R:
    """The record that says what a row of a table says; its envelope is left at its defaults.

    Args:
        kind: The kind of record.
        row: Columns with the names of its fields, and of those of rows in it; others are ignored. A missing
            column is null, and null stands for the default.

    Raises:
        ValueError: The row contradicts the contract.
    """
    members: dict[str, Any] = {"kind": kind_name(kind)}
    for name, is_json, make_rows in _own_fields(kind):
        value = row.get(name) if make_rows is None else make_rows(row)
        if value is not None:
            members[name] = Raw(value.encode()) if is_json else value
    return msgspec.convert(members, kind, str_keys=True)


@cache
def _own_fields(
    kind: type[Record],
) -> tuple[tuple[str, bool, Callable[[Mapping[str, Any]], Any] | None], ...]:
    """Name, whether it holds any JSON, and what makes its rows, of each field of a kind."""
    envelope = set(EnvelopeMembers.__struct_fields__)
    return tuple(
        (field.name, field.json_type == "json", None if field.rows is None else _maker(field, field.rows))
        for field in fields_of(kind)
        if field.name not in envelope
    )


def _maker(field: FieldStatement, of: type[Struct]) -> Callable[[Mapping[str, Any]], Any]:
    """Makes the one row in a record: an entry, or a list; of a row that is gone only its key."""
    names = [each.name for each in fields_of(of)]
    key = [each.name for each in fields_of(of) if each.part is RowPart.KEY]
    if field.json_type.startswith("map"):
        return lambda row: {row[names[0]]: row[names[1]] or ""}
    return lambda row: [tuple(row[name] for name in (key if row.get("gone") else names))]
