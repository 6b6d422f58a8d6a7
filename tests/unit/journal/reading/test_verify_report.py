"""A report is complete if nothing is wrong, and lists no more problems than somebody can read."""

import pytest

from namekeeper.journal.reading.verify_report import MAX_PROBLEMS, BootReport, VerifyReport

STOPPED, CRASHED = BootReport(1, is_stopped=True), BootReport(2)


@pytest.mark.parametrize(
    ("report", "is_complete"),
    [
        (VerifyReport("f", boots=[STOPPED]), True),
        (VerifyReport("f", boots=[STOPPED, CRASHED]), False),
        (VerifyReport("f", boots=[STOPPED, CRASHED], is_being_written=True), True),
        (VerifyReport("f", boots=[CRASHED, STOPPED]), False),
        (VerifyReport("f", boots=[STOPPED], unknown_versions=1), False),
        (VerifyReport("f", boots=[BootReport(1, lost_records=1, is_stopped=True)]), False),
    ],
)
def test_a_journal_is_complete_if_every_boot_is(report, is_complete):
    assert report.is_complete is is_complete


def test_problems_beyond_some_are_counted():
    report = VerifyReport("f")
    for line in range(MAX_PROBLEMS + 3):
        report.add("file", 2 * line, "what")
    assert (len(report.problems), report.more_problems, report.is_complete) == (MAX_PROBLEMS, 3, False)
