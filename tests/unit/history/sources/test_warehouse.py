"""A warehouse as a source of steps: read once, and again after a failure."""

from namekeeper.errors import ConfigError
from namekeeper.history.history import History
from namekeeper.history.sources.warehouse import WarehouseSource
from tests.unit.console.test_histories import Clock

START = {"namesrv": "ns", "boot": 1, "seq": 1, "ts": 100, "kind": "server_started"}
COMPLETE = {"namesrv": "ns", "boot": 1, "begin_seq": 2, "from_ts": 110}
TABLES = {"server_start_or_stop": [START], "complete_checkpoint": [COMPLETE]}


def no_part(*_asked):
    raise AssertionError("nobody asks for a part")


def test_all_steps_come_in_one_go_and_the_rows_last_until_the_end_of_the_name_server():
    asked = []
    source = WarehouseSource({"ns": 500}, lambda namesrv: asked.append(namesrv) or TABLES, no_part, Clock(0))
    assert (source.namesrvs(), source.keeps_past) == (["ns"], True)
    steps, history = source.steps("ns"), History("ns")
    assert steps.present(history.coverage).until is None
    for step in steps:
        history.take(step)
    assert [*steps] == []
    assert (asked, steps.progress, history.knows_from) == (["ns"], (1, 1), 110)
    assert steps.present(history.coverage).until == 500


def test_a_failure_is_told_and_tried_again_later():
    answers, clock = [ConfigError("no tables"), TABLES], Clock(0)

    def ask(_namesrv):
        answer = answers.pop(0)
        if isinstance(answer, ConfigError):
            raise answer
        return answer

    steps = WarehouseSource({"ns": 500}, ask, no_part, clock).steps("ns")
    assert ([*steps], steps.problem) == ([], "no tables")
    assert ([*steps], steps.problem, len(answers)) == ([], "no tables", 1)
    clock.mono_ms = 30_000
    assert len([*steps]) == 2
    assert steps.problem == ""


def test_a_part_is_asked_for_with_its_name_and_its_times_each_time():
    asked = []

    def ask_part(*wanted):
        asked.append(wanted)
        return TABLES, (1, 2)

    source = WarehouseSource({"ns": 500}, no_part, ask_part, Clock(0))
    assert [step.seq for step in source.steps("ns", "T", 200, 300)] == [2], "the start is before its base"
    assert len([*source.steps("ns", None, 0)]) == 1
    assert asked == [("ns", "T", 200, 300), ("ns", None, 0, 500)]
