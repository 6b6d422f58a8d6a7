"""One grammar of durations, for every command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.durations import parse_duration_ms, shown_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("60", 60_000), ("7", 7_000), (" 0.5s ", 500), ("90s", 90_000), ("250ms", 250), ("5m", 300_000),
        ("10 min", 600_000), ("1.5h", 5_400_000), ("1h30m", 5_400_000), ("2d", 172_800_000),
        ("1w", 604_800_000), ("2 hours", 7_200_000), ("1 day and 2 hours", 93_600_000),
        ("1 Day, 1 MINUTE", 86_460_000), ("0", 0),
    ],
)  # fmt: skip
def test_it_is_read(text, ms):
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "h",
        "-1",
        "-1s",
        "5x",
        "2 hours x",
        "soon",
        "nan",
        "inf",
        "infs",
        "1 2",
        "9" * 30 + "d",
        "\u0661x",
    ],
)
def test_anything_else_is_refused_with_examples(text):
    with pytest.raises(ValueError, match=r"is no duration: write it as 90s, 10m"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["0", "0s", "0.0001ms"])
def test_zero_is_refused_where_it_makes_no_sense(text):
    assert parse_duration_ms(text) == 0
    with pytest.raises(ValueError, match="is no duration above zero: write it as"):
        parse_duration_ms(text, above_zero=True)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"), (7, "7 ms"), (999, "999 ms"), (1_000, "1 s"), (3_400, "3.4 s"), (60_000, "1 min"),
        (61_500, "1 min 1 s"), (3_600_000, "1 h"), (7_500_000, "2 h 5 min"), (86_400_000, "1 d"),
        (90_061_000, "1 d 1 h"), (86_460_000, "1 d"),
    ],
)  # fmt: skip
def test_it_is_shown_in_its_two_largest_units(ms, text):
    assert shown_duration(ms) == text


@given(st.integers(0, 4_000_000_000_000))
def test_what_is_shown_can_be_read_and_lacks_only_smaller_units(ms):
    read = parse_duration_ms(shown_duration(ms))
    smaller = 3_600_000 if ms >= 86_400_000 else 60_000 if ms >= 3_600_000 else 1_000 if ms >= 60_000 else 1
    assert 0 <= ms - read < smaller
