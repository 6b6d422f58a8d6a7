from collections.abc import Generator

from namekeeper.common.slices import run_slices


def test_all_slices_are_run_and_the_result_is_returned() -> None:
    seen = []

    def work() -> Generator[None, None, str]:
        for number in range(3):
            seen.append(number)
            yield
        return "done"

    assert run_slices(work()) == "done"
    assert seen == [0, 1, 2]
