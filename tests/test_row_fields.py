"""A field of a row is stated once: few files name it, and a new one takes few lines."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from namekeeper.journal.contract.record import STATE_KINDS
from namekeeper.journal.contract.stated import RowPart, fields_of, kind_name

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "namekeeper"

STATED = "journal/contract/record.py"
MADE = {"journal/contract/v1.json", "pipeline/contract.json"}
MOVED = {"journal/recording/snapshot.py", "journal/contract/encode.py", "journal/reading/state.py"}
"""From the live tables into a record, and from a record into the live tables."""
WEIGHED = "journal/recording/weight.py"
"""Counts the text of a change before it is encoded."""
SHOWN = {
    "pipeline/gold/sql/change_log/computed_change_log.sql": "the text of a change",
    "pipeline/gold/sql/daily/new_capacity_daily.sql": "sums of queues",
    "pipeline/gold/sql/drift/observed_topic.sql": "the text of what a name server sees of a topic",
    "pipeline/answers/sql/last_held.sql": "sums of queues",
}
"""Queries that show single fields: what they do with them."""
FIELDS = {"acting_master", "ha_server_addr", "read_queue_nums", "topic_sys_flag"}
"""Values of rows that no query computes with, and whose names have no other meaning in these folders."""


def files_with(name: str) -> set[str]:
    word = re.compile(rf"\b{name}\b")
    return {
        path.relative_to(SOURCES).as_posix()
        for folder in ("journal", "pipeline")
        for path in (SOURCES / folder).rglob("*")
        if path.suffix in {".py", ".sql", ".json"} and word.search(path.read_text())
    }


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_is_named_where_it_is_stated_moved_or_shown_and_nowhere_else(name: str):
    assert files_with(name) <= {STATED, *MADE, *MOVED, WEIGHED, *SHOWN}


def test_those_fields_are_values_of_rows():
    kinds = [*STATE_KINDS, *(each.rows for kind in STATE_KINDS for each in fields_of(kind) if each.rows)]
    values = {field.name for kind in kinds for field in fields_of(kind) if field.part is RowPart.VALUE}
    assert values >= FIELDS


def test_kinds_of_state_are_listed_nowhere_else():
    names = {kind_name(kind) for kind in STATE_KINDS}
    listing = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if names <= set(re.findall(r'"(\w+)"', path.read_text()))
    }
    assert listing == {STATED}


class Edit(NamedTuple):
    """A change of a file, as text."""

    file: str
    old: str
    new: str

    @property
    def lines(self) -> int:
        """How many lines are new or others."""
        return len(set(self.new.splitlines()) - set(self.old.splitlines()))


def after(file: str, line: str, new: str) -> Edit:
    return Edit(file, line, line + new)


IN_THE_LIVE_TABLE = after(
    "model/broker.py", "    zone_name: str | None = None\n", "    rack: str | None = None\n"
)
"""What the server itself needs for the field, whoever records it."""
CONTRACT = (
    after(
        "journal/contract/record.py",
        '    zone: Annotated[str | None, stated("Zone name.", null="none")] = None\n',
        '    rack: Annotated[str | None, stated("Rack of the brokers.", null="not known")] = None\n',
    ),
)
LIVE_TABLE = (
    after("journal/contract/encode.py", "        zone=group.zone_name,\n", "        rack=group.rack,\n"),
    after("journal/reading/state.py", "        zone_name=record.zone,\n", "        rack=record.rack,\n"),
)
"""From the live table into the record, and back."""
VIEW = (
    Edit(
        "answers/timeline.py",
        "return row.cluster, row.zone, row.acting_master, tuple(_members_of(row))",
        "return row.cluster, row.zone, row.acting_master, tuple(_members_of(row)), row.rack",
    ),
)
"""`namekeeper history --json` shows it."""

LOOK = """
import json

from namekeeper.answers.from_facts import changes_from_facts
from namekeeper.answers.timeline import timeline, timeline_json
from namekeeper.history.history import History
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.encode import Stamp, encode_change
from namekeeper.journal.contract.lines import Line
from namekeeper.journal.reading.history import Changed
from namekeeper.journal.reading.state import State
from namekeeper.model.broker import BrokerData
from namekeeper.pipeline.answers.queries import query
from namekeeper.pipeline.contract import read_schema
from namekeeper.pipeline.gold.histories import HISTORIES
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.pipeline.reference import render_reference
from namekeeper.pipeline.schema import FACTS
from namekeeper.route.events import BrokerGroupChanged, Cause, Change
from tests.support.history.histories import histories
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of

group = BrokerData("c", "b", {0: "a:1"}, rack="r1")
change = Change(Cause.REGISTER, None, (BrokerGroupChanged(group),))
(line,) = encode_change(change, Stamp("n", 1, 1, 1, 1))
assert json.loads(line)["rack"] == "r1"

record = RecordReader()(Line(1, line[:-1]))
assert record.rack == "r1"
state = State()
state.apply([record])
assert state.tables.broker_addr_table["b"].rack == "r1"

history = History("n")
history.take(Changed(1, 1, 1, [record]))
assert '"r1"' in timeline_json(timeline(history.changes(0, 10)))
row = {
    "namesrv": "n", "boot": 1, "seq": 1, "change": 1, "checkpoint": None, "ts": 1, "cause": "103", "peer": None,
    "broker_name": "b", "cluster": "c", "rack": "r2", "broker_addrs": {"0": "a:1"}, "gone": False,
}
events = changes_from_facts(None, {"recorded_broker_group": [row]}, {"n": (0, 0)}, 0, 10)
assert '"r2"' in timeline_json(timeline(events))

assert "`rack` string" in read_schema()
assert ("rack", "string", "Rack of the brokers; null: not known.") in FACTS["broker_group"].columns
(history,) = (each for each in HISTORIES if each.table.name == "broker_group_history")
assert "rack" in history.values
for name in ("recorded_broker_group", "broker_group_at"):
    assert "rack" in query(name).columns
assert render_reference().count("| `rack` | `string` |") == 2

duck = Duck()
records = [
    record | {"rack": f"rack of {record['broker_name']}"} if record["kind"] == "broker_group" else record
    for record in records_of(histories(3, 3))
]
make_gold(duck, duck.load(records))
rows = duck.rows("stored_broker_group_history")
assert rows
assert all(row["rack"] == f"rack of {row['broker_name']}" for row in rows)
"""


def apply(sources: Path, edit: Edit) -> None:
    file = sources / edit.file
    text = file.read_text()
    assert text.count(edit.old) == 1, edit
    file.write_text(text.replace(edit.old, edit.new))


def run(folder: Path, *words: str) -> None:
    subprocess.run(
        [sys.executable, *words], cwd=folder, env={"PYTHONPATH": f"{folder}/src:{folder}"}, check=True
    )


def test_a_new_field_of_a_row_is_four_lines(tmp_path: Path):
    assert sum(edit.lines for edit in CONTRACT) == 1
    assert sum(edit.lines for edit in LIVE_TABLE) <= 2
    assert sum(edit.lines for edit in VIEW) == 1
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs" / "reference", tmp_path / "docs" / "reference")
    shutil.copytree(ROOT / "tests" / "support", tmp_path / "tests" / "support")
    sources = tmp_path / "src" / "namekeeper"
    for edit in (IN_THE_LIVE_TABLE, *CONTRACT, *LIVE_TABLE, *VIEW):
        apply(sources, edit)
    run(tmp_path, "-m", "namekeeper.journal.contract.generate")
    assert '"rack"' in (sources / "journal" / "contract" / "v1.json").read_text()
    assert (
        "| `rack` | string, may be absent | Rack of the brokers. |"
        in (tmp_path / "docs" / "reference" / "journal.md").read_text()
    )
    run(tmp_path, "-c", LOOK)
