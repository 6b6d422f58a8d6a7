"""Which mutants a run tries: all, some by name, or those that a change touches and a sample of the others.

A change touches a mutant if it changes the file that the mutant is seeded into, one of its tests, or the mutant itself.
CI takes that and a sample, which is the same for every commit: a commit never meets a survivor that is not its own
by chance. Some files have dozens of mutants, so CI limits how many touched ones it takes; new ones come first.
`make nightly` tries all of them.
"""

import argparse
import random
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

__all__ = ["Change", "Named", "change_since", "choose", "options", "take"]

ROOT = Path(__file__).resolve().parents[2]
MUTANTS_FOLDER = "tests/mutants"
SAMPLE_SEED = 1
"""Draws the sample."""


class Named(Protocol):
    """A mutant of Python or of SQL."""

    @property
    def name(self) -> str:
        """Unique among those of its kind."""

    @property
    def files(self) -> frozenset[str]:
        """Names of the files that it depends on, without folders: what it changes, and its tests."""


M = TypeVar("M", bound=Named)


class Change(NamedTuple):
    """What commits changed."""

    files: frozenset[str]
    """Without folders."""
    new_lines: str
    """That the commits brought into the lists of mutants."""


def change_since(revision: str) -> Change:
    """What changed between a revision and the files as they are now.

    Raises:
        ValueError: git does not know the revision, as in a clone without history.
    """
    names = _git("diff", "--name-only", revision)
    diff = _git("diff", "--unified=0", revision, "--", MUTANTS_FOLDER)
    new_lines = [line for line in diff.splitlines() if line.startswith("+")]
    return Change(frozenset(Path(name).name for name in names.splitlines()), "\n".join(new_lines))


def choose(
    mutants: Sequence[M], change: Change, *, sample: int, limit: int | None = None, seed: int = SAMPLE_SEED
) -> list[M]:
    """Those that the change touches, and `sample` of the others; in the order of the list.

    Args:
        mutants: All there are.
        change: What a commit changed.
        sample: How many others.
        limit: How many touched ones at most: first those that are new in the list, then drawn ones.
        seed: Draws.
    """
    new = [each.name for each in mutants if f'"{each.name}"' in change.new_lines]
    touched = [each.name for each in mutants if each.files & change.files and each.name not in new]
    others = [each.name for each in mutants if each.name not in {*new, *touched}]
    rng = random.Random(seed)
    drawn = rng.sample(others, min(sample, len(others)))
    taken = [*_shuffled(new, rng), *_shuffled(touched, rng)][:limit]
    return [each for each in mutants if each.name in {*taken, *drawn}]


def options(prog: str, about: str | None, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to run; all if none is given")
    parser.add_argument(
        "--since", metavar="REVISION", help="only those that changes since then touch, and --sample others"
    )
    parser.add_argument("--sample", type=int, default=0, help="how many others (default: none)")
    parser.add_argument("--limit", type=int, help="with --since: how many touched ones at most")
    found = parser.parse_args(arguments)
    if found.names and found.since:
        parser.error("give names or --since, not both")
    if found.sample and not found.since:
        parser.error("--sample says how many others to take with --since")
    if found.limit is not None and not found.since:
        parser.error("--limit says how many to take with --since")
    return found


def take(mutants: Sequence[M], wanted: argparse.Namespace, *, others: Iterable[Named] = ()) -> list[M]:
    """Those that the command line asks for; says which if it is a choice.

    Args:
        mutants: All of this command.
        wanted: The command line.
        others: Those of another command that gets the same names (`make mutants`): they are known, and not taken.

    Raises:
        ValueError: A name is unknown.
    """
    if unknown := set(wanted.names) - {each.name for each in mutants} - {each.name for each in others}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; the names are in {MUTANTS_FOLDER}")
    if wanted.names:
        return [mutant for mutant in mutants if mutant.name in wanted.names]
    if wanted.since is None:
        return list(mutants)
    try:
        change = change_since(wanted.since)
    except ValueError as error:
        print(f"{error}; a sample is all there is")
        change = Change(frozenset(), "")
    chosen = choose(mutants, change, sample=wanted.sample, limit=wanted.limit)
    touched = len(choose(mutants, change, sample=0))
    taken = len(choose(mutants, change, sample=0, limit=wanted.limit))
    print(f"{len(chosen)} of {len(mutants)} mutants: {_names(chosen)}")
    print(
        f"{taken} of them are of the {touched} that the change touches, the others are a sample", flush=True
    )
    return chosen


def _shuffled(names: Sequence[str], rng: random.Random) -> list[str]:
    return rng.sample(names, len(names))


def _names(mutants: Iterable[Named]) -> str:
    return " ".join(mutant.name for mutant in mutants)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
