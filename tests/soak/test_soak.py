"""The verdict of a long run can fail; and a short run goes through all of it."""

from dataclasses import replace

import pytest
from msgspec import structs

from namekeeper.drift.disagreement import KvSubject
from namekeeper.drift.lacking import DriftCause, LackingPeriod
from tests.soak import __main__ as soak
from tests.soak.drifts import Between, MadeDrift, Scrape, wrong_reports, wrong_scrapes
from tests.soak.verdict import Sample, complaints, table

FLAT = [Sample(100.0, 50, 9)] * 30


def grown(**more):
    last = {"memory_mib": 100.0, "descriptors": 50, "threads": 9, **more}
    return [*FLAT[:20], *[Sample(**last)] * 10]


def test_what_is_flat_is_no_complaint():
    assert complaints({"server": FLAT, "page": grown(memory_mib=112.0, descriptors=62, threads=13)}) == []


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (grown(memory_mib=113.0), "server: memory grew from 100 to 113 MiB"),
        (grown(descriptors=63), "server: descriptors grew from 50 to 63"),
        (grown(threads=14), "server: threads grew from 9 to 14"),
        (FLAT[:8], "server: only 8 samples: run it for longer"),
        ([], "server: only 0 samples: run it for longer"),
    ],
)
def test_what_grows_is_said(samples, said):
    assert complaints({"server": samples}) == [said]


def test_a_larger_process_may_grow_by_a_share():
    samples = [*[Sample(200.0, 9, 1)] * 20, *[Sample(219.0, 9, 1)] * 10]
    assert complaints({"page": samples}) == []
    assert "| page | 200 / 219 / 219 | 9 / 9 / 9 | 1 / 1 / 1 |" in table({"page": samples})


def test_what_fills_at_first_is_no_growth():
    samples = [*(Sample(float(number), number, 9) for number in range(20)), *[Sample(20.0, 20, 9)] * 40]
    assert complaints({"server": samples}) == []


MADE = MadeDrift(
    DriftCause.ORDER_DIFFERS, KvSubject("ORDER_TOPIC_CONFIG", "t"), frozenset({"ns-1"}),
    Between(100_000, 100_010), Between(170_000, 170_010),
)  # fmt: skip
REPORTED = LackingPeriod(MADE.subject, "ns-1", MADE.cause, 105_000, 9_000, 178_000, 0, is_open=False)


def test_a_drift_that_is_reported_within_its_windows_is_no_complaint():
    other = replace(MADE, start=Between(300_000, 300_010), end=None)
    later = structs.replace(REPORTED, since=301_000, to=400_000, is_open=True)
    assert wrong_reports([MADE, other], [later, REPORTED]) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "not reported once"),
        ([REPORTED, structs.replace(REPORTED, since=130_000)], "not reported once"),
        ([structs.replace(REPORTED, namesrv="ns-2")], "not reported once"),
        ([structs.replace(REPORTED, window_ms=4_000)], "the start is not in its window"),
        ([structs.replace(REPORTED, since=99_000)], "the start is not in its window"),
        ([structs.replace(REPORTED, since=116_000, window_ms=16_000)], "the window is longer than 15000 ms"),
        ([structs.replace(REPORTED, to=169_000)], "the end is wrong"),
        ([structs.replace(REPORTED, to=186_000)], "the end is wrong"),
        ([REPORTED, structs.replace(REPORTED, since=500_000, to=560_000)], "never made"),
    ],
)
def test_a_drift_that_is_not_reported_as_it_was_made_is_said(found, said):
    assert said in " ".join(wrong_reports([MADE], found))


def test_a_scrape_that_has_the_drift_of_its_time_is_no_complaint():
    kinds = frozenset({"order_differs"})
    times = [
        Scrape(99_000, frozenset()),
        Scrape(101_000, frozenset()),
        Scrape(150_000, kinds),
        Scrape(180_000, kinds),
    ]
    assert wrong_scrapes([MADE], times) == []


@pytest.mark.parametrize(
    "scrape",
    [
        Scrape(150_000, frozenset()),
        Scrape(150_000, frozenset({"order_differs", "kv_differs"})),
        Scrape(99_000, frozenset({"order_differs"})),
        Scrape(220_000, frozenset({"order_differs"})),
        Scrape(150_000, frozenset(), is_read=False),
    ],
)
def test_a_scrape_with_another_drift_is_said(scrape):
    assert len(wrong_scrapes([MADE], [scrape])) == 1


@pytest.mark.slow
def test_a_server_that_leaks_is_found(capsys):
    assert soak.main(["--seconds", "20", "--leaking"]) == 1
    assert "server: descriptors grew" in capsys.readouterr().out
