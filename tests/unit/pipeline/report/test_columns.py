"""Columns that sections share."""

from namekeeper.pipeline.report.columns import duration_column


def test_durations_are_numbers_in_words():
    column = duration_column("down_ms", "down")
    assert column.is_number
    assert [column.show(ms, "UTC") for ms in (None, 0, 90_000)] == ["", "0", "1 min 30 s"]
