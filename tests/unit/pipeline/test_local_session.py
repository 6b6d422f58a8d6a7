"""How many partitions a local session has; sessions themselves are in tests/spark."""

import os

import pytest

from namekeeper.pipeline.local_session import _changes, _environment, partitions_for


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


@pytest.mark.parametrize(
    ("environment", "master", "changes"),
    [
        ({}, "local[*]", {"SPARK_HOME": None, "SPARK_LOCAL_IP": "127.0.0.1"}),
        ({"SPARK_HOME": "/gone"}, "spark://there:7077", {"SPARK_HOME": None}),
        ({"SPARK_LOCAL_IP": "10.0.0.1"}, "local[2]", {"SPARK_HOME": None, "SPARK_LOCAL_IP": "10.0.0.1"}),
        ({"SPARK_LOCAL_HOSTNAME": "here"}, "local[2]", {"SPARK_HOME": None}),
    ],
)
def test_spark_is_started_without_what_would_keep_it_from_starting(environment, master, changes):
    assert _changes(environment, "/java", master) == {"JAVA_HOME": "/java", **changes}


def test_the_environment_is_as_before_after_a_start(monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/gone")
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    with _environment({"SPARK_HOME": None, "SPARK_LOCAL_IP": "127.0.0.1"}):
        assert "SPARK_HOME" not in os.environ
        assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert os.environ["SPARK_HOME"] == "/gone"
    assert "SPARK_LOCAL_IP" not in os.environ
