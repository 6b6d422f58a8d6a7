"""Tests that share the session share a process."""

from pathlib import Path

from tests.spark.scheduling import ALONE, APART, group_of

HERE = Path(__file__).parent


def test_the_session_is_in_one_process_and_nothing_else_waits_for_it():
    modules = {
        path.stem: group_of(f"tests/spark/{path.name}::test_it[a::b]") for path in HERE.glob("test_*.py")
    }
    assert {name for name, group in modules.items() if group != "session"} == ALONE | APART
    assert {modules[name] for name in APART} == APART
    assert group_of("tests/spark/test_processes.py::test_a") != group_of(
        "tests/spark/test_processes.py::test_b"
    )


def test_modules_apart_do_without_the_session():
    for name in ALONE | APART:
        text = (HERE / f"{name}.py").read_text()
        assert "spark: SparkSession" not in text
        assert "lawful: Lawful" not in text
