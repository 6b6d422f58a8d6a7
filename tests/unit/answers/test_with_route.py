"""A topic that had a route: whether clients could write to it, and every broker that played a part."""

import pytest
from msgspec import structs

from namekeeper.answers.evidence import Evidence
from namekeeper.answers.verdict import Verdict
from namekeeper.answers.with_route import judge_with_route
from tests.unit.answers.story import Story


def judged(story: Story, evidence: Evidence | None = None):
    evidence = evidence or story.evidence()
    verdict, summary, facts = judge_with_route(evidence, story.now, story.journal.boots[-1])
    return verdict, summary, [fact.text for fact in facts]


@pytest.fixture
def story() -> Story:
    """A master and a slave that does not act for it."""
    incident = Story()
    incident.registers()
    incident.registers(addr="a1:1", broker_id=1)
    return incident


def test_a_topic_whose_only_master_is_gone_has_no_queue_to_write_to(story):
    story.heard()
    gone = story.connection_breaks()
    verdict, summary, facts = judged(story)
    assert verdict is Verdict.MASTER_GONE
    assert summary == "b0 had no master (it lost its connection), and clients write to masters only"
    assert facts == [
        "b0: 4 read and 4 write queues, RW-, registered by peer:1",
        "b0 had no master: its master (a0:1) lost its connection, 1 s after it was last heard",
    ]
    assert judge_with_route(story.evidence(), gone - 1, story.journal.boots[-1])[0] is Verdict.HAS_ROUTE


def test_the_rows_without_a_master_are_told_where_others_can_be_written_to(story):
    story.registers("b1", "a2:1")
    story.connection_breaks()
    verdict, summary, facts = judged(story)
    assert (verdict, summary) == (
        Verdict.HAS_ROUTE,
        "it had a route with queues to write to, but none on b0",
    )
    assert facts[-1].startswith("b0 had no master: its master (a0:1) lost its connection")


def test_the_end_of_the_master_may_be_before_what_was_read(story):
    evidence = structs.replace(story.evidence(), sessions=[])
    verdict, summary, facts = judged(story, evidence)
    assert verdict is Verdict.MASTER_GONE
    assert summary == "b0 had no master, and clients write to masters only"
    assert facts[-1] == "b0 had no master, as far as was read"


def test_a_wiped_broker_and_a_dead_one_are_both_told():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    story.wiped("b0")
    story.heard("a1:1")
    story.connection_breaks("a1:1")
    verdict, summary, facts = judged(story)
    assert verdict is Verdict.WRITE_PERM_WIPED
    assert summary == "write permission was wiped by peer:99; b1 lost its connection"
    assert facts == [
        "b0: 4 read and 4 write queues, R--, write permission wiped by peer:99",
        "b1 (a1:1) lost its connection, 1 s after it was last heard",
    ]


def test_a_wiped_broker_and_one_that_was_not_back_are_both_told():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    story.restarts()
    story.registers("b0", "a0:1")
    story.wiped("b0")
    verdict, summary, facts = judged(story)
    assert verdict is Verdict.WRITE_PERM_WIPED
    assert summary.endswith("; b1 was not back since the name server started")
    assert facts[-1] == "b1, which had it until here, was not back"


def test_a_restored_broker_that_was_never_confirmed_is_told(story):
    story.restarts_with_its_routes()
    verdict, _, facts = judged(story)
    assert verdict is Verdict.HAS_ROUTE
    assert facts == [
        "b0: 4 read and 4 write queues, RW-, registered by peer:1",
        "b0 (a0:1) was restored when the name server started, and had not registered again",
        "b0 (a1:1) was restored when the name server started, and had not registered again",
    ]


def test_one_that_registered_since_is_not(story):
    story.restarts_with_its_routes()
    story.registers()
    _, _, facts = judged(story)
    assert [fact for fact in facts if "restored" in fact] == [
        "b0 (a1:1) was restored when the name server started, and had not registered again"
    ]


def test_a_permission_that_was_wiped_before_a_restart_is_still_explained():
    story = Story()
    story.registers()
    story.wiped()
    story.restarts_with_its_routes()
    verdict, summary, _ = judged(story)
    assert (verdict, summary) == (Verdict.WRITE_PERM_WIPED, "write permission was wiped by peer:99")


def test_of_two_reasons_the_verdict_is_the_wipe():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1", perm=4)
    story.wiped("b0")
    verdict, summary, facts = judged(story)
    assert verdict is Verdict.WRITE_PERM_WIPED
    assert summary == "write permission was wiped by peer:99; it had a route, but no queue to write to"
    assert len(facts) == 2
