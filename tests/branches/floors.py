"""Adds up branches by package, and compares them with the floors."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

__all__ = ["FLOORS", "Branches", "below", "by_package", "missed", "only", "read_floors", "write_floors"]

V = TypeVar("V")

FLOORS = Path(__file__).with_name("floors.json")
"""Package -> percent of its branches that the unit tests take, rounded down. `--write` writes it."""
ROOT = "src/namekeeper"


class Branches(NamedTuple):
    """Branches of a package."""

    all: int
    taken: int

    @property
    def percent(self) -> float:
        """How many of 100 are taken."""
        return 100 * self.taken / self.all


def by_package(report: Mapping[str, Any]) -> dict[str, Branches]:
    """The branches of each folder with modules, from a JSON report of coverage.py."""
    found: dict[str, Branches] = {}
    for name, file in sorted(report["files"].items()):
        package = _package_of(name)
        summary = file["summary"]
        all_, taken = found.get(package, (0, 0))
        found[package] = Branches(all_ + summary["num_branches"], taken + summary["covered_branches"])
    return {package: branches for package, branches in found.items() if branches.all}


def only(found: Mapping[str, V], folders: Iterable[str]) -> dict[str, V]:
    """The packages that are one of some folders, or in one."""
    names = {*folders}
    return {
        package: value
        for package, value in found.items()
        if not names.isdisjoint([package, *map(str, PurePosixPath(package).parents)])
    }


def missed(report: Mapping[str, Any], packages: Container[str]) -> Iterator[str]:
    """A line for each branch that no test takes: its module, and the lines from which and to which it goes."""
    for name, file in sorted(report["files"].items()):
        if _package_of(name) in packages:
            yield from (f"{name}:{line} -> {to}" for line, to in file["missing_branches"])


def below(found: Mapping[str, Branches], floors: Mapping[str, int]) -> list[str]:
    """A line for each package that is below its floor or has none, and for each floor without a package."""
    lines = [
        f"{package}: {branches.percent:.1f} % of {branches.all} branches, at least {floors[package]} % are wanted"
        for package, branches in found.items()
        if branches.percent < floors.get(package, 0)
    ]
    lines += [f"{package}: no floor; run with --write" for package in _without(found, floors)]
    return lines + [f"{package}: no such package; run with --write" for package in _without(floors, found)]


def _package_of(name: str) -> str:
    return str(PurePosixPath(name).relative_to(ROOT).parent)


def _without(names: Iterable[str], others: Mapping[str, object]) -> list[str]:
    return sorted(set(names) - others.keys())


def read_floors() -> dict[str, int]:
    """The floors in the file."""
    floors: dict[str, int] = json.loads(FLOORS.read_text())
    return floors


def write_floors(found: Mapping[str, Branches]) -> None:
    """Have the floors be what was found."""
    floors = {package: int(branches.percent) for package, branches in sorted(found.items())}
    FLOORS.write_text(json.dumps(floors, indent=2) + "\n")
