import logging

from namekeeper.remoting import log_limit as module
from namekeeper.remoting.log_limit import LogLimit

log = logging.getLogger("namekeeper.test")


async def test_the_first_lines_of_a_period_come_through(caplog):
    limit = LogLimit(log)
    for n in range(module.LINES + 5):
        limit.log(logging.WARNING, "line %d", n)
    assert [record.getMessage() for record in caplog.records] == [f"line {n}" for n in range(module.LINES)]


async def test_the_next_period_begins_with_what_was_left_out(caplog, monkeypatch):
    monkeypatch.setattr(module, "PERIOD_SECONDS", -1.0)
    limit = LogLimit(log)
    limit.log(logging.WARNING, "first")
    monkeypatch.setattr(module, "LINES", 0)
    limit.log(logging.WARNING, "held back")
    monkeypatch.undo()
    limit.log(logging.WARNING, "last", error=ValueError("why"))
    assert [record.getMessage() for record in caplog.records] == [
        "first",
        "1 lines like the next one were left out",
        "last",
    ]
    assert caplog.records[-1].exc_info
