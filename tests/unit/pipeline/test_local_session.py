"""How many partitions a local session has; sessions themselves are in tests/spark."""

import os

import pytest

from namekeeper.pipeline.local_session import partitions_for


@pytest.mark.parametrize(
    ("master", "partitions"),
    [("local[2]", 4), ("local[8]", 16), ("local[1]", 4), ("local-cluster[3,1,1024]", 6)],
)
def test_each_core_has_the_same_number_of_partitions_to_work_on(master: str, partitions: int):
    assert partitions_for(master) == partitions


def test_without_a_number_of_cores_it_is_that_of_the_machine():
    assert (
        partitions_for("local[*]")
        == partitions_for("spark://there:7077")
        == max(4, 2 * (os.cpu_count() or 1))
    )
