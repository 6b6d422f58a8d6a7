"""What a run reads and writes again decides whether it is little, not what the warehouse holds."""

import pytest

from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.ingest.segments import Segment
from namekeeper.pipeline.little import LITTLE_BYTES, LITTLE_RECORDS, LITTLE_REWRITTEN_BYTES, is_little
from namekeeper.pipeline.store.manifest import DataFile
from tests.support.journal.segments import UUID8

BOOT = 1_772_323_200_000
"""2026-03-01T00:00:00Z."""
DAY_MS = 24 * 3_600_000
LOADED = Ledger({("ns", UUID8, BOOT): LoadedBoot(((1, 10**9),), (), BOOT + 30 * DAY_MS)})
"""With very many records, up to 2026-03-31."""


def segment(*, records: int = 10, size: int = 1_000, first_seq: int = 10**9 + 1) -> Segment:
    return Segment("ns", UUID8, BOOT, first_seq, first_seq + records - 1, True, size, "j", "name")


@pytest.mark.parametrize(
    ("records", "size", "little"),
    [
        (LITTLE_RECORDS, LITTLE_BYTES, True),
        (LITTLE_RECORDS + 1, 1, False),
        (1, LITTLE_BYTES + 1, False),
    ],
)
def test_new_records_and_their_bytes_count(records: int, size: int, little: bool):
    assert is_little([segment(records=records, size=size)], LOADED, {}) is little


@pytest.mark.parametrize(
    ("table", "value", "counts"),
    [
        ("topic_route", "open", True),
        ("topic_route", "2026-03-31", True),
        ("topic_route", "2026-03-30", True),  # it may be that day in another time zone
        ("topic_route", "2026-03-29", False),
        ("incident", None, True),
        ("events", None, False),
    ],
)
def test_partitions_count_that_new_records_can_change(table: str, value: str | None, counts: bool):
    tables = {table: [DataFile("path", LITTLE_REWRITTEN_BYTES + 1, value)]}
    assert is_little([segment()], LOADED, tables) is not counts


def test_a_segment_that_comes_late_may_change_all_days_of_its_boot():
    tables = {"topic_route": [DataFile("path", LITTLE_REWRITTEN_BYTES + 1, "2026-03-02")]}
    assert is_little([segment()], LOADED, tables)
    assert not is_little([segment(first_seq=5)], LOADED, tables)
    assert not is_little([segment()], Ledger(), tables)
