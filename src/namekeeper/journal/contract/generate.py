"""Makes the published forms of the contract: `v1.json`, the journal's page, and the pipeline's contract file.

`python -m namekeeper.journal.contract.generate` writes them into the source tree; a test compares them.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from namekeeper.common.segment_names import SEGMENT_NAME
from namekeeper.journal.contract.activity import EDGES_MS
from namekeeper.journal.contract.kinds import KINDS
from namekeeper.journal.contract.record import (
    CONTRACT_VERSION,
    STATE_KINDS,
    Envelope,
    EnvelopeMembers,
    Record,
)
from namekeeper.journal.contract.reference import render_reference
from namekeeper.journal.contract.stated import FieldStatement, RowPart, fields_of, kind_name, meaning_of

__all__ = ["contract", "generated_files", "pipeline_contract"]

_Members = Mapping[str, Mapping[str, Any]]

_ABOUT: Mapping[str, Any] = {
    "about": (
        "Records of a name server's journal: one JSON object in each line of a segment. A record of a"
        " state kind says what one row is now, so a reader needs none of RocketMQ's rules. Members that"
        ' have their default (null, false, 0, "", empty) are left out, except those marked required.'
        " Unknown members are ignored."
    ),
    "order": ["boot", "coalesce(checkpoint, seq)", "seq"],
    "identity": ["namesrv", "boot", "seq"],
    "loss": (
        "These are losses: a missing seq; a boot without server_stopped that another boot follows; a"
        " change without its end; a boot without any record that the previous_boot of a later"
        " server_started names. Seqs before the first record of the oldest boot in the journal are not"
        " lost: they are before the journal. After a loss the state is unknown, from the last complete"
        " change before the loss (rows and ends of checkpoints do not count: they have the position of"
        " their start) to the checkpoint_begin of the next complete checkpoint."
    ),
    "effective_time": (
        "The effective time of a record is the minimum of ts over this record and all later ones in the"
        " order; rows and ends of checkpoints have the effective time of their start. All records up to the"
        " last one in the order with ts <= T make the state at T."
    ),
    "segment": {
        "open": "<namesrv>-<uuid8>-<boot:013>-<first_seq:012>.jsonl.open",
        "sealed": ("<namesrv>-<uuid8>-<boot:013>-<first_seq:012>-<last_seq:012>.jsonl.gz"),
        "pattern": f"^{SEGMENT_NAME.pattern}$",
    },
    "checksum": (
        "The last member of a line is crc, eight hexadecimal digits in lower case: the CRC-32 (as in"
        ' gzip) of the bytes of the line before `,"crc":`. A line whose checksum is not that of its bytes'
        " was altered: it is damaged, like a torn one, and never counts. In a boot whose server_started"
        " has checksums every line has one, and a line without it is damaged too. The first writers wrote"
        " none."
    ),
    "blocks": (
        "A sealed segment is a gzip file of several members, its blocks: its lines are those of all of"
        " them, one after another. The header of a block has an extra field NK: the CRC-32 (32 bits,"
        " little-endian) of `<namesrv> <boot> ` and the rest, which is a JSON array, its summary. The"
        " summary begins with version 1, the number of bytes after the header, their CRC-32 and the number"
        " of lines. Then it says whether the segment ends with the block, and whether every line is a"
        " record of this segment whose checksum is right. Next are the first and the last seq, or 0 if its"
        " records are not all changes of their own in order or rows of one checkpoint. The ts of the first"
        " and of the last record that is no such row follow, and the kinds of those records. Last are the"
        " checkpoint, the kinds of its rows and their numbers. A reader may skip a block if both checksums"
        " are right and it needs no more than the summary. A program that reads the file as plain gzip needs"
        " none of this; the first writers wrote one member without a summary."
    ),
}
"""The rules for all records."""


def contract() -> Mapping[str, Any]:
    """The contract, as `v1.json` has it."""
    return {
        "version": CONTRACT_VERSION,
        **_ABOUT,
        "heartbeat_gap_edges_ms": list(EDGES_MS),
        "envelope": {field.name: _published(field) for field in _envelope()},
        "kinds": {kind_name(kind): _kind(kind) for kind in KINDS},
    }


def pipeline_contract() -> Mapping[str, Any]:
    """The part of the contract that the pipeline needs: types, parts of rows, tables and columns."""
    return {
        "version": CONTRACT_VERSION,
        "envelope": _members(_envelope()),
        "kinds": {
            kind_name(kind): {"table": kind.fact.name, "fields": _members(_own_fields(kind))}
            for kind in KINDS
        },
        "tables": {
            kind.fact.name: {
                "kind_class": kind.kind_class,
                "meaning": kind.fact.meaning,
                "grain": kind.fact.grain,
            }
            for kind in KINDS
        },
    }


def generated_files() -> Mapping[str, str]:
    """The text of each file, by its path from the folder of the package."""
    return {
        "journal/contract/v1.json": _text(contract()),
        "pipeline/contract.json": _text(pipeline_contract()),
        "../../docs/reference/journal.md": render_reference(contract()),
    }


def _envelope() -> Iterator[FieldStatement]:
    """The kind comes first in a line."""
    *members, kind = fields_of(Envelope)
    yield from (kind, *members)


def _own_fields(kind: type[Record]) -> list[FieldStatement]:
    envelope = set(EnvelopeMembers.__struct_fields__)
    return [field for field in fields_of(kind) if field.name not in envelope]


def _kind(kind: type[Record]) -> Mapping[str, Any]:
    own = _own_fields(kind)
    rows = [field for each in own if each.rows for field in fields_of(each.rows)]
    key = [field.name for field in (*own, *rows) if field.part is RowPart.KEY]
    facts = {"class": kind.kind_class} | ({"key": key} if kind in STATE_KINDS else {})
    fields = {field.name: _published(field) for field in own}
    return {**facts, "meaning": kind.meaning or meaning_of(kind), "fields": fields}


def _published(field: FieldStatement) -> Mapping[str, Any]:
    required = {"required": True} if field.is_required else {}
    return {"type": field.json_type, **required, "meaning": field.meaning}


def _members(fields: Iterable[FieldStatement]) -> _Members:
    return {field.name: _member(field) for field in fields}


def _member(field: FieldStatement) -> Mapping[str, Any]:
    """A member, without the facts that have their default."""
    facts: Mapping[str, Any] = {
        "type": field.json_type,
        "required": field.is_required,
        "part": None if field.part is RowPart.VALUE else field.part,
        "unit": field.unit,
        "is_int": field.is_int,
        "null": field.null,
        "column": field.column,
        "rows": None if field.rows is None else _members(fields_of(field.rows)),
    }
    return {name: fact for name, fact in facts.items() if fact not in (None, False)}


def _text(contract: Mapping[str, Any]) -> str:
    """A contract as JSON; each member has a line of its own."""
    entries = (f"  {json.dumps(name)}: {_entry(value)}" for name, value in contract.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _entry(value: Any, margin: str = "    ") -> str:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        return json.dumps(value)
    if "fields" in value:
        facts = "".join(
            f"{json.dumps(name)}: {json.dumps(fact)}, " for name, fact in value.items() if name != "fields"
        )
        return f'{{{facts}"fields": {_entries(value["fields"], "      ")}}}}}'
    return f"{_entries(value, margin)}\n  }}"


def _entries(values: Mapping[str, Any], margin: str) -> str:
    lines = ",".join(f"\n{margin}{json.dumps(name)}: {_line(value)}" for name, value in values.items())
    return "{" + lines


def _line(value: Any) -> str:  # noqa: ANN401 - JSON
    return _entry(value) if isinstance(value, dict) and "fields" in value else json.dumps(value)


def _main() -> None:
    for path, text in generated_files().items():
        file = Path(__file__).parents[2] / path
        file.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{file.resolve()}\n")


if __name__ == "__main__":
    _main()
