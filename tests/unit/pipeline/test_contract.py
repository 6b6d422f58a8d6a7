"""The contract that the pipeline carries is the one that the server keeps."""

import json
from importlib.resources import files

from namekeeper.common.segment_names import SEGMENT_NAME
from namekeeper.pipeline.contract import (
    ENVELOPE,
    HEARTBEAT_GAP_EDGES_MS,
    KINDS,
    VERSION,
    Member,
    read_schema,
)

CONTRACT = json.loads((files("namekeeper.journal.contract") / "v1.json").read_text())


def members(described: dict[str, dict[str, object]]) -> dict[str, Member]:
    return {
        name: Member(str(each["type"]), bool(each.get("required", False))) for name, each in described.items()
    }


def test_it_is_the_version_that_the_file_is():
    assert CONTRACT["version"] == VERSION
    assert tuple(CONTRACT["heartbeat_gap_edges_ms"]) == HEARTBEAT_GAP_EDGES_MS


def test_the_envelope_is_that_of_the_file():
    assert members(CONTRACT["envelope"]) == ENVELOPE


def test_kinds_and_their_members_are_those_of_the_file():
    assert {kind: members(each["fields"]) for kind, each in CONTRACT["kinds"].items()} == KINDS


def test_the_pattern_of_names_is_that_of_the_file():
    assert CONTRACT["segment"]["pattern"] == f"^{SEGMENT_NAME.pattern}$"


def test_a_member_of_one_name_has_one_type():
    types: dict[str, set[str]] = {}
    for fields in (ENVELOPE, *KINDS.values()):
        for name, member in fields.items():
            types.setdefault(name, set()).add(member.type)
    assert {name: found for name, found in types.items() if len(found) > 1} == {}


def test_the_schema_to_read_with_has_every_member_once():
    columns = read_schema().split(", ")
    assert len(columns) == len({column.split(" ")[0] for column in columns})
    assert "`counts` map<string,bigint>" in columns
    assert "`mapping` string" in columns
