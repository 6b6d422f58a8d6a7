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
    limit.log(logging.ERROR, "line %s", "first", error=ValueError("why"))
    monkeypatch.setattr(module, "LINES", 0)
    limit.log(logging.ERROR, "line %s", "held back", error=ValueError("why"))
    monkeypatch.undo()
    limit.log(logging.ERROR, "line %s", "last", error=ValueError("why"))
    assert [record.getMessage() for record in caplog.records] == [
        "line first",
        "1 lines like the next one were left out",
        "line last",
    ]
    assert caplog.records[-1].exc_info


async def test_one_kind_of_line_never_silences_another(caplog):
    limit = LogLimit(log)
    for n in range(module.LINES + 5):
        limit.log(logging.WARNING, "broken frame %d", n)
    limit.log(logging.WARNING, "another message")
    limit.log(logging.ERROR, "request failed", error=ValueError("a bug"))
    assert [record.getMessage() for record in caplog.records][module.LINES :] == [
        "another message",
        "request failed",
    ]


async def test_errors_of_one_type_never_silence_those_of_another(caplog):
    limit = LogLimit(log)
    for _ in range(module.LINES + 5):
        limit.log(logging.ERROR, "request failed", error=ValueError("often"))
    limit.log(logging.ERROR, "request failed", error=KeyError("once"))
    assert len(caplog.records) == module.LINES + 1
    assert isinstance(caplog.records[-1].exc_info[1], KeyError)


async def test_what_probes_cause_has_one_line_in_an_hour(caplog):
    limit = LogLimit(log)
    for n in range(5):
        limit.log(logging.WARNING, "a probe %d", n, is_frequent=True)
    limit.log(logging.WARNING, "a probe %d", 9)
    assert [record.getMessage() for record in caplog.records] == ["a probe 0", "a probe 9"]
