"""The journal's contract for this package: kinds of records, their members, the columns made of them.

It is the file `contract.json`, which `namekeeper.journal.contract.generate` makes and which travels in the
zip, so that the pipeline runs where only pyspark and pyarrow are.
"""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from namekeeper.pipeline.table import Column

__all__ = [
    "ENVELOPE",
    "KINDS",
    "TABLES",
    "UNITS",
    "VERSION",
    "ContractTable",
    "Member",
    "members_of_rows",
    "read_schema",
    "types_of_members",
]


class Member(NamedTuple):
    """A member of a record, or of a row in one."""

    type: str
    required: bool = False
    part: str = "value"
    """Role in a row of the tables: `key`, `value`, `gone`, `end`; `note`: about the record only."""
    unit: str = ""
    """Unit of the numbers of the member."""
    is_int: bool = False
    """Whether its column has 32 bits."""
    null: str | None = None
    """Meaning of null in its column; None: it is left unsaid, and a number is never null."""
    column: str | None = None
    """Meaning of its column; None: it has none."""
    rows: Mapping[str, "Member"] | None = None
    """Members of the rows that it holds."""

    @property
    def sql_type(self) -> str:
        """Type of its column. A member with any JSON value is kept as its text."""
        return "int" if self.is_int else self.type.replace("long", "bigint").replace("json", "string")

    def as_column(self, name: str, *, of_history: bool = False) -> Column:
        """The column of the member; in a history no row is gone."""
        meaning = self.column or ""
        if self.null and not (of_history and self.null == "gone"):
            meaning = f"{meaning.removesuffix('.')}; null: {self.null}."
        return Column(name, self.sql_type, meaning)


class ContractTable(NamedTuple):
    """A fact table, made of records of some kinds."""

    kind_class: str
    """Subject of the records: the server (`boot`), checkpoints, rows (`state`), or counts (`activity`)."""
    meaning: str
    grain: str
    kinds: tuple[str, ...]


def _members(described: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Member]:
    return {name: _member(**facts) for name, facts in described.items()}


def _member(*, rows: Mapping[str, Mapping[str, Any]] | None = None, **facts: Any) -> Member:  # noqa: ANN401 - JSON
    return Member(**facts, rows=None if rows is None else _members(rows))


_CONTRACT: Mapping[str, Any] = json.loads(
    (files("namekeeper.pipeline") / "contract.json").read_text(encoding="utf-8")
)

VERSION: int = _CONTRACT["version"]
"""The newest version of the contract that this code reads."""

ENVELOPE: Mapping[str, Member] = _members(_CONTRACT["envelope"])
"""Members of every record."""

KINDS: Mapping[str, Mapping[str, Member]] = {
    kind: _members(facts["fields"]) for kind, facts in _CONTRACT["kinds"].items()
}
"""Members of each kind beside the envelope."""

TABLES: Mapping[str, ContractTable] = {
    name: ContractTable(
        **facts, kinds=tuple(kind for kind, each in _CONTRACT["kinds"].items() if each["table"] == name)
    )
    for name, facts in _CONTRACT["tables"].items()
}
"""Fact tables by their names."""


def members_of_rows(kind: str) -> Iterator[tuple[str, Member]]:
    """Members of a kind by their names; the members of rows in a record stand for the list of rows."""
    for name, member in KINDS[kind].items():
        yield from member.rows.items() if member.rows else ((name, member),)


def read_schema() -> str:
    """Columns, as DDL, of a file with records of all kinds: members that a kind does not have are null."""
    return ", ".join(f"`{name}` {type_}" for name, type_ in types_of_members().items())


def types_of_members() -> Mapping[str, str]:
    """Type in SQL of each member that a record of some kind has, the envelope's first."""
    types: dict[str, str] = {}
    for members in (ENVELOPE, *KINDS.values()):
        types |= {name: member.sql_type for name, member in members.items()}
    return types


UNITS: Mapping[str, str] = {
    name: member.unit
    for members in (ENVELOPE.items(), *map(members_of_rows, KINDS))
    for name, member in members
    if member.unit
}
"""Unit of each member that has numbers."""
