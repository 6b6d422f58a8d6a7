from collections.abc import Generator
from random import Random

import pytest

from namekeeper.common.slices import SORTED_SLICE, run_slices, sorted_in_slices


def test_all_slices_are_run_and_the_result_is_returned() -> None:
    seen = []

    def work() -> Generator[None, None, str]:
        for number in range(3):
            seen.append(number)
            yield
        return "done"

    assert run_slices(work()) == "done"
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("count", [0, 1, SORTED_SLICE, SORTED_SLICE + 1, 20 * SORTED_SLICE + 7])
def test_texts_are_sorted_in_slices(count: int) -> None:
    texts = [f"T{number}" for number in range(count)]
    Random(1).shuffle(texts)
    assert run_slices(sorted_in_slices(texts)) == sorted(texts)
    assert len(list(sorted_in_slices(texts))) >= count // SORTED_SLICE - 1
