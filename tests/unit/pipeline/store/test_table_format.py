"""Versions of tables, as Iceberg and Delta tell of them; against the real ones in tests/spark/test_iceberg.py."""

from types import SimpleNamespace

import pytest

from namekeeper.pipeline.store.table_format import FORMATS, TableName, VersionChange, literal, same_rows

TABLE = TableName("nk.a-b", "events")


class Answering:
    """A session that answers each query with the rows given for its first words."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def sql(self, query):
        self.asked.append(query)
        rows = self.answers.get(query.split()[0].lower(), [])
        return SimpleNamespace(collect=lambda: [SimpleNamespace(**row) for row in rows])


def snapshots(*rows):
    return Answering(
        select=[{"snapshot_id": at, "parent_id": parent, "operation": what} for at, parent, what in rows]
    )


def history(*operations):
    rows = [{"version": number, "operation": what} for number, what in enumerate(operations)]
    return Answering(describe=rows[::-1])


def test_a_name_is_quoted():
    assert TABLE.sql == "`nk`.`a-b`.`events`"
    assert literal("it's \\") == r"'it\'s \\'"


@pytest.mark.parametrize(("value", "head"), [("none", None), ("9007199254740993", 9007199254740993)])
def test_the_head_of_an_iceberg_table(value, head):
    spark = Answering(show=[{"key": "current-snapshot-id", "value": value}])
    assert FORMATS["iceberg"].head(spark, TABLE) == head


def test_the_head_of_a_delta_table():
    assert FORMATS["delta"].head(Answering(describe=[{"version": 7}]), TABLE) == 7


def test_changes_of_an_iceberg_table_are_those_between_two_snapshots():
    spark = snapshots((1, None, "append"), (2, 1, "replace"), (5, 1, "append"), (6, 5, "delete"))
    changes = FORMATS["iceberg"].changes
    assert changes(spark, TABLE, 1, 6) == [
        VersionChange(5, is_upkeep=False),
        VersionChange(6, is_upkeep=False),
    ]
    assert changes(spark, TABLE, 1, 2) == [VersionChange(2, is_upkeep=True)]
    assert changes(spark, TABLE, None, 1) == [VersionChange(1, is_upkeep=False)]
    assert changes(spark, TABLE, 2, 6) is None, "it was gone back behind 2"
    assert changes(spark, TABLE, 6, None) is None
    assert not changes(spark, TABLE, 6, 6)


def test_the_first_snapshot_may_be_dropped_but_not_one_in_between():
    changes = FORMATS["iceberg"].changes
    assert changes(snapshots((2, 1, "replace")), TABLE, 1, 2) == [VersionChange(2, is_upkeep=True)]
    assert changes(snapshots((3, 2, "replace")), TABLE, 1, 3) is None


def test_changes_of_a_delta_table_are_those_of_its_history():
    spark = history("CREATE TABLE", "WRITE", "OPTIMIZE", "WRITE")
    changes = FORMATS["delta"].changes
    assert changes(spark, TABLE, 1, 3) == [
        VersionChange(2, is_upkeep=True),
        VersionChange(3, is_upkeep=False),
    ]
    assert not changes(spark, TABLE, 3, 3)
    assert changes(spark, TABLE, 3, 1) is None, "another table of this name"
    assert changes(spark, TABLE, 2, 9) is None, "its history does not go so far"


def test_the_rows_of_a_version_are_in_those_that_upkeep_made_of_it():
    upkeep, write = VersionChange(2, is_upkeep=True), VersionChange(4, is_upkeep=False)
    assert same_rows(1, ()) == same_rows(1, None) == same_rows(1, [write, upkeep]) == 1
    assert same_rows(1, [upkeep, VersionChange(3, is_upkeep=True), write]) == 3


def test_going_back_says_where_to():
    spark = Answering()
    FORMATS["iceberg"].go_back(spark, TABLE, 5)
    FORMATS["delta"].go_back(spark, TABLE, 5)
    assert spark.asked == [
        "CALL `nk`.system.set_current_snapshot('`a-b`.`events`', 5)",
        "RESTORE TABLE `nk`.`a-b`.`events` TO VERSION AS OF 5",
    ]
