"""What access rules refused, beside the cause that `why` names."""

import pytest

from namekeeper.answers.refusals import facts_of_refusals
from tests.unit.answers.story import MINUTE, Story

REGISTER = "REGISTER_BROKER (103) clusters=c brokers=b0 from 10.9.9.9 was refused"


@pytest.fixture
def story() -> Story:
    incident = Story()
    incident.registers()
    return incident


def said(story: Story, at: int | None = None, topic: str = "T") -> list[str]:
    return [fact.text for fact in facts_of_refusals(story.evidence(topic), story.now if at is None else at)]


def test_nothing_refused_is_no_fact(story):
    assert said(story) == []


def test_a_broker_of_the_topic_that_was_refused_is_named_with_the_rule(story):
    story.refused(103, "clusters=c", "brokers=b0")
    assert said(story) == [f"{REGISTER} because no access rule covers it"]
    at = story.refused(103, "clusters=c", "brokers=b0")
    assert said(story) == [
        f"{REGISTER} because no access rule covers it (the last of 2 times within the hour before)"
    ]
    assert facts_of_refusals(story.evidence("T"), story.now)[0].at == at


def test_the_user_and_the_rule_are_named(story):
    story.refused(216, "topics=T", rule="no deletions", user="guest")
    assert said(story) == [
        (
            "DELETE_TOPIC_IN_NAMESRV (216) topics=T from 10.9.9.9, user guest was refused by"
            " access rule 'no deletions'"
        )
    ]


@pytest.mark.parametrize(
    ("code", "about"),
    [(103, ("brokers=another",)), (216, ("topics=U",)), (100, ("namespaces=n",)), (318, ())],
)
def test_what_is_about_something_else_is_left_out(story, code, about):
    story.refused(code, *about)
    assert said(story) == []


def test_of_a_topic_that_nobody_has_every_refused_registration_may_be_the_reason(story):
    story.refused(103, "clusters=c", "brokers=new")
    story.refused(205, "brokers=new")
    assert len(said(story, topic="U")) == 1


def test_what_was_only_noted_did_no_harm(story):
    story.refused(103, "brokers=b0", mode="audit")
    story.refused(103, "brokers=b0", allowed=True)
    assert said(story) == []


def test_only_the_hour_before_counts(story):
    at = story.refused(103, "brokers=b0")
    assert len(said(story, at=at)) == 1
    assert said(story, at=at - 1) == []
    assert len(said(story, at=at + 60 * MINUTE)) == 1
    assert said(story, at=at + 60 * MINUTE + 1) == []


def test_many_kinds_are_few_facts(story):
    for number in range(8):
        story.refused(205, "brokers=b0", rule=f"rule {number}")
    found = said(story)
    assert [text.split(" was ")[-1] for text in found[:1]] == ["refused by access rule 'rule 7'"]
    assert (len(found), found[-1]) == (6, "3 other kinds of requests were refused")


def test_those_that_are_counted_together_have_no_peer(story):
    story.refused(103, count=1_000)
    assert said(story, topic="U") == [
        (
            "REGISTER_BROKER (103) from several peers was refused because no access rule covers it"
            " (the last of 1,000 times within the hour before)"
        )
    ]


def test_a_code_of_a_newer_version_is_shown_as_its_number(story):
    story.refused(4711, "topics=T")
    assert said(story)[0].startswith("4711 topics=T from")
