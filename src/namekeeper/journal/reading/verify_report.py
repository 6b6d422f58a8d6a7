"""The result of checking a journal: its boots, its losses, and each problem."""

import re

from msgspec import Struct, field

from namekeeper.journal.contract.complete_changes import INCOMPLETE_CHANGE, NOTHING_BEFORE

__all__ = ["BootReport", "VerifyProblem", "VerifyReport"]

MAX_PROBLEMS = 1_000
"""Groups of problems that are kept; a broken disk can cause millions."""

_NUMBER = re.compile(r"[0-9]+")


class VerifyProblem(Struct):
    """A problem at one line, at several lines in a row, or with one file."""

    file: str
    line: int
    """From 1; 0 for a problem with the file."""
    what: str
    """The problem of the first line; those of the other lines differ only in numbers."""
    lines: int = 1
    """Number of lines in a row that have it."""

    @property
    def is_consequence(self) -> bool:
        """Whether the lines themselves are undamaged, and don't count because other lines are damaged."""
        return INCOMPLETE_CHANGE in self.what or NOTHING_BEFORE in self.what


class BootReport(Struct):
    """The records of one boot in a journal."""

    boot: int
    first_seq: int = 0
    last_seq: int = 0
    records: int = 0
    lost_records: int = 0
    """Number of missing seqs."""
    holes: list[tuple[int, int]] = field(default_factory=list)
    """First and last missing seq of each gap."""
    complete_checkpoints: int = 0
    incomplete_checkpoints: int = 0
    is_stopped: bool = False
    """Whether the server stopped in an orderly way; if not, records at the end may be lost."""
    is_observed: bool = False
    """Whether an observer wrote the boot. It has no stop: the time after its last answer is unknown."""

    @property
    def ends_as_it_should(self) -> bool:
        """Whether its end shows that no record after it is lost."""
        return self.is_stopped or self.is_observed


class VerifyReport(Struct):
    """The content and the losses of a journal."""

    folder: str
    namesrv: str = ""
    uuid: str = ""
    segments: int = 0
    is_being_written: bool = False
    boots: list[BootReport] = field(default_factory=list)
    problems: list[VerifyProblem] = field(default_factory=list)
    more_problems: int = 0
    knows_last_boot: bool = True
    """Whether a file beside the folder says which boot was the newest; without it nobody knows whether whole
    boots at the end were removed. Shipped copies need none."""
    unknown_versions: int = 0
    """Number of records of another version of the contract."""
    quarantined: list[str] = field(default_factory=list)
    """Files that recovery put aside."""

    @property
    def lost_records(self) -> int:
        """Number of records that are lost for certain."""
        return sum(boot.lost_records for boot in self.boots)

    @property
    def is_complete(self) -> bool:
        """Whether every record that retention did not delete is there and can be read."""
        crashed = [boot for boot in self.boots[:-1] if not boot.ends_as_it_should]
        ends_open = bool(self.boots) and not self.boots[-1].ends_as_it_should and not self.is_being_written
        return not (self.lost_records or self.problems or self.unknown_versions or crashed or ends_open)

    def add(self, file: str, line: int, what: str) -> None:
        """Add a problem to the group before it or to the list, or only count it if there are too many."""
        last = self.problems[-1] if self.problems else None
        if last is not None and line and _are_alike(last, VerifyProblem(file, line, what)):
            last.lines += 1
        elif len(self.problems) < MAX_PROBLEMS:
            self.problems.append(VerifyProblem(file, line, what))
        else:
            self.more_problems += 1


def _are_alike(group: VerifyProblem, problem: VerifyProblem) -> bool:
    return (group.file, group.line + group.lines, _NUMBER.sub("#", group.what)) == (
        problem.file,
        problem.line,
        _NUMBER.sub("#", problem.what),
    )
