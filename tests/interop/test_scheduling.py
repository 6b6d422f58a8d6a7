"""Tests that share a Java process share a process of the run."""

import re
from pathlib import Path

from tests.interop.scheduling import BY_RELEASE, OF_THE_BROKER, WHOLE, group_of

HERE = Path(__file__).parent
TEXTS = {path.stem: path.read_text() for path in HERE.glob("test_*.py")}


def test_each_release_of_a_shared_java_process_has_one_group():
    for module in OF_THE_BROKER:
        assert group_of(f"tests/interop/{module}.py::test_it[5.5.0-a]") == "broker 5.5.0"
    for module in BY_RELEASE:
        assert group_of(f"tests/interop/{module}.py::test_it[4.8.0]") == f"{module} 4.8.0"
    for module in WHOLE:
        assert group_of(f"tests/unit/cli/{module}.py::test_it[topicList]") == module


def test_a_test_with_processes_of_its_own_waits_for_no_other():
    for name in ("test_restart.py::test_it[5.5.0]", "test_registrar_against_java.py::test_it[True]"):
        assert group_of(f"tests/interop/{name}") == f"tests/interop/{name}"


def test_every_module_that_shares_a_java_process_is_named():
    takes_broker = re.compile(r"^def test_\w+\([^)]*\bbroker\b", re.MULTILINE)
    by_release = re.compile(r'^@pytest\.fixture\(scope="module", params=VERSIONS\)', re.MULTILINE)
    assert {name for name, text in TEXTS.items() if takes_broker.search(text)} == OF_THE_BROKER
    assert {name for name, text in TEXTS.items() if by_release.search(text)} == BY_RELEASE
