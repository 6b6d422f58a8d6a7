"""The list of known bugs is whole, and a bug that survives is noticed."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

import tests.conftest
from namekeeper.pipeline.gold.sql_text import raw_text
from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.run import (
    FAILED,
    HUNG,
    PASSED,
    Outcome,
    copy_sources,
    judge,
    run_mutant,
    run_tests,
    that_caught,
)
from tests.mutants.sql_catalogue import SQL_MUTANTS

BUG = Mutant("bug", "x.py", "return 1", "return 2", "one is one", ("test_x.py",))


def test_the_text_of_each_occurs_once_and_its_tests_are_there():
    """One test for all, because each of hundreds would take longer to collect than to run."""
    assert [problem for mutant in MUTANTS for problem in problems_of(mutant)] == []


def problems_of(mutant: Mutant) -> list[str]:
    try:
        ast.parse(mutant.text())
    except (ValueError, SyntaxError) as error:
        return [f"{mutant.name}: {error}"]
    found = [] if mutant.rule and mutant.old != mutant.new else [f"{mutant.name}: no rule, or no change"]
    files = (test.partition("::")[0] for test in mutant.tests)
    return found + [
        f"{mutant.name}: no {file}" for file in files if not (ROOT / "tests" / "unit" / file).is_file()
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"old": "no such text"}, "bug: .*0 times"),
        ({"new": "def"}, "bug: .*invalid syntax"),
        ({"rule": ""}, "bug: no rule"),
        ({"tests": ("kvconfig/test_gone.py::test_it",)}, "bug: no kvconfig/test_gone.py"),
    ],
)
def test_a_mutant_that_cannot_be_seeded_is_named(change, problem):
    store = Mutant(
        "bug",
        "kvconfig/store.py",
        "self._count -= 1",
        "self._count -= 2",
        "a rule",
        ("kvconfig/test_store.py",),
    )
    assert problems_of(store) == []
    (found,) = problems_of(dataclasses.replace(store, **change))
    assert re.match(problem, found), found


@pytest.mark.parametrize("mutant", SQL_MUTANTS, ids=lambda mutant: mutant.name)
def test_the_text_of_each_in_sql_occurs_once(mutant):
    assert mutant.text() != raw_text(mutant.query)


def test_names_are_unique():
    for mutants in (MUTANTS, SQL_MUTANTS):
        assert len({mutant.name for mutant in mutants}) == len(mutants)


def test_a_failing_test_catches_a_mutant():
    verdict = judge(BUG, Outcome(1, "1 failed\nFAILED tests/unit/test_x.py::test_one[1-a] - assert\n", 2.0))
    assert (verdict.caught_by, verdict.problem, verdict.seconds) == ("test_x.py::test_one[1-a]", None, 2.0)


def test_what_has_to_pass_without_a_mutant_are_the_tests_that_caught_one():
    failed = "FAILED tests/unit/test_x.py::test_one[a b] - assert\n"
    caught, survived = judge(BUG, Outcome(1, failed, 1.0)), judge(BUG, Outcome(0, "1 passed", 1.0))
    assert that_caught([caught, survived, caught], by_limit=False) == (
        f"{ROOT}/tests/unit/test_x.py::test_one",
    )
    assert that_caught([survived], by_limit=False) == ()


def test_what_took_too_long_with_a_mutant_must_not_take_so_long_without():
    late = "FAILED tests/unit/test_x.py::test_one - Failed: Timeout (>30.0s) from pytest-timeout.\n"
    verdicts = [judge(BUG, Outcome(1, late, 31.0)), judge(BUG, Outcome(HUNG, "no end", 300.0))]
    assert that_caught(verdicts, by_limit=True) == (f"{ROOT}/tests/unit/test_x.py::test_one", "test_x.py")
    assert that_caught(verdicts, by_limit=False) == ()


@pytest.mark.parametrize(("said", "status"), [("True", PASSED), ("False", FAILED)])
def test_a_single_test_runs_without_a_mutant_and_may_fail(tmp_path, said, status):
    test = tmp_path / "test_it.py"
    test.write_text(f"def test_it():\n    assert {said}\n\n\ndef test_another():\n    assert False\n")
    assert run_tests(copy_sources(tmp_path), (f"{test}::test_it",)).status == status


def test_a_fixture_may_take_longer_than_a_test(tmp_path):
    fixture = "import time\n\nimport pytest\n\n\n@pytest.fixture\ndef slow():\n    time.sleep(1.5)\n\n\n"
    test = tmp_path / "test_it.py"
    test.write_text(
        f"{fixture}def test_it(slow):\n    assert True\n\n\ndef test_slow():\n    time.sleep(9)\n"
    )
    sources = copy_sources(tmp_path)
    assert run_tests(sources, (f"{test}::test_it",), timeout=1).status == PASSED
    slow = run_tests(sources, (f"{test}::test_slow",), timeout=1)
    assert (slow.status, judge(BUG, slow).is_by_limit) == (FAILED, True)


def test_tests_that_hang_catch_a_mutant():
    verdict = judge(BUG, Outcome(HUNG, "no end after 300 s", 300.0))
    assert (verdict.caught_by, verdict.problem) == ("a run that hangs", None)


def test_an_asynchronous_test_that_hangs_catches_a_mutant_though_it_is_not_listed():
    output = "    | Failed: Timeout (>30.0s) from pytest-timeout.\n    +-----------\n"
    verdict = judge(BUG, Outcome(1, output, 34.6))
    assert (verdict.caught_by, verdict.problem) == ("a run that hangs", None)


def test_tests_that_pass_let_it_survive():
    assert judge(BUG, Outcome(0, "1 passed", 1.0)).problem == "SURVIVED"


@pytest.mark.parametrize("status", [2, 4, 5, 99, -1])
def test_tests_that_did_not_run_catch_nothing(status):
    verdict = judge(BUG, Outcome(status, "what\nimported the checkout", 1.0))
    assert (verdict.caught_by, verdict.problem) == (
        None,
        f"pytest ended with {status}: imported the checkout",
    )


@pytest.mark.parametrize("text", ["return 3\n", "return 1\nreturn 1\n"])
def test_a_text_that_is_not_there_exactly_once_is_a_problem(tmp_path, text):
    package = tmp_path / "sources" / "namekeeper"
    package.mkdir(parents=True)
    (package / "x.py").write_text(text)
    verdict = run_mutant(BUG, tmp_path / "sources", tmp_path / "own")
    assert verdict.problem.startswith("bug: its text occurs ")


def test_the_checkout_is_copied_and_left_alone(tmp_path):
    copy = copy_sources(tmp_path)
    mutant = MUTANTS[0]
    path = mutant.path_in(copy)
    path.write_text(mutant.text(copy))
    assert mutant.new in path.read_text()
    assert Path(mutant.path_in(ROOT / "src")).read_text().count(mutant.old) == 1


def test_tests_run_without_the_plugins_that_a_mutant_s_run_leaves_out():
    """A hook of a plugin that is not loaded ends the run, unless the hook is marked as optional."""
    hook = tests.conftest.pytest_xdist_auto_num_workers
    assert hook.pytest_impl["optionalhook"]
