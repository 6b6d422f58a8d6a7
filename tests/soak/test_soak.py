"""The verdict of a long run can fail; and a short run goes through all of it."""

import pytest

from tests.soak import __main__ as soak
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


@pytest.mark.slow
def test_a_server_that_leaks_is_found(capsys):
    assert soak.main(["--seconds", "20", "--leaking"]) == 1
    assert "server: descriptors grew" in capsys.readouterr().out
