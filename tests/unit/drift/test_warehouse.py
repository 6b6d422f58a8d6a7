"""Drift from a warehouse is that from the journals that the pipeline took in."""

import json

import pytest

from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.source import JournalAnswers
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.drift.report import find_drift
from namekeeper.errors import ConfigError
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.labels import labelled
from tests.support.history.observed import BEGIN, FIRST, MINUTE, SECOND, observed
from tests.support.journal.folder import write_journal
from tests.support.pipeline.duck import Duck


@pytest.mark.parametrize("labels", [("", ""), ("east", "east"), ("east", "west")])
def test_journals_and_their_warehouse_have_the_same_drift(labels, tmp_path):
    history, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
    servers[1].change_topics(10 * MINUTE, 3_000, orders=(8, 8, 6, 0))
    servers[0].go(20 * MINUTE, 6_000)
    for server in servers:
        server.end(40 * MINUTE)
    recorded = {
        namesrv: labelled(records, label) if label else records
        for (namesrv, records), label in zip(history.records.items(), labels, strict=True)
    }
    duck = Duck()
    make_gold(duck, duck.load([record for records in recorded.values() for record in records]))
    for namesrv, records in recorded.items():
        lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
        write_journal(tmp_path / "journals" / namesrv, lines)
    sources = (
        JournalAnswers([str(tmp_path / "journals")]),
        WarehouseAnswers(
            duck.write_warehouse(tmp_path / "warehouse"), lambda: pytest.fail("files need no Spark")
        ),
    )
    for at, count in ((None, 1), (BEGIN + 15 * MINUTE, 1), (BEGIN + 5 * MINUTE, 0)):
        journals, warehouse = (find_drift(source.histories(at, DAY_MS), at) for source in sources)
        assert warehouse == journals
        assert len(journals.verdicts) == (count if labels[0] == labels[1] else 0)
    (only,) = sources[1].histories(None, DAY_MS, [SECOND])
    assert only.namesrv == SECOND


def test_a_warehouse_is_asked_about_the_name_servers_with_one_label(tmp_path):
    history, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
        server.end(40 * MINUTE)
    labels = {FIRST: "east", SECOND: "west"}
    duck = Duck()
    make_gold(
        duck,
        duck.load(
            [each for name, records in history.records.items() for each in labelled(records, labels[name])]
        ),
    )
    folder = duck.write_warehouse(tmp_path / "warehouse")

    def source(cluster: str) -> WarehouseAnswers:
        return WarehouseAnswers(folder, lambda: pytest.fail("files need no Spark"), cluster=cluster)

    at = BEGIN + 20 * MINUTE
    east = source("east")
    assert east.namesrvs() == [FIRST]
    assert [each.namesrv for each in east.histories(None, DAY_MS)] == [FIRST]
    assert [each.namesrv for each in east.evidence("orders", at)] == [FIRST]
    assert [each.namesrv for each in east.routes("orders", at)] == [FIRST]
    assert {each.namesrv for each in source("west").changes("orders", BEGIN - 1, at)} == {SECOND}
    with pytest.raises(ConfigError, match="there is no cluster 'north': the labels are east, west"):
        source("north").namesrvs()
