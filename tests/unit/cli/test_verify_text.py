"""What is printed of a checked journal: the cause can be seen, however much is broken."""

from namekeeper.cli.verify_text import verify_lines
from namekeeper.journal.reading.verify_report import BootReport, VerifyReport

FILE = "ns-0a1b2c3d-1772323200000-000000000001-000000000009.jsonl.gz"


def report(**members) -> VerifyReport:
    return VerifyReport("/j", "ns", "0a1b2c3d", 1, **members)


def stopped(boot: int) -> BootReport:
    return BootReport(boot, 1, 9, 9, is_stopped=True)


def test_the_cause_is_before_a_thousand_lines_that_do_not_count_because_of_it():
    found = report(boots=[stopped(1)])
    for line in range(1, 1_001):
        found.add(FILE, line, "of an incomplete change: a broken line comes before its end")
    found.add(FILE, 1_001, "no record: JSON is malformed")
    found.add(FILE, 1_002, "seq 1002 of change 1: what comes before it is missing")
    lines = list(verify_lines(found))
    assert len(lines) == 5
    assert lines[1] == f"  {FILE}, line 1001: no record: JSON is malformed"
    assert lines[2].startswith(
        f"  {FILE}: 1,001 lines do not count because of what is wrong or missing beside"
    )


def test_lines_in_a_row_are_one_line():
    found = report()
    for line in range(3, 8):
        found.add(FILE, line, f"{line} NUL bytes")
    assert list(verify_lines(found))[1] == f"  {FILE}, lines 3 to 7 (5), the first: 3 NUL bytes"


def test_many_different_problems_are_counted():
    found = report()
    for line in range(1, 101):
        found.add(FILE, line * 2, "empty")
    lines = list(verify_lines(found))
    assert len(lines) == 13
    assert lines[-2] == "  and 90 more problems; --json has all"


def test_many_ranges_of_lost_records_are_counted():
    boot = BootReport(1, 1, 900, 450, 450, [(each, each) for each in range(2, 900, 2)], is_stopped=True)
    lines = list(verify_lines(report(boots=[boot])))
    assert lines[2:4] == ["    lost: seq 2 to 2", "    lost: seq 4 to 4"]
    assert lines[-2:] == ["    and 439 more ranges; --json has all", "not complete: 450 records are lost"]


def test_of_many_boots_those_that_lost_something_and_the_newest_are_listed():
    boots = [stopped(number) for number in range(1, 301)]
    boots[6].is_stopped = False
    lines = list(verify_lines(report(boots=boots)))
    assert lines[1] == "  298 more boots; --json lists all"
    assert [line.split()[1] for line in lines if line.startswith("  boot")] == ["7", "300"]


def test_without_the_note_of_the_newest_boot_nobody_says_that_nothing_is_lost():
    lines = list(verify_lines(report(boots=[stopped(1)], knows_last_boot=False)))
    assert "names its newest boot is missing" in lines[-2]
    assert lines[-1] == "nothing is lost of what is known"
    assert list(verify_lines(report(boots=[stopped(1)])))[-1] == "nothing is lost"


def test_a_problem_of_a_whole_file_has_no_line():
    found = report()
    found.add(FILE, 0, "it is empty")
    assert list(verify_lines(found))[1] == f"  {FILE}: it is empty"


def test_incomplete_checkpoints_are_counted():
    boot = BootReport(1, 1, 9, 9, complete_checkpoints=2, incomplete_checkpoints=1, is_stopped=True)
    assert "2 complete checkpoints and 1 incomplete" in list(verify_lines(report(boots=[boot])))[1]
