"""The queries of histories, on a table of one key and one value."""

import pytest

from namekeeper.pipeline.gold.history import HistoryTable, computed_view, update_views
from namekeeper.pipeline.gold.plan import BEGINNING, FOREVER
from namekeeper.pipeline.table import Table, columns
from tests.support.pipeline.duck import Duck

COLUMNS = columns(
    "namesrv string: .", "name string: .", "value bigint: .", "valid_from bigint: .", "valid_to bigint: .",
    "from_boot bigint: .", "from_seq bigint: .", "from_cause string: .", "from_peer string: .",
    "from_window_ms bigint: .",
    "ended_by string: .", "to_boot bigint: .", "to_seq bigint: .", "to_cause string: .", "to_peer string: .", "to_window_ms bigint: .",
    "valid_to_day string: .",
)  # fmt: skip
THING = HistoryTable(
    Table("thing", "", "", ("namesrv", "name", "valid_from"), COLUMNS),
    "thing_recorded",
    ("name",),
    ("value",),
)
OVERLAPPING, MERGED, AFFECTED, REWRITTEN = update_views(THING, "history")
ARGS = {"forever": FOREVER, "zone": "UTC", "shortest_ms": 1}

RECORDED = (
    "namesrv string, boot bigint, place bigint, seq bigint, checkpoint bigint, cause string, peer string,"
    " window_ms bigint, name string, value bigint, gone boolean"
)
KNOWN = (
    "namesrv string, boot bigint, position bigint, eff_ts bigint, kind string, span bigint, span_to_ts bigint,"
    " span_ended_by string, to_boot bigint, to_position bigint"
)
PIECE = ", ".join(f"{column.name} {column.type}" for column in COLUMNS[:-1])
KEPT_RANGE = (
    "namesrv string, from_ts bigint, to_ts bigint, from_boot bigint, from_seq bigint, to_boot bigint,"
    " to_seq bigint"
)


@pytest.fixture
def duck() -> Duck:
    return Duck()


def computed(duck: Duck, recorded_rows: list[tuple], known: list[tuple]) -> list[tuple]:
    duck.put("thing_recorded", RECORDED, recorded_rows)
    duck.put("known_position", KNOWN, known)
    duck.define("computed_thing", computed_view(THING, "history").sql, ARGS)
    return sorted(
        (
            row["name"],
            row["value"],
            row["valid_from"],
            row["valid_to"],
            row["ended_by"],
            row["from_cause"],
            row["to_seq"],
        )
        for row in duck.rows("computed_thing")
    )


def position_of(
    seq: int, ts: int, *, to: tuple[int, str] = (FOREVER, None), boot: int = 1, span: int = 2
) -> tuple:
    return ("ns", boot, seq, ts, "", span, *to, None, None)


def recorded(
    name: str, value: int | None, seq: int, *, checkpoint: int | None = None, cause: str | None = "c"
) -> tuple:
    at = seq if checkpoint is None else checkpoint
    return (
        "ns",
        1,
        at,
        seq,
        checkpoint,
        None if checkpoint else cause,
        None,
        None,
        name,
        value,
        value is None,
    )


def test_a_row_holds_until_it_is_recorded_again_or_is_gone_or_the_knowledge_ends(duck: Duck):
    known = [
        position_of(2, 100, to=(900, "unknown")),
        position_of(9, 200, to=(900, "unknown")),
        position_of(12, 300, to=(900, "unknown")),
    ]
    rows = [
        recorded("a", 1, 3, checkpoint=2),
        recorded("a", 2, 9),
        recorded("b", 7, 4, checkpoint=2),
        recorded("b", None, 12),
    ]
    assert computed(duck, rows, known) == [
        ("a", 1, 100, 200, "changed", None, 9),
        ("a", 2, 200, 900, "unknown", "c", None),
        ("b", 7, 100, 300, "gone", None, 12),
    ]


def test_of_two_records_with_one_time_the_last_counts(duck: Duck):
    known = [position_of(2, 100), position_of(9, 200), position_of(10, 200), position_of(11, 200)]
    rows = [
        recorded("a", 1, 3, checkpoint=2),
        recorded("a", 2, 9),
        recorded("a", None, 10),
        recorded("a", 4, 11, cause="last"),
    ]
    assert computed(duck, rows, known) == [
        ("a", 1, 100, 200, "changed", None, 11),
        ("a", 4, 200, FOREVER, None, "last", None),
    ]


def test_rows_of_a_checkpoint_stand_at_its_begin_and_of_a_broken_one_nowhere(duck: Duck):
    known = [position_of(2, 100), position_of(5, 150), position_of(20, 300)]
    rows = [recorded("a", 1, 9, checkpoint=2), recorded("a", 2, 5), recorded("b", 9, 21, checkpoint=20)]
    assert [row[:4] for row in computed(duck, rows, known)] == [("a", 1, 100, 150), ("a", 2, 150, FOREVER)]


def piece(value: int, start: int, end: int | None, *, cause: str | None = None, name: str = "a") -> tuple:
    return (
        "ns",
        name,
        value,
        start,
        end,
        1,
        start,
        cause,
        None,
        None,
        "changed",
        1,
        end,
        f"end {end}",
        None,
        None,
    )


def merged(duck: Duck, new: list[tuple], old: list[tuple], left: list[tuple]) -> list[tuple]:
    duck.put("computed_thing", PIECE, new)
    duck.put("overlapping_thing", PIECE, old)
    duck.put("kept_range", KEPT_RANGE, left)
    duck.define("merged_thing", MERGED.sql, ARGS)
    names = ("value", "valid_from", "valid_to", "from_seq", "from_cause", "to_cause", "valid_to_day")
    return [
        tuple(row[name] for name in names)
        for row in sorted(duck.rows("merged_thing"), key=lambda r: r["valid_from"])
    ]


def test_what_goes_on_is_one_row_with_the_evidence_of_its_ends(duck: Duck):
    found = merged(
        duck,
        new=[piece(1, 500, 700, cause=None), piece(2, 700, FOREVER, cause="new")],
        old=[piece(1, 100, None, cause="register")],
        left=[("ns", BEGINNING, 500, None, None, 1, 500)],
    )
    assert found == [
        (1, 100, 700, 100, "register", "end 700", "1970-01-01"),
        (2, 700, None, 700, "new", f"end {FOREVER}", "open"),
    ]


def test_a_row_that_straddles_a_range_is_cut_and_its_rest_begins_with_the_checkpoint(duck: Duck):
    found = merged(
        duck,
        new=[piece(1, 300, 400), piece(3, 400, 600)],
        old=[piece(1, 100, 900, cause="register")],
        left=[("ns", BEGINNING, 300, None, None, 1, 300), ("ns", 600, FOREVER, 8, 77, None, None)],
    )
    assert [row[:5] for row in found] == [
        (1, 100, 400, 100, "register"), (3, 400, 600, 400, None), (1, 600, 900, 77, None),
    ]  # fmt: skip


def test_a_row_that_begins_where_a_range_does_keeps_its_evidence(duck: Duck):
    """The checkpoint confirms it in the very ms in which it was registered."""
    found = merged(
        duck,
        new=[piece(1, 500, FOREVER)],
        old=[piece(1, 500, None, cause="register")],
        left=[("ns", BEGINNING, 500, None, None, 1, 501)],
    )
    assert [row[:5] for row in found] == [(1, 500, None, 500, "register")]


def test_what_is_recorded_again_in_the_range_has_the_new_evidence(duck: Duck):
    """A late record comes before the one that began the row until now, in the ms in which the range begins."""
    found = merged(
        duck,
        new=[piece(1, 500, FOREVER, cause="late")],
        old=[piece(1, 500, None, cause="register")],
        left=[("ns", BEGINNING, 500, None, None, 1, 499)],
    )
    assert [row[:5] for row in found] == [(1, 500, None, 500, "late")]


def test_what_holds_for_no_time_any_more_separates_nothing(duck: Duck):
    """Until now it was unknown from the ms of the checkpoint on; the records that were missing have come."""
    found = merged(
        duck,
        new=[piece(1, 500, FOREVER)],
        old=[piece(1, 100, 500, cause="register"), piece(2, 500, None)],
        left=[("ns", BEGINNING, 500, None, None, 1, 501)],
    )
    assert [row[:5] for row in found] == [(1, 100, None, 100, "register")]


def test_short_rows_are_left_out_after_they_were_joined(duck: Duck):
    args = {**ARGS, "shortest_ms": 50}
    duck.put("computed_thing", PIECE, [piece(1, 0, 30), piece(1, 30, 60), piece(2, 60, 90)])
    duck.put("overlapping_thing", PIECE, [])
    duck.put("kept_range", KEPT_RANGE, [])
    duck.define("merged_thing", MERGED.sql, args)
    assert [(row["value"], row["valid_from"], row["valid_to"]) for row in duck.rows("merged_thing")] == [
        (1, 0, 60)
    ]


def test_partitions_that_are_written_again_keep_their_other_rows(duck: Duck):
    day = 86_400_000
    full = ", ".join(f"{column.name} {column.type}" for column in COLUMNS)
    stored = [
        (*piece(1, 100, 5 * day), "1970-01-06"),
        ("other", *piece(9, 100, 5 * day)[1:], "1970-01-06"),
        ("other", *piece(9, 100, 7 * day)[1:], "1970-01-08"),
    ]
    duck.put("old_thing", full, stored)
    duck.put("recompute_range", "namesrv string, from_ts bigint, to_ts bigint", [("ns", 4 * day, FOREVER)])
    duck.define("overlapping_thing", OVERLAPPING.sql, ARGS)
    duck.put("merged_thing", full, [(*piece(1, 100, 6 * day), "1970-01-07")])
    duck.define("affected_partition_thing", AFFECTED.sql, ARGS)
    assert sorted(row["day"] for row in duck.rows("affected_partition_thing")) == ["1970-01-06", "1970-01-07"]
    duck.define("new_thing", REWRITTEN.sql, ARGS)
    rows = sorted((row["namesrv"], row["value"], row["valid_to_day"]) for row in duck.rows("new_thing"))
    assert rows == [("ns", 1, "1970-01-07"), ("other", 9, "1970-01-06")]
