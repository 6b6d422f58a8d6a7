"""Look-ups are counted by topic and told by the hour; who counts lets go when they are told."""

from namekeeper.journal.lookups import LookupCounts
from namekeeper.journal.record import ROWS_IN_A_RECORD


def test_counts_are_told_once():
    forgotten = []
    lookups = LookupCounts(lambda: forgotten.append(1))
    lookups.tally("A").count += 2
    lookups.tally("B").count += 1
    lookups.tally("A").count += 1
    (record,) = lookups.take(7)
    assert (record.hour, record.lookups) == (7, [("A", 3), ("B", 1)])
    assert forgotten == [1]
    lookups.tally("C").count += 1
    assert lookups.total == 5
    assert [record.lookups for record in lookups.take(8)] == [[("C", 1)]]
    assert lookups.total == 5
    assert list(lookups.take(8)) == []


def test_counting_begins_anew_when_it_is_asked_not_when_it_is_told():
    lookups = LookupCounts()
    lookups.tally("A").count += 1
    records = lookups.take(7)
    lookups.tally("A").count += 5
    assert [record.lookups for record in records] == [[("A", 1)]]
    assert [record.lookups for record in lookups.take(8)] == [[("A", 5)]]


def test_many_topics_are_several_records():
    lookups = LookupCounts()
    for number in range(ROWS_IN_A_RECORD + 1):
        lookups.tally(f"T{number}").count += 1
    assert [len(record.lookups) for record in lookups.take(0)] == [ROWS_IN_A_RECORD, 1]


def test_where_nobody_wants_to_know_nothing_is_kept():
    lookups = LookupCounts(is_on=False)
    lookups.tally("A").count += 1
    assert lookups.tally("B") is lookups.tally("A")
    assert list(lookups.take(0)) == []
    assert lookups.total == 1
