"""What a check finds in a warehouse that is right, and in ones that are not."""

from typing import Any

import pytest

from namekeeper.pipeline.checks.checking import CheckFinding, checks, run_checks
from namekeeper.pipeline.checks.rules import Level
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import histories
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of


@pytest.fixture(scope="module")
def made() -> Duck:
    duck = Duck()
    make_gold(duck, duck.load(records_of(histories(3, 25))))
    return duck


def broken(found: list[CheckFinding]) -> set[str]:
    return {finding.name for finding in found if finding.level is Level.BROKEN}


def test_tables_that_were_made_keep_their_rules(made: Duck):
    steps: list[tuple[Any, ...]] = []
    found = run_checks(made, lambda *step: steps.append(step))
    assert broken(found) == set()
    assert {finding.name for finding in found} >= {"lost records", "clock skew", "clock set back"}
    lost = next(finding for finding in found if finding.name == "lost records")
    assert lost.found == len(made.gold("lost_records"))
    assert len(lost.examples) <= 5
    assert steps[-1][1:] == (len(list(checks())),) * 2


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("key of topic_route", "INSERT INTO stored_topic_route SELECT * FROM stored_topic_route LIMIT 1"),
        ("key of events", "INSERT INTO stored_events SELECT * FROM stored_events LIMIT 1"),
        (
            "intervals of kv_history",
            "UPDATE stored_kv_history SET valid_to = valid_from WHERE valid_to IS NOT NULL",
        ),
        (
            "intervals of broker_session",
            "UPDATE stored_broker_session SET valid_to = valid_to + 100000000 WHERE ended_by = 'gone'",
        ),
        (
            "topic_route within what is known",
            "UPDATE stored_topic_route SET valid_to = NULL WHERE ended_by = 'stopped'",
        ),
        ("cluster_history within what is known", "UPDATE stored_cluster_history SET valid_from = 5"),
        ("unknown time begins at a loss", "DELETE FROM stored_lost_records"),
        ("unknown time ends at a complete checkpoint", "DELETE FROM stored_known_span"),
        ("sessions are inside boots", "UPDATE stored_broker_session SET boot = boot + 1"),
        ("sessions are recorded", "UPDATE stored_broker_session SET gen = gen + 1000"),
        ("times of a day add up", "UPDATE stored_broker_availability_daily SET up_ms = up_ms + 90000000"),
    ],
)
def test_what_breaks_a_rule_is_found(made: Duck, name: str, harm: str):
    with made.harmed(harm):
        assert name in broken(run_checks(made))


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("overlapping boots", "UPDATE stored_name_server_session SET knows_up_to = knows_up_to + 9000000000"),
        ("several journals", "UPDATE stored_name_server_session SET uuid = CAST(boot AS VARCHAR)"),
        ("dropped by the server", "UPDATE stored_name_server_session SET dropped_changes = 3"),
        (
            "quarantine",
            "INSERT INTO stored_quarantine VALUES ('ns', 'u', 1, 'f', 'unreadable', 'no JSON', '{', 1, 1)",
        ),
    ],
)
def test_what_an_operator_should_know_is_said(made: Duck, name: str, harm: str):
    with made.harmed(harm):
        (finding,) = [finding for finding in run_checks(made) if finding.name == name]
    assert finding.level is Level.CONCERN
    assert finding.examples
