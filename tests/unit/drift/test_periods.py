"""Times in which name servers saw a subject differently: which subjects changed, and work that topics share."""

from namekeeper.drift.disagreement import KvSubject, Subject, TopicSubject
from namekeeper.drift.periods import OncePerHistory, changed_subjects
from namekeeper.drift.witness import Witness
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import A, align_ends, changes_queues, fleet


def witnesses(stories: list[Story]) -> list[Witness]:
    return [Witness(each.history(), align_ends(stories)) for each in stories]


def test_only_what_changed_after_a_time_is_a_subject():
    stories = fleet(1)
    before = changes_queues(stories[0], A, "other", 8)
    changes_queues(stories[0], A, "orders", 8)
    stories[0].ordered("orders", "broker-a:4")
    assert set(changed_subjects(witnesses(stories), before + 1)) == {
        TopicSubject("orders", "broker-a"), KvSubject("ORDER_TOPIC_CONFIG", "orders"),
    }  # fmt: skip


def test_topics_of_one_broker_name_with_equal_changes_are_looked_at_once():
    stories = fleet(2)
    changes_queues(stories[1], A, "orders", 8)
    asked: list[Subject] = []
    find = OncePerHistory(witnesses(stories), lambda subject: asked.append(subject) or len(asked))
    found = {name: find(TopicSubject(name, "broker-a")) for name in ("orders", "other", "more")}
    assert found == {"orders": 1, "other": 2, "more": 2}
    assert find(TopicSubject("other", "broker-b")) == 3
