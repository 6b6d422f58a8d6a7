"""A warehouse and the journal of one observed name server give equal answers, windows included."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from namekeeper.answers.explain import explain
from namekeeper.answers.render import explanation_lines, explanations_json, routes_json
from namekeeper.answers.source import JournalAnswers, PastAnswers
from namekeeper.answers.timeline import timeline, timeline_json, timeline_lines
from namekeeper.answers.times import UTC
from namekeeper.answers.verdict import Verdict
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import READ, WRITE, History
from tests.support.history.observed import BEGIN, FIRST, MINUTE, ORDINARY, observed
from tests.support.journal.folder import write_journal
from tests.support.pipeline.duck import Duck

LONG = 10 * MINUTE
"""A sweep over many topics: longer than `why` looks around an instant."""
GONE, BACK, WIPED, END = (BEGIN + minute * MINUTE for minute in (10, 15, 40, 60))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[PastAnswers, PastAnswers]:
    """The journal, and the warehouse of its records."""
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.go(10 * MINUTE, 6_000)
    server.come(15 * MINUTE, 2_000)
    server.change_topics(40 * MINUTE, LONG, orders=(4, 4, READ, 0), other=ORDINARY)
    server.change_topics(40 * MINUTE, 3_000, orders=(4, 4, READ, 0), other=(8, 8, READ | WRITE, 0))
    server.end(60 * MINUTE)
    return both(tmp_path_factory.mktemp("observed"), history)


def both(folder: Path, history: History) -> tuple[PastAnswers, PastAnswers]:
    records = history.records[FIRST]
    lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
    duck = Duck()
    make_gold(duck, duck.load(records))
    return (
        JournalAnswers([str(write_journal(folder / FIRST, lines))]),
        WarehouseAnswers(duck.write_warehouse(folder), lambda: pytest.fail("files need no Spark")),
    )


def instants() -> Iterator[int]:
    """Times in, beside and outside of each window."""
    for at, window_ms in ((GONE, 6_000), (BACK, 2_000), (WIPED, LONG), (WIPED, 3_000)):
        yield from (at - window_ms - 1, at - window_ms, at - 1, at, at + 1)
    yield from (BEGIN + MINUTE, END)


@pytest.mark.parametrize("topic", ["orders", "other"])
def test_why_names_the_same_windows(sources, topic):
    in_windows = 0
    for at in instants():
        journal, warehouse = (explain(source.evidence(topic, at), at) for source in sources)
        assert explanations_json(warehouse) == explanations_json(journal), at
        text = "\n".join(explanation_lines(warehouse[0], UTC))
        assert text == "\n".join(explanation_lines(journal[0], UTC))
        in_windows += "uncertain at this time" in text
    assert in_windows > 5


def test_the_time_within_a_window_that_ends_much_later_is_uncertain(sources):
    for source in sources:
        (found,) = explain(source.evidence("orders", WIPED - LONG), WIPED - LONG)
        assert [(fact.at, fact.window_ms) for fact in found.facts if fact.text.startswith("uncertain")] == [
            (WIPED, LONG)
        ] * 2


@pytest.mark.parametrize("name", ["orders", "other", "b0", None])
def test_the_timeline_shows_the_same_windows(sources, name):
    journal, warehouse = (timeline(source.changes(name, 0, END)) for source in sources)
    assert timeline_json(warehouse) == timeline_json(journal)
    assert [*timeline_lines(warehouse, UTC)] == [*timeline_lines(journal, UTC)]
    assert {6_000, 2_000} <= {entry.windows.get(FIRST) for entry in warehouse}


@pytest.mark.parametrize("topic", ["orders", "other"])
def test_the_route_within_a_window_has_both_sides(sources, topic):
    uncertain = set()
    for at in instants():
        journal, warehouse = (source.routes(topic, at) for source in sources)
        assert routes_json(warehouse) == routes_json(journal), at
        uncertain |= {(change.at, change.window_ms) for change in warehouse[0].uncertain}
    of_broker = {(GONE, 6_000), (BACK, 2_000)}
    assert (
        uncertain == {"orders": {*of_broker, (WIPED, LONG)}, "other": {(WIPED, LONG), (WIPED, 3_000)}}[topic]
    )


def test_a_question_leaves_the_answer_to_the_next_one_as_it_was(sources):
    for source in sources:
        at = GONE - 1
        first = routes_json(source.routes("orders", at))
        assert routes_json(source.routes("orders", at)) == first


def test_the_summary_names_the_window_of_a_change(sources):
    def summary(at: int) -> str:
        one, other = (explain(source.evidence("orders", at), at)[0].summary for source in sources)
        assert one == other
        return one

    uncertain = "uncertain: a change happened between"
    assert f"; {uncertain} 5 s before and 1 s after" in summary(GONE - 1_000)
    assert f"; {uncertain} this time and 6 s after" in summary(GONE - 6_000)
    assert summary(GONE + MINUTE) == "b0 is gone, within a window of 6 s"
    assert "no queue to write to for about 5 min, until 1 min before" in summary(BACK + MINUTE)


def two_periods(folder: Path, restart: str) -> tuple[PastAnswers, PastAnswers]:
    """It is observed up to minute 5, and again from minute 10 on, without its broker."""
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.end(5 * MINUTE)
    server.is_up = False
    server.start(BEGIN + 10 * MINUTE)
    server.end(20 * MINUTE)
    starts = [record for record in history.records[FIRST] if record["kind"] == "server_started"]
    for start in starts:
        start["observed_addr"] = "10.0.0.9:9876"
    starts[1]["restart"] = restart
    return both(folder, history)


NOT_OBSERVED = "unknown, because the name server was not observed"


@pytest.mark.parametrize(
    ("restart", "verdict", "summary", "meanwhile", "start"),
    [
        (
            "seen", Verdict.NOT_BACK,
            "the name server had restarted, and is observed again since 3 min; 0 of 1 known broker was back",
            "the name server restarted in between", "it has restarted",
        ),
        (
            "possible", Verdict.UNKNOWN,
            "it ended while the name server was not observed; the name server may have restarted then",
            "the name server may have restarted in between", "it may have restarted",
        ),
    ],
)  # fmt: skip
def test_a_restart_of_an_observed_name_server_is_shown(tmp_path, restart, verdict, summary, meanwhile, start):
    gap, after = BEGIN + 7 * MINUTE, BEGIN + 13 * MINUTE
    sources = two_periods(tmp_path, restart)
    for source in sources:
        (unknown,) = explain(source.evidence("orders", gap), gap)
        assert (unknown.verdict, unknown.summary) == (Verdict.UNKNOWN, NOT_OBSERVED)
        assert "it is observed again from here on" in [fact.text for fact in unknown.facts]
        (found,) = explain(source.evidence("orders", after), after)
        assert (found.verdict, found.summary) == (verdict, summary)
        for each in (unknown, found):
            assert meanwhile in [fact.text for fact in each.facts]
            assert not any("lost" in fact.text for fact in each.facts)
        lines = [*timeline_lines(timeline(source.changes("orders", 0, END)), UTC)]
        assert any("the name server is not observed from here on" in line for line in lines)
        assert any(f"the name server is observed again: {start}" in line for line in lines)
        assert not any("records are lost" in line for line in lines)
    for at in (gap, after):
        journal, warehouse = (explanations_json(explain(each.evidence("orders", at), at)) for each in sources)
        assert journal == warehouse
