"""What is new, by ranges of records; checked against sets of numbers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.pipeline.contract import VERSION
from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.ingest.ledger import (
    Ledger,
    LoadedBoot,
    RecordRange,
    Tried,
    covers,
    merged,
    overlapping,
    touches,
)
from namekeeper.pipeline.ingest.segments import Segment
from namekeeper.pipeline.store.checked_json import encode_checked

KEY = ("ns", "0a1b2c3d", 5)
RANGES = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))), max_size=8
)


def segment(
    first: int, last: int, *, key=KEY, size: int = 9, journal: str = "j", compressed: bool = True
) -> Segment:
    name = f"{'-'.join(map(str, key))}-{first}-{last}" + (".gz" if compressed else "")
    return Segment(*key, first, last, compressed, size, journal, name)


def numbers(ranges) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


def new(ledger: Ledger, *segments: Segment) -> list[Segment]:
    return ledger.new(segments, lambda each: each)


@given(RANGES, st.integers(1, 50), st.integers(0, 9))
def test_ranges_are_sets_of_numbers(ranges, first, more):
    packed = merged(ranges)
    assert numbers(packed) == numbers(ranges)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(packed))
    wanted = set(range(first, first + more + 1))
    assert covers(packed, (first, first + more)) == (wanted <= numbers(ranges))
    assert touches(packed, (first, first + more)) == bool(wanted & numbers(ranges))


@given(RANGES, RANGES)
def test_what_is_new_is_what_is_not_covered_and_nothing_is_lost(known, listed):
    ledger = Ledger({KEY: LoadedBoot(merged(known))})
    chosen = new(ledger, *(segment(*each) for each in listed))
    taken = [(each.first_seq, each.last_seq) for each in chosen]
    assert numbers(listed) - numbers(known) <= numbers(taken) <= numbers(listed)
    assert all(not covers(merged(known), each) for each in taken)


@given(RANGES, RANGES)
def test_overlaps_are_found(known, listed):
    ranges = [RecordRange(KEY, *each, str(number)) for number, each in enumerate(listed)]
    wanted = {
        one.file
        for one in ranges
        if numbers([one[1:3]]) & numbers(known)
        or any(other is not one and numbers([one[1:3]]) & numbers([other[1:3]]) for other in ranges)
    }
    assert overlapping(Ledger({KEY: LoadedBoot(merged(known))}), ranges) == wanted
    assert overlapping(Ledger({KEY: LoadedBoot(parts=merged(known))}), ranges) == wanted


def test_a_segment_that_is_in_is_known_by_any_name_size_and_cut():
    ledger = Ledger().with_segments([segment(1, 100)], [], [])
    assert new(ledger, segment(1, 100, size=1, compressed=False), segment(20, 30)) == []
    assert new(ledger, segment(101, 110), segment(90, 101)) == [segment(90, 101), segment(101, 110)]
    assert new(ledger, segment(1, 100, key=("ns", "ffffffff", 5))) != []


def test_it_counts_what_is_in():
    ledger = Ledger().with_segments(
        [segment(1, 100), segment(50, 120)], [RecordRange(KEY, 200, 300, "f")], []
    )
    assert (Ledger().records, ledger.records) == (0, 120)


def test_of_copies_one_is_read_and_the_next_if_it_was_not_whole():
    large, small = segment(1, 100, size=50), segment(1, 100, size=40, journal="k")
    assert new(Ledger(), small, large) == [large]
    ledger = Ledger().with_segments([], [RecordRange(KEY, 1, 60, large.file)], [large])
    assert new(ledger, small, large) == [small]
    assert overlapping(ledger, [RecordRange(KEY, 1, 100, small.file)]) == {small.file}
    assert new(ledger.with_segments([], [], [small]), small, large) == []


def test_a_reader_that_knows_more_reads_again():
    tried = Tried(KEY, 1, 100, 9, VERSION - 1)
    assert new(Ledger(tried=frozenset([tried])), segment(1, 100)) == [segment(1, 100)]


def test_a_refused_journal_is_never_new():
    assert new(Ledger(refused=frozenset([KEY[:2]])), segment(1, 5)) == []


def test_it_is_written_and_read():
    ledger = (
        Ledger(refused=frozenset([("ns", "ffffffff")]))
        .with_segments([segment(1, 5), segment(9, 12)], [RecordRange(KEY, 20, 30, "f")], [segment(20, 40)])
        .with_times({KEY: 77})
        .with_waiting([KEY], [KEY])
    )
    assert ledger.boots == {KEY: LoadedBoot(((1, 5), (9, 12)), ((20, 30),), 77, waiting=True)}
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert ledger.with_waiting([KEY], []).boots[KEY].waiting is False


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("lives", [7, "u", 1, [], [], 0, False]),
        ("lives", ["ns", "u", "1", [], [], 0, False]),
        ("lives", ["ns", "u", 1, [["1", "2"]], [], 0, False]),
        ("lives", ["ns", "u", 1, [], [[1, None]], 0, False]),
        ("lives", ["ns", "u", 1, [], [], "0", False]),
        ("tried", ["ns", "u", 1, 1, 2, "3", 4]),
        ("tried", ["ns", None, 1, 1, 2, 3, 4]),
        ("refused", ["ns", 5]),
    ],
)
def test_values_of_other_types_are_damage(name, row):
    members = {"lives": [], "tried": [], "refused": [], name: [row]}
    with pytest.raises(WarehouseError, match="rebuilt from the facts"):
        Ledger.from_json(encode_checked(members))


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'{"lives":[[1]],"tried":[],"refused":[]}', b"\0"])
def test_a_damaged_one_says_what_to_do(data):
    with pytest.raises(WarehouseError, match="rebuilt from the facts"):
        Ledger.from_json(data)
