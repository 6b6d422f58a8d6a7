"""Adds up branches by package, and compares them with the floors."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

__all__ = ["FLOORS", "Branches", "below", "by_package", "read_floors", "write_floors"]

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
        package = str(PurePosixPath(name).relative_to(ROOT).parent)
        summary = file["summary"]
        all_, taken = found.get(package, (0, 0))
        found[package] = Branches(all_ + summary["num_branches"], taken + summary["covered_branches"])
    return {package: branches for package, branches in found.items() if branches.all}


def below(found: Mapping[str, Branches], floors: Mapping[str, int]) -> list[str]:
    """A line for each package that is below its floor or has none, and for each floor without a package."""
    lines = [
        f"{package}: {branches.percent:.1f} % of {branches.all} branches, at least {floors[package]} % are wanted"
        for package, branches in found.items()
        if branches.percent < floors.get(package, 0)
    ]
    lines += [f"{package}: no floor; run with --write" for package in _without(found, floors)]
    return lines + [f"{package}: no such package; run with --write" for package in _without(floors, found)]


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
