"""Times as people read them."""

import pytest

from namekeeper.pipeline.report.times import (
    needs_milliseconds,
    shown_local,
    shown_milliseconds,
    shown_share,
    shown_time,
)


def test_an_instant_has_its_zone():
    assert shown_time(1_772_323_200_000, "Europe/Berlin") == "2026-03-01 01:00:00+01:00"
    assert shown_time(1_772_323_200_000, "UTC") == "2026-03-01 00:00:00Z"
    assert shown_time(None, "UTC") == ""


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0"),
        (7, "7 ms"),
        (61_500, "1 min 1 s"),
        (None, ""),
    ],
)
def test_a_duration_of_zero_has_no_unit_and_none_is_empty(ms, text):
    assert shown_milliseconds(ms) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100.000 %"), (0.9999999, "99.999 %"), (0.5, "50.000 %"), (0.0, "0.000 %"), (None, "")],
)
def test_less_than_all_is_never_shown_as_all(share, text):
    assert shown_share(share) == text


def test_a_local_time_has_milliseconds_if_they_are_wanted_and_no_zone():
    assert shown_local(1_772_323_200_007, "Asia/Kolkata") == "2026-03-01 05:30:00"
    assert shown_local(1_772_323_200_007, "UTC", with_milliseconds=True) == "2026-03-01 00:00:00.007"
    assert shown_local(None, "UTC") == ""


def test_the_order_needs_milliseconds_if_two_instants_are_in_one_second():
    assert needs_milliseconds([1_000, 1_001])
    assert not needs_milliseconds([1_000, 1_000, 2_001])
    assert not needs_milliseconds([])
