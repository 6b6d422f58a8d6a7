"""A change takes its own mutants along; the others are drawn."""

from dataclasses import dataclass

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.choice import Change, change_since, choose, options, take
from tests.mutants.sql_catalogue import SQL_MUTANTS

NOTHING = Change(frozenset(), "")


@dataclass(frozen=True)
class Bug:
    name: str
    files: frozenset[str] = frozenset()


BUGS = [Bug(f"bug-{number}", frozenset({f"{number}.py"})) for number in range(20)]


def names(chosen):
    return [each.name for each in chosen]


def test_a_file_that_changed_takes_its_mutants_along():
    change = Change(frozenset({"3.py", "11.py", "other.py"}), "")
    assert names(choose(BUGS, change, sample=0)) == ["bug-3", "bug-11"]


def test_a_mutant_that_is_new_in_the_list_is_tried():
    change = Change(frozenset({"catalogue.py"}), '+        "bug-1",\n')
    assert names(choose(BUGS, change, sample=0)) == ["bug-1"]


def test_the_sample_comes_on_top():
    chosen = names(choose(BUGS, Change(frozenset({"3.py"}), ""), sample=5))
    assert len(chosen) == 6
    assert "bug-3" in chosen


def test_a_file_with_many_mutants_takes_no_more_along_than_the_limit():
    change = Change(frozenset(f"{number}.py" for number in range(15)), '+        "bug-18",\n')
    chosen = names(choose(BUGS, change, sample=0, limit=4))
    assert len(chosen) == 4
    assert "bug-18" in chosen, "what is new comes first"
    assert len(choose(BUGS, change, sample=3, limit=4)) == 7
    assert len(choose(BUGS, change, sample=0)) == 16


def test_every_run_draws_the_same_sample():
    assert choose(BUGS, NOTHING, sample=5) == choose(BUGS, NOTHING, sample=5)
    assert choose(BUGS, NOTHING, sample=5, seed=1) != choose(BUGS, NOTHING, sample=5, seed=2)


def test_a_sample_larger_than_the_list_is_the_list():
    assert choose(BUGS, NOTHING, sample=100) == BUGS


def test_each_depends_on_the_file_that_it_changes():
    of_python = {each.name for each in MUTANTS if each.file.rpartition("/")[2] not in each.files}
    assert of_python | {each.name for each in SQL_MUTANTS if f"{each.query}.sql" not in each.files} == set()


def test_names_are_taken_as_they_are():
    assert names(take(BUGS, options("it", None, ["bug-2"]))) == ["bug-2"]
    assert take(BUGS, options("it", None, [])) == BUGS
    with pytest.raises(ValueError, match="unknown: bug-x; the names are in tests/mutants"):
        take(BUGS, options("it", None, ["bug-x"]))


def test_names_of_the_other_command_are_left_to_it():
    words = options("it", None, ["bug-2", SQL_MUTANTS[0].name])
    assert names(take(BUGS, words, others=SQL_MUTANTS)) == ["bug-2"]
    assert take(BUGS, options("it", None, [SQL_MUTANTS[0].name]), others=SQL_MUTANTS) == []


@pytest.mark.parametrize("words", [["bug-1", "--since", "HEAD"], ["--sample", "3"], ["--limit", "3"]])
def test_words_that_contradict_each_other_are_refused(words, capsys):
    with pytest.raises(SystemExit):
        options("it", None, words)
    assert "--since" in capsys.readouterr().err


def test_a_revision_that_git_does_not_know_leaves_a_sample(capsys):
    with pytest.raises(ValueError, match="git diff"):
        change_since("no-such-revision")
    assert len(take(BUGS, options("it", None, ["--since", "no-such-revision", "--sample", "4"]))) == 4
    said = capsys.readouterr().out
    assert "a sample is all there is" in said
    assert "4 of 20 mutants" in said


def test_the_properties_stay_within_the_limit_of_ci():
    """All of them are seeded into one file: without a limit, a change of it costs CI five minutes more."""
    change = Change(frozenset({"load.py"}), "")
    assert len(choose(MUTANTS, change, sample=0)) > 80
    assert len(choose(MUTANTS, change, sample=0, limit=40)) == 40
