"""Which segments go straight on."""

from namekeeper.pipeline.ingest.ledger import Ledger, LoadedBoot, RecordRange
from namekeeper.pipeline.ingest.segment_counts import BootRecords, SegmentCount
from namekeeper.pipeline.ingest.segments import Segment
from namekeeper.pipeline.ingest.sorting import sort_segments
from tests.unit.pipeline.ingest.test_segment_counts import group_of

KEY = ("ns", "0a1b2c3d", 5)


def segment(first: int, last: int) -> Segment:
    return Segment(*KEY, first, last, True, 1, "j", f"{first}-{last}")


def sorted_as(ledger: Ledger, **counts: SegmentCount):
    segments = [segment(*map(int, name[1:].split("_"))) for name in counts]
    by_name = {each.file: count for each, count in zip(segments, counts.values(), strict=True) if count.boots}
    found = sort_segments(segments, by_name, ledger)
    return [[each.file for each in part] for part in found[:4]], set(found.boots)


def whole(first: int, last: int, **others) -> SegmentCount:
    return SegmentCount((group_of(list(range(first, last + 1)), **others),))


def test_complete_segments_of_complete_changes_are_clean():
    assert sorted_as(Ledger(), s1_3=whole(1, 3), s4_9=whole(4, 9)) == (
        [["1-3", "4-9"], [], ["1-3", "4-9"], []], set(),
    )  # fmt: skip


def test_overlaps_and_cut_changes_do_not():
    assert sorted_as(Ledger(), s1_5=whole(1, 5), s4_9=whole(4, 9), s10_12=whole(10, 12, ends=False)) == (
        [[], ["1-5", "4-9", "10-12"], ["1-5", "4-9", "10-12"], []], {KEY},
    )  # fmt: skip


def test_nor_what_the_ledger_has_a_part_of_or_waits_for():
    for loaded in (LoadedBoot(((3, 3),)), LoadedBoot(parts=((2, 2),)), LoadedBoot(waiting=True)):
        assert sorted_as(Ledger({KEY: loaded}), s1_3=whole(1, 3))[0] == [[], ["1-3"], ["1-3"], []]


def test_a_file_with_another_name_is_seen_by_what_is_in_it():
    found, boots = sorted_as(Ledger(), s1_3=whole(1, 3), s50_52=whole(2, 3))
    assert found == [[], ["1-3", "50-52"], ["1-3"], ["50-52"]]
    assert boots == {KEY}


def test_an_unreadable_segment_is_neither_clean_nor_damaged():
    assert sorted_as(Ledger(), s1_3=SegmentCount()) == ([[], [], [], ["1-3"]], set())


def test_parts_are_what_was_read_of_those_that_are_not_whole():
    count = SegmentCount((group_of([1, 2]), BootRecords("other", 9, 1, 4, 4, 0, 0, 4, True, 1, 1, 0, 0)))
    found = sort_segments([segment(1, 3)], {"1-3": count}, Ledger())
    assert found.parts == [RecordRange(KEY, 1, 2, "1-3")]


def test_records_of_another_name_server_or_boot_than_the_name_says_are_of_no_boot():
    foreign = [BootRecords(*who, 3, 1, 3, 6, 14, 1, True, 1, 1, 0, 0) for who in (("other", 5), ("ns", 6))]
    counts = {"1-3": SegmentCount((*foreign, group_of([1, 2, 3]))), "4-6": SegmentCount((foreign[0],))}
    found = sort_segments([segment(1, 3), segment(4, 6)], counts, Ledger())
    assert [each.file for each in found.with_foreign] == ["1-3", "4-6"]
    assert found.damaged == found.incomplete == found.with_foreign
    assert set(found.boots) == {KEY}
