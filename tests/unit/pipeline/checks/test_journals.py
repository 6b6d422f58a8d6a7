"""Segments of journals that a warehouse lacks are found wherever they are in a store."""

from pathlib import Path
from threading import Barrier

import pytest

from namekeeper.pipeline.checks import journals as module
from namekeeper.pipeline.checks.journals import LISTED_AT_ONCE, check_journals
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.files.folder import Folder, open_folder
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot
from namekeeper.pipeline.ingest.loaded_segments import LoadedSegments
from namekeeper.pipeline.ingest.segments import Listing, list_segments
from namekeeper.pipeline.store.manifest import Manifest
from namekeeper.pipeline.store.warehouse_folder import commit_run
from tests.support.pipeline.many_objects import BOOT, ManyObjects, name_of

SEGMENTS = 1_200
LATE = 1_100
"""A segment that was shipped after those behind it."""
LEDGER = Ledger({
    (f"ns-{journal}", "0a1b2c3d", BOOT): LoadedBoot(((1, SEGMENTS * 10),)) for journal in range(3)
} | {
    ("ns-1", "0a1b2c3d", BOOT): LoadedBoot(((1, LATE * 10), (LATE * 10 + 11, SEGMENTS * 10)))
})  # fmt: skip


@pytest.fixture
def warehouse(tmp_path: Path) -> Folder:
    folder = open_folder(str(tmp_path))
    commit_run(folder, Manifest(1, 2, "UTC", "", {}), LEDGER.to_json())
    return folder


def test_a_segment_that_was_shipped_late_is_found_where_a_run_skips_it(warehouse: Folder):
    objects = ManyObjects(3, SEGMENTS)
    skipping = list_segments([objects.folder], LoadedSegments(LEDGER), [objects.folder])
    assert name_of(1, LATE) not in [segment.path for segment in skipping.segments]
    (finding,) = check_journals(warehouse, [objects.folder])
    assert (finding.name, finding.level, finding.found) == ("journals", Level.CONCERN, 1)
    assert finding.examples == [{"namesrv": "ns-1", "segment": name_of(1, LATE)}]


def test_a_journal_whose_records_are_all_there_is_no_finding(warehouse: Folder):
    assert check_journals(warehouse, [ManyObjects(1, SEGMENTS).folder]) == []


def test_a_warehouse_without_a_run_lacks_every_segment(tmp_path: Path):
    folder = open_folder(str(tmp_path))
    commit_run(folder, Manifest(1, 2, "UTC", "", {}), Ledger().to_json())
    (finding,) = check_journals(folder, [ManyObjects(2, 3).folder, ManyObjects(1, 1).folder])
    assert (finding.found, len(finding.examples)) == (7, 5)


def test_a_few_folders_are_listed_at_a_time(warehouse: Folder, monkeypatch: pytest.MonkeyPatch):
    """Each waits for as many others as there may be: one by one they would wait for ever, and no more enter."""
    together = Barrier(LISTED_AT_ONCE)
    listed: list[Folder] = []

    def listing(folders: list[Folder], _known: LoadedSegments) -> Listing:
        together.wait(timeout=60)
        listed.extend(folders)
        return Listing([], [], 0)

    monkeypatch.setattr(module, "list_segments", listing)
    journals = [ManyObjects(0, 1).folder for _ in range(2 * LISTED_AT_ONCE)]
    assert check_journals(warehouse, journals) == []
    assert len(listed) == len(journals)
