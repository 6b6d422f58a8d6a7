"""`why` and `history` from a warehouse are those from the journals, losses, kills and clocks that go back included."""

import random
from collections import Counter

import pytest

from namekeeper.answers.around import AROUND_MS
from namekeeper.answers.evidence import evidence_of
from namekeeper.answers.explain import explain
from namekeeper.answers.from_facts import evidence_from_facts
from namekeeper.answers.verdict import Explanation, Fact, Verdict
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.history.rows import Rows, What
from namekeeper.journal.reading.history import Step, steps
from namekeeper.pipeline.answers.recorded import recorded, recorded_for_why
from tests.support.history.histories import History
from tests.support.history.oracle import Story
from tests.support.journal.history import history_from
from tests.support.pipeline.file_warehouse import SEED, FileWarehouse
from tests.support.pipeline.law import read

SERVERS = 18
INSTANTS = 50
"""Of so many, one of each verdict is compared, and one of each at which rows were restored ones."""
FROM_THE_BEGIN_MS = 10**12
"""Far enough back for every history."""


def some_servers(warehouse: FileWarehouse, count: int = SERVERS) -> list[tuple[str, Story, list[Step]]]:
    servers: list[tuple[History, str, Story]] = random.Random(SEED).sample(warehouse.law.servers(), count)
    return [
        (namesrv, story, list(steps(read(each.records[namesrv]), Rows))) for each, namesrv, story in servers
    ]


def names_in(story: Story, table: str, part: int) -> list[str]:
    return sorted({key[part] for step in story.steps for key in step.state[table]})


def source(warehouse: FileWarehouse, namesrv: str, **more: int) -> WarehouseAnswers:
    def no_session():
        raise AssertionError("files need no Spark")

    return WarehouseAnswers(warehouse.uri, no_session, namesrv, **more)


@pytest.mark.parametrize("servers", [SERVERS // 2, pytest.param(SERVERS, marks=pytest.mark.long)])
def test_the_changes_in_a_window_are_those_of_the_journal(warehouse: FileWarehouse, servers: int):
    rng, met = random.Random(SEED), set()
    for namesrv, story, every in some_servers(warehouse, servers):
        addrs = names_in(story, "live", 1)
        names = [
            *names_in(story, "topic", 1)[:2],
            *names_in(story, "group", 0)[:1],
            *addrs,
            *(addr.rpartition(":")[0] for addr in addrs[:1]),
        ]
        tables = source(warehouse, namesrv)
        for name in names:
            begin, end = sorted(rng.sample(range(story.steps[0].ts, story.knows_up_to + 1), 2))
            base = recorded(warehouse.tables, name, begin, end, namesrv).bases[namesrv]
            after = (step for step in every if (step.boot, step.seq) >= base)
            wanted = history_from(namesrv, after, name).changes(begin, end)
            assert tables.changes(name, begin, end) == wanted, (namesrv, name, begin, end)
            met |= {event.what for event in wanted}
    assert met == set(What)


def restored(answer: Explanation) -> list[Fact]:
    """What it says of rows that came back at a start."""
    return [fact for fact in answer.facts if "restored" in fact.text]


def asked(story: Story, namesrv: str, topic: str, every: list[Step], rng: random.Random) -> list[Explanation]:
    """What the journal says at some instants: of each kind of answer one."""
    ends = sorted({ts for step in story.steps for ts in (step.ts - 1, step.ts, step.ts + 1)})
    evidence = [evidence_of(history_from(namesrv, every, topic))]
    answers = [explain(evidence, at)[0] for at in rng.sample(ends, min(INSTANTS, len(ends)))]
    return list({(answer.verdict, bool(restored(answer))): answer for answer in answers}.values())


@pytest.mark.parametrize(
    ("servers", "topics", "of_each"),
    [
        (SERVERS, 1, 3),
        pytest.param(24, 1, None, marks=pytest.mark.long),
        pytest.param(SERVERS, 2, None, marks=pytest.mark.long),
    ],
)
def test_why_says_the_same_from_a_warehouse_and_from_the_journal(
    warehouse: FileWarehouse, servers: int, topics: int, of_each: int | None
):
    """All of it if everything is read; with what is read usually, less may be known of what was long before."""
    rng, met, were_restored = random.Random(SEED), Counter[Verdict](), 0
    for namesrv, story, every in some_servers(warehouse, servers):
        whole = source(warehouse, namesrv, back_ms=FROM_THE_BEGIN_MS)
        usual = source(warehouse, namesrv)
        for topic in names_in(story, "topic", 1)[:topics]:
            for wanted in asked(story, namesrv, topic, every, rng):
                if of_each is not None and met[wanted.verdict] >= of_each and not restored(wanted):
                    continue
                is_whole = rng.random() < 0.5  # one of both takes a tenth of a second
                (found,) = explain((whole if is_whole else usual).evidence(topic, wanted.at), wanted.at)
                assert found == wanted or not is_whole, (found, wanted)
                assert (found.verdict, found.summary) == (wanted.verdict, wanted.summary), wanted
                # A row whose registration is not read any more counts as restored.
                assert [fact for fact in restored(wanted) if fact not in restored(found)] == [], wanted
                met[wanted.verdict] += 1
                were_restored += bool(restored(wanted))
    assert {Verdict.JUST_STARTED, Verdict.NOT_BACK, Verdict.BROKER_GONE, Verdict.UNKNOWN} <= met.keys()
    assert were_restored > 3


def test_rows_that_are_no_evidence_change_nothing(warehouse: FileWarehouse):
    """`why` does not read broker groups, mappings, filter servers, KV entries and properties."""
    left_out = 0
    for namesrv, story, _ in some_servers(warehouse, SERVERS // 2):
        ends = {namesrv: story.knows_up_to}
        for topic in names_in(story, "topic", 1)[:1]:
            found = recorded_for_why(warehouse.tables, topic, 0, story.knows_up_to, namesrv)
            every = recorded(warehouse.tables, topic, 0, story.knows_up_to, namesrv)
            tables = {**every.tables, **found.tables}
            left_out += sum(map(len, (every.tables[name] for name in tables.keys() - found.tables.keys())))
            assert evidence_from_facts(topic, found.tables, found.bases, ends) == evidence_from_facts(
                topic, tables, every.bases, ends
            )
    assert left_out > 100


def test_what_is_known_again_after_a_loss_is_told_however_long_that_took(warehouse: FileWarehouse):
    told = 0
    for namesrv, story, every in some_servers(warehouse, SERVERS // 2):
        for topic in names_in(story, "topic", 1)[:2]:
            evidence = evidence_of(history_from(namesrv, every, topic))
            for period in evidence.periods:
                at, again = period.valid_from, period.valid_to
                if period.state == "unknown" and again is not None and again > at + AROUND_MS:
                    found = explain(source(warehouse, namesrv).evidence(topic, at), at)
                    assert facts_after(found) == facts_after(explain([evidence], at)), (namesrv, topic, at)
                    told += bool(facts_after(found))
    assert told > 1


def facts_after(answers: list[Explanation]) -> list[Fact]:
    """What was known again after a loss."""
    return [fact for answer in answers for fact in answer.facts if fact.text.startswith("after, ")]


def test_without_an_instant_it_is_the_end_of_each_name_server(warehouse: FileWarehouse):
    ends = {namesrv: story.knows_up_to for _, namesrv, story in warehouse.law.servers()}
    found = explain(WarehouseAnswers(warehouse.uri, lambda: None).evidence("payments", None))
    assert {each.namesrv: each.at for each in found} == ends


def test_a_topic_that_was_never_there_is_not_looked_for_in_all_sessions(warehouse: FileWarehouse):
    namesrv, story, _ = some_servers(warehouse)[0]
    (found,) = source(warehouse, namesrv).evidence("no such topic", story.knows_up_to)
    assert (found.routes, explain([found])[0].verdict) == ([], Verdict.NEVER_REGISTERED)
