"""The recorded frames: every code, both types of header and both forms of JSON; the native thread answers the same."""

import pytest

from tests.golden.questions import EXPECTED, FRAMES
from tests.golden.recorded_frames import CODES, SEEDS, codes_in, replay, requests_in


def test_every_code_with_both_types_of_header_and_of_versions_occurs():
    frames = [frame for seed in SEEDS for frame in requests_in(FRAMES / f"{seed}.txt")]
    assert codes_in(frames) == CODES
    assert {data[4] for _, data in frames} == {0, 1}
    texts = b"".join(data for _, data in frames)
    assert b'"version": 373' in texts
    assert b'"version": 513' in texts


@pytest.mark.parametrize("seed", SEEDS)
def test_successes_and_errors_occur(seed: str):
    answers = (EXPECTED / "frames" / f"{seed}.txt").read_text()
    assert '"code":0,' in answers
    assert '"code":17,' in answers


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_same_where_the_native_thread_gives_them(seed: str):
    pytest.importorskip("namekeeper_front", reason="make native builds it")
    answers, loans = replay(requests_in(FRAMES / f"{seed}.txt"), front="native")
    assert answers == (EXPECTED / "frames" / f"{seed}.txt").read_text()
    assert loans
