"""Instants as people write and read them."""

import contextlib
import time
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.answers.times import LONGEST_TEXT, instant_of, shown, zone_of
from namekeeper.errors import ConfigError

NOW = 1_769_829_120_000
"""2026-01-31T03:12:00Z."""
BERLIN = zone_of("Europe/Berlin")


@pytest.fixture
def local_zone(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-31T03:12:00Z", NOW),
        ("2026-01-31T03:12:00.250Z", NOW + 250),
        ("2026-01-31T04:12+01:00", NOW),
        ("2026-01-31 04:12", NOW),
        ("20260131T041200", NOW),
        ("2026-01-31", NOW - 4 * 3_600_000 - 12 * 60_000),
        ("now", NOW),
        (" 2 hours ago ", NOW - 7_200_000),
        ("90s ago", NOW - 90_000),
        ("1 day and 2 hours ago", NOW - 26 * 3_600_000),
        ("1.5 h ago", NOW - 5_400_000),
        ("04:12", NOW),
        ("04:13", NOW - 86_400_000 + 60_000),
        ("4:11:30", NOW - 30_000),
        ("100000 weeks ago", 0),
        ("10m", NOW - 600_000),
        ("-5m", NOW - 300_000),
        ("- 5 min", NOW - 300_000),
        ("2 hours", NOW - 7_200_000),
        ("1h30m", NOW - 5_400_000),
        ("2 h 5 min ago", NOW - 7_500_000),
        ("1769829120000", NOW),
        ("1769829120250", NOW + 250),
        ("yesterday 04:12", NOW - 86_400_000),
        ("Yesterday at 4:11:30", NOW - 86_400_000 - 30_000),
        ("today 04:13", NOW + 60_000),
        ("04:11:59.250", NOW - 750),
        ("03:12Z", NOW),
        ("2026-01-31 04:12:00.250 CET (03:12:00.250Z)", NOW + 250),
        ("2026-01-31 04:12:00.250 +0100 (03:12:00.250Z)", NOW + 250),
        ("2026-01-30 22:12:00.000 EST (2026-01-31 03:12:00.000Z)", NOW),
        ("2026-01-31 03:12:00.000 UTC", NOW),
        ("2026-01-31 04:12:00.000 CET", NOW),
        ("2026-01-31 04:12:00 +0100", NOW),
        ("2026-01-31 04:12:00.000 GMT+1 (03:12:00.000Z)", NOW),
        ("2026-01-31 11:12:00,GMT+8", NOW),
        ("2026-01-31 04:12:00+01:00", NOW),
        ("2026-01-31T03:12:00.000Z", NOW),
    ],
)
def test_ways_to_write_an_instant(text, ms):
    assert instant_of(text, now_ms=NOW, zone=BERLIN) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "25:00",
        "04:60",
        "2 parsecs ago",
        "ago",
        "2026-13-01",
        "1969-12-31T00:00Z",
        "3 ago",
        "1e9",
        "yesterday noon",
        "10 parsecs",
        "-",
        "2026-13-31 04:12:00 UTC",
        "2026-01-31 04:12:00 PST",
    ],
)
def test_what_is_no_instant_is_refused_by_name(text):
    with pytest.raises(ConfigError) as error:
        instant_of(text, now_ms=NOW, zone=UTC)
    assert text.removesuffix("ago").strip() in str(error.value)


def test_a_time_over_which_clocks_were_put_forward_is_none():
    with pytest.raises(ConfigError, match="does not exist"):
        instant_of("2026-03-29 02:30", now_ms=NOW, zone=BERLIN)


def test_a_time_that_happened_twice_must_say_which():
    with pytest.raises(ConfigError, match=r"write 2026-10-25T02:30:00\+02:00 or 2026-10-25T02:30:00\+01:00"):
        instant_of("2026-10-25 02:30", now_ms=NOW, zone=BERLIN)
    assert instant_of("2026-10-25T02:30:00+02:00", now_ms=NOW, zone=BERLIN) == 1_792_888_200_000


@pytest.mark.usefixtures("local_zone")
def test_without_a_zone_the_readers_own_counts():
    assert instant_of("2026-01-30 22:12", now_ms=NOW, zone=zone_of(None)) == NOW
    assert shown(NOW, None) == "2026-01-30 22:12:00.000 EST (2026-01-31 03:12:00.000Z)"


def test_an_instant_is_shown_in_both_zones():
    assert shown(NOW + 250, BERLIN) == "2026-01-31 04:12:00.250 CET (03:12:00.250Z)"
    assert shown(NOW, UTC) == "2026-01-31 03:12:00.000 UTC"
    assert shown(NOW, zone_of("-05:30")) == "2026-01-30 21:42:00.000 -0530 (2026-01-31 03:12:00.000Z)"


@pytest.mark.parametrize("ms", [-1, 2**53])
def test_a_time_that_no_calendar_has_is_shown_as_it_is(ms):
    assert shown(ms, BERLIN) == f"{ms} ms since 1970"


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "", "a\0b", "+25:00", "+02:75"])
def test_a_zone_that_does_not_exist_is_refused(name):
    with pytest.raises(ConfigError, match="there is no time zone"):
        zone_of(name)


@pytest.mark.parametrize("text", ["h ago", "2 hours x ago", "x ago", "2 parsecs ago"])
def test_a_distance_that_is_no_duration_is_refused(text):
    with pytest.raises(ConfigError, match="is no duration: write it as"):
        instant_of(text, now_ms=NOW, zone=UTC)


@given(
    st.integers(0, 4_000_000_000_000),
    st.sampled_from(["UTC", "Asia/Kathmandu", "America/New_York", "+14:00"]),
)
def test_what_is_shown_in_utc_can_be_read_again(ms, zone):
    text = shown(ms, zone_of("UTC")).removesuffix(" UTC") + "Z"
    assert instant_of(text, now_ms=ms, zone=zone_of(zone)) == ms


@given(st.text(max_size=30))
def test_any_text_is_an_instant_or_refused(text):
    with contextlib.suppress(ConfigError):
        assert instant_of(text, now_ms=NOW, zone=UTC) >= 0


def test_the_name_of_a_zone_tells_which_of_two_equal_times_it_is():
    instants = [
        instant_of(f"2026-10-25 02:30:00 {name}", now_ms=NOW, zone=BERLIN) for name in ("CEST", "CET")
    ]
    assert instants[1] - instants[0] == 3_600_000


@given(
    st.integers(0, 4_000_000_000_000), st.sampled_from(["Europe/Berlin", "Asia/Kathmandu", "UTC", "-03:30"])
)
def test_whatever_is_shown_is_read(ms, zone):
    assert instant_of(shown(ms, zone_of(zone)), now_ms=NOW, zone=UTC) == ms


@pytest.mark.parametrize(("length", "is_time"), [(LONGEST_TEXT, True), (LONGEST_TEXT + 1, False)])
def test_a_text_that_is_longer_than_any_time_is_refused(length, is_time):
    """The search in 8,000 letters held the loop of the console for a second."""
    text = f"{'2 hours':{length - 4}} ago"
    with contextlib.nullcontext() if is_time else pytest.raises(ConfigError, match="is not a time"):
        assert instant_of(text, now_ms=NOW, zone=UTC) == NOW - 2 * 3_600_000
