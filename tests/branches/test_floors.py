"""A package that is covered less than before is reported."""

import pytest

from tests.branches.floors import Branches, below, by_package, missed, only, read_floors
from tests.test_architecture import MODULES, tree_of


def file(branches: int, taken: int) -> dict[str, dict[str, int]]:
    return {"summary": {"num_branches": branches, "covered_branches": taken}}


def test_branches_are_added_up_by_folder():
    report = {
        "files": {
            "src/namekeeper/files.py": file(4, 3),
            "src/namekeeper/journal/disk/writer.py": file(10, 10),
            "src/namekeeper/journal/disk/folder.py": file(10, 5),
            "src/namekeeper/journal/journal.py": file(2, 1),
            "src/namekeeper/model/now.py": file(0, 0),
        }
    }
    assert by_package(report) == {
        ".": Branches(4, 3),
        "journal": Branches(2, 1),
        "journal/disk": Branches(20, 15),
    }


def test_a_folder_has_its_packages_alone():
    found = {".": 1, "cli": 2, "cli/commands": 3, "client": 4}
    assert only(found, ["cli"]) == {"cli": 2, "cli/commands": 3}
    assert only(found, ["cli/commands", "client"]) == {"cli/commands": 3, "client": 4}


def test_a_branch_that_no_test_takes_is_named():
    files = {"src/namekeeper/cli/group.py": {"missing_branches": [[7, 9], [7, -1]]}}
    report = {"files": {**files, "src/namekeeper/clock.py": {"missing_branches": [[3, 4]]}}}
    assert list(missed(report, {"cli"})) == [
        "src/namekeeper/cli/group.py:7 -> 9",
        "src/namekeeper/cli/group.py:7 -> -1",
    ]


@pytest.mark.parametrize(("taken", "is_below"), [(15, False), (16, False), (14, True)])
def test_less_than_the_floor_is_reported(taken: int, is_below: bool):
    lines = below({"journal/disk": Branches(20, taken)}, {"journal/disk": 75})
    assert lines == (["journal/disk: 70.0 % of 20 branches, at least 75 % are wanted"] if is_below else [])


def test_a_package_without_a_floor_and_a_floor_without_a_package_are_reported():
    assert below({"new": Branches(2, 2)}, {"old": 50}) == [
        "new: no floor; run with --write",
        "old: no such package; run with --write",
    ]


def test_the_floors_are_those_of_the_packages():
    """What has no branch has no floor, so a new package may be missing until the next run."""
    folders = {module.rpartition("/")[0] or "." for module in MODULES if tree_of(module).body[1:]}
    assert read_floors().keys() <= folders
    assert len(read_floors()) > len(folders) / 2
