"""The comparison of a shadow as one sentence, and as a value for JSON with a limited number of rows."""

import pytest

from namekeeper.drift.shadow import ShadowReport
from namekeeper.drift.shadow_value import shadow_summary, shadow_value
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import A, changes_queues
from tests.unit.drift.test_shadow import compared, with_shadow


@pytest.fixture
def report() -> ShadowReport:
    """Two differences that are over, two of the present, and five brokers that do not register with the shadow."""
    stories = with_shadow(1)
    for number in range(5):
        stories[0].registers(f"broker-{number}", f"10.0.1.{number}:10911")
    for count in (8, 16):
        for story in stories:
            changes_queues(story, A, "orders", count)
            story.later(2 * MINUTE)
    stories[0].wiped("broker-a")
    stories[0].ordered("orders", "broker-a:4")
    return compared(stories)


def test_of_many_brokers_three_are_named(report: ShadowReport):
    assert len(report.not_registered) == 5
    stories = with_shadow(1)
    for number in range(5):
        stories[0].registers(f"broker-{number}", f"10.0.1.{number}:10911")
    text = shadow_summary(compared(stories))
    assert "; 5 brokers do not register with it: broker-0 (10.0.1.0:10911); broker-1" in text
    assert text.endswith("; and 2 more")


def test_rows_beyond_the_limit_are_counted(report: ShadowReport):
    found = shadow_value(report, 1)
    assert (len(found.differences), found.differences_total) == (1, 2)
    assert (len(found.not_registered), found.not_registered_total) == (1, 5)
    assert (len(shadow_value(report, 9).differences), len(shadow_value(report, 9).not_registered)) == (2, 5)


def test_a_difference_that_is_over_has_its_end():
    stories = with_shadow(1)
    changes_queues(stories[0], A, "orders", 8)
    stories[1].later(2 * MINUTE)
    to = changes_queues(stories[1], A, "orders", 8)
    (ended,) = shadow_value(compared(stories), 9).ended
    assert (ended.to, [each.topics for each in ended.verdicts]) == (to, [["orders"]])


def test_without_a_broker_at_both_sides_it_was_never_equal():
    stories = [*with_shadow(1)[:1], Story("shadow")]
    text = shadow_summary(compared(stories))
    assert text.startswith("no broker has registered with it and another name server yet; 2 brokers do not")
