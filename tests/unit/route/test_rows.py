"""Rows are shared values."""

from namekeeper.model.topic import QueueSpec
from namekeeper.route import rows
from namekeeper.route.events import TopicQueuesChanged
from namekeeper.route.rows import (
    ChangedTable,
    RowsBySpec,
    TableCopies,
    make_row,
    with_perm,
    without_write,
)
from namekeeper.route.tables import RouteTables

RW = QueueSpec(4, 4, 6, 0)
RO = QueueSpec(4, 4, 4, 0)


def test_equal_rows_are_one_object():
    assert make_row(QueueSpec(4, 4, 4, 0), QueueSpec(4, 4, 6, 0)) is make_row(RO, RW)
    assert make_row(RO, RW) is not make_row(RW, RW)


def test_a_flood_of_distinct_rows_is_not_kept(monkeypatch):
    monkeypatch.setattr(rows, "MAX_SHARED_ROWS", 3)
    monkeypatch.setattr(rows, "_shared_rows", {})
    for number in range(10):
        spec = QueueSpec(number, number, 6, 0)
        assert make_row(spec, spec).effective == spec
        assert len(rows._shared_rows) <= 3


def test_rows_of_specs_are_the_shared_ones():
    specs = [RW, RO, QueueSpec(4, 4, 6, 0), RW]
    for _ in range(2):
        found = RowsBySpec(strip_write=False).of(specs)
        assert all(row is make_row(spec, spec) for row, spec in zip(found, specs, strict=True))
    assert RowsBySpec(strip_write=True).of([RW, RO]) == [make_row(RO, RW), make_row(RO, RO)]


def test_a_spec_has_its_own_row_though_others_were_there_before_it():
    rows_by_spec = RowsBySpec(strip_write=False)
    for number in range(100):
        rows_by_spec.of([QueueSpec(4, 4, 6, 0)])  # its memory would be that of the next
        (row,) = rows_by_spec.of([QueueSpec(number, number, 6, 0)])
        assert row.registered == QueueSpec(number, number, 6, 0)


def test_rows_of_a_flood_of_distinct_specs_are_not_kept(monkeypatch):
    monkeypatch.setattr(rows, "MAX_SHARED_ROWS", 3)
    rows_by_spec = RowsBySpec(strip_write=False)
    for number in range(10):
        rows_by_spec.of([QueueSpec(number, number, 6, 0)])
        assert len(rows_by_spec._rows) == len(rows_by_spec._specs) <= 3


def test_another_permission_leaves_what_was_registered():
    row = with_perm(make_row(RW, RW), 7)
    assert (row.effective.perm, row.registered) == (7, RW)
    assert type(row.effective.perm) is int


def test_only_the_write_bit_is_taken():
    for perm, left in ((7, 5), (6, 4), (2, 0), (5, 5), (15, 13)):
        spec = QueueSpec(4, 4, perm, 0)
        row = without_write(make_row(spec, spec))
        assert (row.effective.perm, row.registered.perm) == (left, perm)


def changed_rows(before, change):
    table = ChangedTable(before)
    list(table.build(change))
    assert table.after.keys() == before.keys()
    return {topic: table.after[topic] for topic in table.changed}


def test_only_rows_that_become_different_are_changed():
    table = {"T1": make_row(RW, RW), "T2": make_row(RO, RO), "T3": make_row(RW, RW)}
    changed = changed_rows(table, without_write)
    assert changed == {"T1": make_row(RO, RW), "T3": make_row(RO, RW)}
    assert changed["T1"] is changed["T3"]


def test_a_shared_row_is_changed_once():
    calls = []

    def change(row):
        calls.append(row)
        return without_write(row)

    changed_rows({f"T{number}": make_row(RW, RW) for number in range(100)}, change)
    assert len(calls) == 1


def test_an_equal_row_that_is_another_object_is_no_change(monkeypatch):
    row = make_row(RO, RO)
    monkeypatch.setattr(rows, "_shared_rows", {})
    assert changed_rows({"T1": row}, without_write) == {}


def test_a_table_is_changed_in_slices_beside_the_old_one(monkeypatch):
    monkeypatch.setattr(rows, "CHANGED_SLICE", 2)
    before = {"T1": make_row(RW, RW), "T2": make_row(RO, RO), "T3": make_row(RW, RW)}
    table = ChangedTable(before)
    assert len(list(table.build(without_write))) == 1
    assert table.changed == ["T1", "T3"]
    assert table.after == {**before, "T1": make_row(RO, RW), "T3": make_row(RO, RW)}
    assert before["T1"] == make_row(RW, RW)


def test_a_copy_of_a_table_that_was_replaced_is_not_used():
    tables = RouteTables()
    row = make_row(RW, RW)
    tables.apply(TopicQueuesChanged("a", {}, {"T1": row}, ("T1",)))
    copies = TableCopies()
    list(copies.make(tables, ["a"]))
    tables.apply(TopicQueuesChanged("a", {}, {"T2": row}, ("T2",)))
    assert copies.take(tables, "a") == {"T2": row}
