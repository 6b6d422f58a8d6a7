"""The fact tables: the journals row by row, deduplicated and typed; gold is made only from them.

Facts hold only complete changes: records of an incomplete change wait in `incomplete` until the missing ones
come, and lines that can't be read are in `quarantine`. So a gap in `events.seq` is unknown time, and readers
of facts need not check whether a change is complete. Times are milliseconds since 1970 by the clock of the
name server; the order is (namesrv, boot, place, seq), never `ts`.
"""

from collections.abc import Iterator, Mapping

from namekeeper.pipeline import contract
from namekeeper.pipeline.table import Column, Table, columns

__all__ = [
    "ENVELOPE",
    "EVENTS",
    "FACTS",
    "INCOMPLETE",
    "KINDS_OF",
    "LOAD_ID",
    "QUARANTINE",
]

LOAD_ID = Column("load_id", "bigint", "The run that brought the row; never used twice.")

_PLACE, _UUID8, _FILE = columns(
    "place bigint: Position in the order: for a row of a checkpoint the seq of its start, else its own seq.",
    "uuid8 string: First eight digits of the UUID of the journal's folder, from the segment's name.",
    "file string: Name of the segment that it was read from.",
)
_ONLY_IN_EVENTS = ("v", "kind", "end")
_OF_EVENTS = {name: member.as_column(name) for name, member in contract.ENVELOPE.items() if member.column}
_FIRST = ("namesrv", "boot", "seq")

ENVELOPE: tuple[Column, ...] = (
    *(_OF_EVENTS[name] for name in _FIRST),
    _PLACE,
    _OF_EVENTS["checkpoint"],
    *(column for name, column in _OF_EVENTS.items() if name not in {*_FIRST, "checkpoint", *_ONLY_IN_EVENTS}),
)
"""First columns of every table that holds records."""

_OF_TABLE: Mapping[str, tuple[Column, ...]] = {
    "server": (_OF_EVENTS["kind"], _UUID8),
    "checkpoint": (_OF_EVENTS["kind"],),
}
"""Columns that a table has before those of the members."""

_GONE = {
    "cluster_row": "gone boolean: True when it has none left.",
    "topic_row": "gone boolean: True when the row ended.",
    "filter_servers": "gone boolean: True when there are none.",
}
"""Columns made of other members than one of this name."""

EVENTS = Table(
    "events",
    "Every record of every whole change, envelope only. Holes in seq are losses.",
    "a record",
    _FIRST,
    (*ENVELOPE, _UUID8, *(_OF_EVENTS[name] for name in _ONLY_IN_EVENTS), _FILE, LOAD_ID),
)


def _of_records(name: str, made: contract.ContractTable) -> Table:
    """A table that is made of records: its rows have the envelope and the members of its kinds."""
    own = [column for kind in made.kinds for column in _own_columns(kind, is_shared=len(made.kinds) > 1)]
    gone = columns(_GONE[name]) if name in _GONE else ()
    in_rows = [
        member_name
        for kind in made.kinds
        for member in contract.KINDS[kind].values()
        for member_name, each in (member.rows or {}).items()
        if each.part == "key"
    ]
    key = (*_FIRST, *in_rows)
    of_table = _OF_TABLE.get(name, ())
    return Table(name, made.meaning, made.grain, key, (*ENVELOPE, *of_table, *own, *gone, LOAD_ID))


def _own_columns(kind: str, *, is_shared: bool) -> Iterator[Column]:
    """Columns of the members of a kind; if other kinds share the table, the meaning names the kind."""
    for name, member in contract.members_of_rows(kind):
        if member.column:
            column = member.as_column(name)
            shared = f"{kind}: {column.meaning[0].lower()}{column.meaning[1:]}"
            yield column._replace(meaning=shared) if is_shared else column


INCOMPLETE = Table(
    "incomplete",
    "Records of changes of which something is missing. They count for nothing; when the rest comes, a later"
    " run puts the whole change into the facts, and what is here stays.",
    "a record",
    ("namesrv", "uuid8", "boot", "seq"),
    (
        *columns(
            "namesrv string: As in events.",
            "uuid8 string: As in events.",
            "boot bigint: As in events.",
            "seq bigint: As in events.",
            "change bigint: As in events.",
            "kind string: As in events.",
            "file string: Segment that it was read from.",
            "record string: The record as JSON.",
        ),
        LOAD_ID,
    ),
)

QUARANTINE = Table(
    "quarantine",
    "Lines that can't be taken, and segments in which records are missing.",
    "a line, or a segment",
    (),
    (
        *columns(
            "namesrv string: Name server, from the segment's name.",
            "uuid8 string: From the segment's name.",
            "boot bigint: From the segment's name.",
            "file string: Name of the segment.",
            "reason string: unreadable, altered, malformed, unknown_version or incomplete_segment.",
            "detail string: What is wrong, in words.",
            "line string: The line, at most 65,536 characters of it; null for a segment.",
            "length bigint: Characters of the line.",
        ),
        LOAD_ID,
    ),
)

KINDS_OF: Mapping[str, tuple[str, ...]] = {name: table.kinds for name, table in contract.TABLES.items()}
"""Table -> kinds of records that it is made of; `events` has all."""

FACTS: Mapping[str, Table] = {
    EVENTS.name: EVENTS,
    **{name: _of_records(name, table) for name, table in contract.TABLES.items()},
    INCOMPLETE.name: INCOMPLETE,
    QUARANTINE.name: QUARANTINE,
}
"""Every fact table by its name."""
