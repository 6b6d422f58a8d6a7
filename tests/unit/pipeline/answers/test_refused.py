"""What access rules judged is the same from a warehouse as from the journals: `audit`, and the refusals in `why`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.answers.audit import AuditQuery
from namekeeper.answers.explain import explain
from namekeeper.answers.source import JournalAnswers, PastAnswers
from namekeeper.cli.group import namekeeper
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.journal.contract.activity import Denied
from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.contract.record import Record, ServerAlive, ServerStarted
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.journal.folder import write_journal
from tests.support.pipeline.duck import Duck
from tests.unit.answers.test_audit import END, T0, judged

BY_RULE = "refused: no rule covers it"
RECORDS: tuple[Record, ...] = (
    ServerStarted(uuid="0a1b2c3d", server_version="1", checksums=True),
    judged(allowed=True, rule="operators", user="ops", certificate="CN=ops", about=["topics=T"]),
    judged(103, about=["clusters=c", "brokers=b"]),
    judged(mode="audit", about=["topics=T"]),
    judged(peer="", rule="no", count=1_234, about=[]),
    Denied(code=105, host="10.0.0.1", reason=BY_RULE, count=7),
    Denied(code=216, host="10.0.0.1", reason=BY_RULE, count=7),
    Denied(code=318, reason="not allowed here", count=1),
    ServerAlive(),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a journal, and the warehouse that is made of it."""
    parent = tmp_path_factory.mktemp("refused")
    lines = [
        encode_record(record, Stamp(namesrv="ns-1", boot=1, seq=seq, ts=T0 + 1_000 * seq, up_ms=seq))
        for seq, record in enumerate(RECORDS, 1)
    ]
    (parent / "journal").mkdir()
    write_journal(parent / "journal", lines)
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in lines]))
    duck.write_warehouse(parent / "warehouse")
    return parent


@pytest.fixture
def sources(folder: Path) -> tuple[PastAnswers, PastAnswers]:
    """What answers from the journal, and from the warehouse."""

    def no_session():
        raise AssertionError("files need no Spark")

    return (
        JournalAnswers([FoundJournal(str(folder / "journal"))]),
        WarehouseAnswers(str(folder / "warehouse"), no_session),
    )


def test_who_did_what(sources):
    journal, warehouse = sources
    entries = journal.audit(0, END)
    assert [(each.code, each.count) for each in entries] == [
        (216, 1),
        (103, 1),
        (216, 1),
        (216, 1_234),
        (105, 7),
        (318, 1),
    ]
    assert warehouse.audit(0, END) == entries
    begin, end = entries[0].at, entries[3].at
    assert warehouse.audit(begin, end) == journal.audit(begin, end) == entries[1:4]


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        (AuditQuery(newest=2), [105, 318]),
        (AuditQuery("OPS"), [216]),
        (AuditQuery("10.0.0.1", newest=1), [105]),
        (AuditQuery("nobody"), []),
    ],
)
def test_only_what_is_wanted(sources, query, codes):
    for source in sources:
        assert [each.code for each in source.audit(0, END, query)] == codes


def test_the_command_reads_either(folder):
    words = ["audit", "--since", "2023-11-14T00:00:00Z", "--json"]
    said = [
        CliRunner().invoke(namekeeper, [*words, option, str(folder / where)])
        for option, where in (("--journal", "journal"), ("--warehouse", "warehouse"))
    ]
    assert [each.exit_code for each in said] == [0, 0]
    assert said[0].output == said[1].output
    assert len(json.loads(said[0].output)) == 6


def test_why_names_the_refusals_either_way(sources):
    for at in (T0 + 9_000, T0 + 4_000):
        ours, theirs = (source.evidence("T", at) for source in sources)
        assert explain(ours, at) == explain(theirs, at)
        (refused,) = (one.refused for one in ours)
        assert refused == theirs[0].refused
        assert [(each.code, each.count) for each in refused] == [(103, 1), (216, 1_234)]
