"""Tests that share the session share a process."""

from pathlib import Path

from tests.spark.scheduling import ALONE, APART, group_of

HERE = Path(__file__).parent


def test_the_session_is_in_one_process_and_what_shares_nothing_does_not_wait_for_it():
    modules = {
        path.stem: group_of(f"tests/spark/{path.name}::test_it[a::b]") for path in HERE.glob("test_*.py")
    }
    assert {name for name, group in modules.items() if group != "session"} == ALONE | APART
    assert {modules[name] for name in APART} == APART
    assert group_of("tests/spark/test_processes.py::test_a") != group_of(
        "tests/spark/test_processes.py::test_b"
    )


def test_of_the_modules_apart_only_the_java_broker_starts_another_session_and_only_at_night():
    texts = {name: (HERE / f"{name}.py").read_text() for name in ALONE | APART}
    assert {name for name, text in texts.items() if "spark: SparkSession" in text} == set()
    asking = {name for name, text in texts.items() if 'getfixturevalue("spark")' in text}
    assert asking == {"test_java_broker"}
    assert "pytest.param(made_by_spark, marks=pytest.mark.long)" in texts["test_java_broker"]
    assert {name for name, text in texts.items() if "lawful: Lawful" in text} == set()
