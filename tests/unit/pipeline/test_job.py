"""Runs as cron and people see them."""

import signal

import pytest

from namekeeper.pipeline import job
from namekeeper.pipeline.checks.checking import CheckFinding
from namekeeper.pipeline.checks.findings import EXIT_CONCERNS
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.errors import BusyError, WarehouseError
from namekeeper.pipeline.ingest.conflicts import Conflict
from namekeeper.pipeline.ingest.segments import Listing
from namekeeper.pipeline.job import EXIT_CONFLICT, report_of, run_job
from namekeeper.pipeline.run import Request, RunResult

REQUEST = Request(["j"], "w")
NOTHING = RunResult(Listing([], [], 0))


class Script:
    """Runs that end as they are told."""

    def __init__(self, *ends):
        self.ends = list(ends)
        self.lines: list[str] = []
        self.waited: list[float] = []

    def run_once(self, request, session, progress):
        end = self.ends.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end

    def job(self, monkeypatch, **options) -> int:
        monkeypatch.setattr(job, "run_once", self.run_once)
        return run_job(
            REQUEST, lambda: "a session", None, self.lines.append, wait=self.waited.append, **options
        )


def test_one_run_ends_with_what_it_found(monkeypatch):
    assert Script(NOTHING).job(monkeypatch) == 0
    conflict = RunResult(Listing([], [], 0), (), [Conflict("ns", ("a", "b"))])
    assert Script(conflict).job(monkeypatch) == EXIT_CONFLICT
    with pytest.raises(BusyError):
        Script(BusyError("in use")).job(monkeypatch)


LOST = CheckFinding("lost records", Level.CONCERN, "records are missing", 1, [{"namesrv": "ns"}])


def test_what_checks_found_is_told_and_is_the_code(monkeypatch):
    script = Script(NOTHING._replace(findings=[LOST]))
    assert script.job(monkeypatch) == EXIT_CONCERNS
    assert script.lines[-2:] == ["CONCERN  lost records: 1 (records are missing)", "    namesrv ns"]
    script = Script(NOTHING._replace(findings=[]))
    assert (script.job(monkeypatch), script.lines[-1]) == (0, "all is well")
    assert (
        Script(NOTHING._replace(findings=[LOST], conflicts=[Conflict("ns", ("a", "b"))])).job(monkeypatch)
        == EXIT_CONFLICT
    )


def test_watching_goes_on_through_errors_until_it_is_interrupted(monkeypatch):
    script = Script(NOTHING, BusyError("in use"), NOTHING, KeyboardInterrupt())
    assert script.job(monkeypatch, watch_ms=60_000) == 130
    assert script.waited == [60.0] * 3
    assert "in use; trying again in 1 min" in script.lines
    assert script.lines[-1] == "stopped; the warehouse is as the last commit left it"


AWAY = OSError("When listing objects: curlCode: 7, Couldn't connect to server\nand more lines")


def test_watching_goes_on_while_the_store_is_away(monkeypatch):
    script = Script(AWAY, AWAY, NOTHING, KeyboardInterrupt())
    assert script.job(monkeypatch, watch_ms=60_000) == 130
    assert script.waited == [60.0] * 3
    assert script.lines[0] == script.lines[1]
    assert script.lines[0] == (
        "a file can't be read or written: When listing objects: curlCode: 7, Couldn't connect to server; are j, w"
        " there, and may this user use them? What was committed before stays; trying again in 1 min"
    )
    assert script.lines[2] == "nothing new; 0 segments are there"


def test_a_single_run_that_meets_no_store_is_refused(monkeypatch):
    with pytest.raises(WarehouseError, match="may this user use them"):
        Script(AWAY).job(monkeypatch)


def test_watching_ends_when_the_java_of_spark_has(monkeypatch):
    """systemd starts it again, with a Java."""
    with pytest.raises(ConnectionRefusedError):
        Script(ConnectionRefusedError(111, "refused")).job(monkeypatch, watch_ms=60_000)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_a_run_in_order(monkeypatch, number, code):
    left = []

    def interrupted(*_):
        try:
            signal.raise_signal(number)
        finally:
            left.append("lease given up")

    lines: list[str] = []
    monkeypatch.setattr(job, "run_once", interrupted)
    before = signal.getsignal(number)
    assert run_job(REQUEST, lambda: "a session", None, lines.append, watch_ms=1) == code
    assert (left, lines) == (["lease given up"], ["stopped; the warehouse is as the last commit left it"])
    assert signal.getsignal(number) == before


def test_the_report_names_what_needs_a_look():
    outcome = RunResult(
        Listing([], ["file:///j"], 3), (), [Conflict("ns", ("a", "b"))], {"other": ("c", "d")}
    )
    lines = list(report_of(outcome))
    assert lines[0] == "nothing new; 0 segments are there"
    assert "file:///j has no sealed segment yet" in lines
    assert any("3 files are of no journal, and ignored" in line for line in lines)
    assert any("other has had several journals, one after another: c, d" in line for line in lines)
    assert "--take ns=a" in lines[-1]
