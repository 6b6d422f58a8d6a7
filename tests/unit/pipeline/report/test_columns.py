"""Columns and words that sections share."""

from namekeeper.pipeline.report.columns import count_of_rows, duration_column


def test_a_limit_that_was_reached_is_said():
    rows = [{}] * 3
    assert [count_of_rows(rows, "broker", limit) for limit in (4, 3)] == ["3 brokers", "at least 3 brokers"]
    assert count_of_rows(rows[:1], "broker") == "1 broker"


def test_durations_are_numbers_in_words():
    column = duration_column("down_ms", "down")
    assert column.is_number
    assert [column.show(ms, "UTC") for ms in (None, 0, 90_000)] == ["", "0", "1 min 30 s"]
