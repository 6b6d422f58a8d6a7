"""The contract that the pipeline carries is the one that the server writes by."""

import json
import subprocess
import sys
from importlib.resources import files

from namekeeper.common.segment_names import SEGMENT_NAME
from namekeeper.pipeline.contract import (
    ENVELOPE,
    KINDS,
    UNITS,
    VERSION,
    members_of_rows,
    read_schema,
)
from namekeeper.pipeline.package import write_package
from namekeeper.pipeline.table import Column

CONTRACT = json.loads((files("namekeeper.journal.contract") / "v1.json").read_text())


def test_it_is_the_version_that_the_file_is():
    assert CONTRACT["version"] == VERSION


def test_types_and_requirements_are_those_of_the_file():
    for described, members in (
        (CONTRACT["envelope"], ENVELOPE),
        *((each["fields"], KINDS[kind]) for kind, each in CONTRACT["kinds"].items()),
    ):
        assert {name: (each["type"], each.get("required", False)) for name, each in described.items()} == {
            name: (member.type, member.required) for name, member in members.items()
        }
    assert list(CONTRACT["kinds"]) == list(KINDS)


def test_a_column_says_what_null_is_but_in_a_history_no_row_is_gone():
    value = KINDS["kv"]["value"]
    assert value.as_column("value") == Column("value", "string", "Value; null: gone.")
    assert value.as_column("value", of_history=True) == Column("value", "string", "Value.")
    zone = KINDS["broker_group"]["zone"]
    assert zone.as_column("zone", of_history=True).meaning == "Zone name; null: none."


def test_rows_in_a_record_stand_for_the_list_of_them():
    names = [name for name, _ in members_of_rows("topic_queues")]
    assert names == ["broker_name", "topic", "read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag"]


def test_a_member_of_one_name_has_one_unit():
    units: dict[str, set[str]] = {}
    for members in (ENVELOPE.items(), *map(members_of_rows, KINDS)):
        for name, member in members:
            units.setdefault(name, set()).add(member.unit)
    assert {name: found for name, found in units.items() if len(found) > 1} == {}
    assert units["perm"] == {UNITS["perm"]}


def test_it_is_read_from_a_zip(tmp_path):
    package, _ = write_package(tmp_path)
    found = subprocess.run(
        [sys.executable, "-c", "from namekeeper.pipeline import contract; print(contract.__file__, contract.VERSION)"],
        env={"PYTHONPATH": str(package)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    file, version = found.stdout.split()
    assert str(package) in file
    assert version == str(VERSION)


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
