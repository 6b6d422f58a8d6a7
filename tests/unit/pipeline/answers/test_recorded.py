"""`why` and `history` from a warehouse are those from the journals, losses, kills and clocks that go back included."""

import random

from namekeeper.answers.collector import EvidenceCollector
from namekeeper.answers.explain import explain
from namekeeper.answers.row_changes import RowChanges, What
from namekeeper.answers.verdict import Verdict
from namekeeper.cli.warehouse import WarehouseSource
from namekeeper.journal.reading.history import Step, steps
from namekeeper.pipeline.answers.recorded import recorded
from tests.support.history.histories import History
from tests.support.history.oracle import Story
from tests.support.pipeline.file_warehouse import SEED, FileWarehouse
from tests.support.pipeline.law import read

SERVERS = 18


def some_servers(warehouse: FileWarehouse) -> list[tuple[str, Story, list[Step]]]:
    servers: list[tuple[History, str, Story]] = random.Random(SEED).sample(warehouse.law.servers(), SERVERS)
    return [(namesrv, story, list(steps(read(each.records[namesrv])))) for each, namesrv, story in servers]


def names_in(story: Story, table: str, part: int) -> list[str]:
    return sorted({key[part] for step in story.steps for key in step.state[table]})


def source(warehouse: FileWarehouse, namesrv: str) -> WarehouseSource:
    def no_session():
        raise AssertionError("files need no Spark")

    return WarehouseSource(warehouse.uri, no_session, namesrv)


def test_the_changes_in_a_window_are_those_of_the_journal(warehouse: FileWarehouse):
    rng, met = random.Random(SEED), set()
    for namesrv, story, every in some_servers(warehouse):
        names = [
            *names_in(story, "topic", 1)[:2],
            *names_in(story, "group", 0)[:1],
            *names_in(story, "live", 1),
        ]
        tables = source(warehouse, namesrv)
        for name in names:
            begin, end = sorted(rng.sample(range(story.steps[0].ts, story.knows_up_to + 1), 2))
            base = recorded(warehouse.tables, name, begin, end, namesrv).bases[namesrv]
            changes = RowChanges(namesrv, name)
            for step in every:
                if (step.boot, step.seq) >= base:
                    changes.take(step)
            wanted = changes.result(begin, end)
            assert tables.changes(name, begin, end) == wanted, (namesrv, name, begin, end)
            met |= {event.what for event in wanted}
    assert met == set(What)


def test_a_verdict_and_its_reason_are_those_of_the_journal(warehouse: FileWarehouse):
    rng, met = random.Random(SEED), set()
    for namesrv, story, every in some_servers(warehouse):
        ends = sorted({ts for step in story.steps for ts in (step.ts - 1, step.ts, step.ts + 1)})
        tables = source(warehouse, namesrv)
        for topic in names_in(story, "topic", 1)[:2]:
            collector = EvidenceCollector(namesrv, topic)
            for step in every:
                collector.take(step)
            for at in rng.sample(ends, 3):
                (wanted,) = explain([collector.result()], at)
                (found,) = explain(tables.evidence(topic, at), at)
                assert (found.verdict, found.summary) == (wanted.verdict, wanted.summary), (
                    namesrv,
                    topic,
                    at,
                )
                met.add(wanted.verdict)
    assert {Verdict.JUST_STARTED, Verdict.NOT_BACK, Verdict.BROKER_GONE, Verdict.UNKNOWN} <= met


def test_without_an_instant_it_is_the_end_of_each_name_server(warehouse: FileWarehouse):
    ends = {namesrv: story.knows_up_to for _, namesrv, story in warehouse.law.servers()}
    found = explain(WarehouseSource(warehouse.uri, lambda: None).evidence("payments", None))
    assert {each.namesrv: each.at for each in found} == ends


def test_a_topic_that_was_never_there_is_not_looked_for_in_all_sessions(warehouse: FileWarehouse):
    namesrv, story, _ = some_servers(warehouse)[0]
    (found,) = source(warehouse, namesrv).evidence("no such topic", story.knows_up_to)
    assert (found.routes, explain([found])[0].verdict) == ([], Verdict.NEVER_REGISTERED)
