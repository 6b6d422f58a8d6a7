"""What was counted in an hour becomes records of limited size."""

from namekeeper.journal.contract.record import ROWS_IN_A_RECORD
from namekeeper.journal.recording.lookups import lookup_hours
from namekeeper.lookup_cache.counters import LookupCounter


def test_a_record_holds_topics_and_counts():
    (record,) = lookup_hours({"A": LookupCounter(3), "B": LookupCounter(1)}, 7)
    assert (record.hour, record.lookups) == (7, [("A", 3), ("B", 1)])


def test_without_look_ups_there_is_no_record():
    assert list(lookup_hours({}, 7)) == []


def test_many_topics_are_several_records():
    counters = {f"T{number}": LookupCounter(1) for number in range(ROWS_IN_A_RECORD + 1)}
    assert [len(record.lookups) for record in lookup_hours(counters, 0)] == [ROWS_IN_A_RECORD, 1]
