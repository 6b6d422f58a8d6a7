"""The golden warehouse: today's queries make of its facts, and plain loops of its records, the same tables."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from namekeeper.journal.contract.names import SegmentName
from namekeeper.pipeline.gold.tables import GOLD, NAME_SERVER_LABEL_DAILY
from namekeeper.pipeline.schema import FACTS
from tests.golden.questions import (
    EXPECTED,
    JOURNALS,
    RECOMPUTED,
    WAREHOUSE,
    computed_gold,
    stored_warehouse,
)
from tests.golden.written_warehouse import sealed_segments, table_text
from tests.spark.facts_oracle import expected_facts, written


@pytest.mark.parametrize("name", GOLD)
def test_gold_of_the_stored_facts_is_what_is_stored(name: str):
    folder = "recomputed" if name in RECOMPUTED else "tables"
    assert table_text(computed_gold().gold(name)) == (EXPECTED / folder / f"{name}.txt").read_text()


def test_facts_are_what_the_records_say():
    of_journal: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in sealed_segments(JOURNALS):
        name = SegmentName.parse(file.name)
        assert name is not None
        of_journal[name.uuid8] += records_of(file)
    facts: dict[str, list[str]] = defaultdict(list)
    for uuid8, records in of_journal.items():
        for table, rows in expected_facts(records, uuid8).items():
            facts[table] += rows
    assert written(WAREHOUSE) == {table: sorted(rows) for table, rows in facts.items()}


def records_of(file: Path) -> list[dict[str, Any]]:
    """Records of a segment that can be read."""
    data = file.read_bytes()
    lines = (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()
    return [json.loads(line) for line in lines if line.endswith(b"}")]


@pytest.mark.parametrize("name", [*FACTS, *GOLD])
def test_every_table_has_rows(name: str):
    """But that of labels: no name server of the golden journals has one."""
    assert bool(stored_warehouse().paths({**FACTS, **GOLD}[name])) == (name != NAME_SERVER_LABEL_DAILY.name)
