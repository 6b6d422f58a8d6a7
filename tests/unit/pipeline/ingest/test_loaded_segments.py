"""What a run need not list: segments that the ledger has, and in a store what lies before the last of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot, merged
from namekeeper.pipeline.ingest.loaded_segments import LISTED_EVERY_MS, CompleteListings, LoadedSegments
from namekeeper.pipeline.ingest.segments import Listing, Segment, list_segments
from tests.support.pipeline.many_objects import BOOT, ManyObjects, name_of

JOURNALS = 10
SEGMENTS = 100_000
LEDGER = Ledger({
    (f"ns-{journal}", "0a1b2c3d", BOOT): LoadedBoot(((1, SEGMENTS * 10),)) for journal in range(JOURNALS)
})  # fmt: skip


def listing(objects: ManyObjects, ledger: Ledger = LEDGER) -> Listing:
    return list_segments([objects.folder], LoadedSegments(ledger), [objects.folder])


def paths(found: Listing) -> list[str]:
    return [segment.path for segment in found.segments]


def test_nothing_new_among_a_million_segments_is_an_answer_for_each_journal_and_one_more():
    objects = ManyObjects(JOURNALS, SEGMENTS)
    found = listing(objects)
    assert (found.segments, found.empty, found.is_whole) == ([], [], False)
    assert objects.answers <= JOURNALS + 1


def test_new_segments_new_boots_and_new_name_servers_are_found_without_listing_the_others():
    new = [
        name_of(0, SEGMENTS),
        name_of(3, 0, BOOT + 1),
        name_of(JOURNALS - 1, SEGMENTS + 7),
        "ns-00-0a1b2c3d-1772323200000-000000000001-000000000010.jsonl.gz",
        "zone-0a1b2c3d-1772323200000-000000000001-000000000010.jsonl.gz",
    ]
    objects = ManyObjects(JOURNALS, SEGMENTS, *new)
    assert paths(listing(objects)) == sorted(new)
    assert objects.answers <= JOURNALS + 1


def test_folders_below_a_folder_are_skipped_through_as_well():
    objects = ManyObjects(0, 1, *(f"{part}/{name_of(0, at)}" for part in "ab" for at in range(5_000)))
    assert listing(objects).segments == []
    assert objects.answers <= 4


@pytest.mark.parametrize(
    "late", [name_of(3, 1_500).replace("-000000015001-", "-000000014999-"), name_of(3, 0, BOOT + 5)]
)
def test_a_segment_that_comes_late_is_found_by_a_complete_listing(late):
    gap, newer = LoadedBoot(((1, 15_000), (15_011, 20_000))), LoadedBoot(((1, 10),))
    boots = {("ns-3", "0a1b2c3d", BOOT): gap, ("ns-3", "0a1b2c3d", BOOT + 9): newer}
    ledger = Ledger({**LEDGER.boots, **boots})
    objects = ManyObjects(4, 2_000, late)
    complete = list_segments([objects.folder], LoadedSegments(ledger))
    assert late in paths(complete)
    assert complete.is_whole
    assert late not in paths(listing(objects, ledger))


def test_a_folder_of_this_machine_is_listed_completely(tmp_path: Path):
    folder = open_folder(str(tmp_path))
    for name in (name_of(3, 1), name_of(3, 2), name_of(3, 0, BOOT - 1)):
        (tmp_path / name).touch()
    found = list_segments([folder], LoadedSegments(LEDGER), [folder])
    assert paths(found) == [name_of(3, 0, BOOT - 1)]
    assert (found.known, found.is_whole) == (2, True)


RANGE = st.tuples(st.integers(1, 30), st.integers(0, 5)).map(lambda each: (each[0], sum(each)))


@given(st.lists(RANGE, max_size=3), RANGE, st.sampled_from((BOOT, BOOT + 1)))
def test_only_what_the_ledger_has_is_left_out(ranges, wanted, boot):
    ledger = Ledger({("ns-3", "0a1b2c3d", BOOT): LoadedBoot(merged(ranges))})
    segment = Segment("ns-3", "0a1b2c3d", boot, *wanted, True, 1, "j", "p")
    name = f"ns-3-0a1b2c3d-{boot}-{wanted[0]:012}-{wanted[1]:012}.jsonl.gz"
    if LoadedSegments(ledger).has(name):
        assert ledger.new([segment], lambda each: each) == []
    elif len(merged(ranges)) == 1:
        assert ledger.new([segment], lambda each: each) == [segment]


def test_a_complete_listing_is_valid_for_an_hour_and_only_of_its_folder(tmp_path: Path):
    warehouse, folder, other = open_folder(str(tmp_path)), ManyObjects(0, 1).folder, ManyObjects(0, 1).folder
    other.uri = "s3://other"
    CompleteListings(warehouse, lambda: 5).note([folder])
    for now_ms, wanted in (
        (4, []),
        (5, [folder]),
        (LISTED_EVERY_MS + 4, [folder]),
        (LISTED_EVERY_MS + 5, []),
    ):
        assert (
            CompleteListings(warehouse, lambda now_ms=now_ms: now_ms).still_valid([folder, other]) == wanted
        )
    assert "secret" not in (tmp_path / "listed.json").read_text()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": null}', b'{"a": Infinity}', b"\xff"])
def test_a_damaged_note_means_a_complete_listing(content, tmp_path: Path):
    (tmp_path / "listed.json").write_bytes(content)
    folder = ManyObjects(0, 1).folder
    assert CompleteListings(open_folder(str(tmp_path)), lambda: 0).still_valid([folder]) == []
