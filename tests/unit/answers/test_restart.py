"""Who was back after a name server started."""

from namekeeper.answers.without_route import brokers_back
from tests.unit.answers.story import Story


def test_those_who_were_there_when_the_boot_before_ended_count():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    story.registers("b2", "a2:1")
    story.unregisters("a2:1")
    began = story.restarts()
    story.registers("b1", "a1:1")
    story.registers("b9", "a9:1")
    found = brokers_back(story.evidence(), story.now, began)
    assert (found.known, found.back, found.after_ms) == (2, 1, 2_000)
    assert {session.broker_addr for session in found.sessions} == {"a1:1", "a9:1"}
    assert brokers_back(story.evidence(), began, began).back == 0


def test_who_was_restored_is_not_back_until_it_registers():
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    story.registers("b2", "a2:1")
    began = story.restarts_with_its_routes()
    assert (brokers_back(story.evidence(), story.now, began).restored) == 3
    story.registers("b1", "a1:1")
    story.unregisters("a2:1")
    found = brokers_back(story.evidence(), story.now, began)
    assert (found.known, found.back, found.restored) == (3, 1, 1)


def test_boots_before_the_last_one_do_not_count():
    story = Story()
    story.registers("b0", "a0:1")
    story.restarts()
    story.registers("b1", "a1:1")
    began = story.restarts()
    found = brokers_back(story.evidence(), story.now, began)
    assert (found.known, found.back) == (1, 0)


def test_who_was_gone_before_the_boot_ended_does_not_count_though_a_loss_interrupted_it():
    """The loss was healed by a checkpoint, and the broker unregistered after that."""
    story = Story()
    story.registers("b0", "a0:1")
    story.registers("b1", "a1:1")
    loses_records(story)
    story.unregisters("a1:1")
    began = story.restarts()
    found = brokers_back(story.evidence(), story.now, began)
    assert (found.known, found.back) == (1, 0)


def test_nobody_counts_if_nobody_was_there_when_the_boot_before_ended():
    story = Story()
    story.registers("b0", "a0:1")
    loses_records(story)
    story.unregisters("a0:1")
    story.alive()
    began = story.restarts()
    assert brokers_back(story.evidence(), story.now, began).known == 0


def loses_records(story: Story) -> None:
    """Records are lost, and a checkpoint says what is there."""
    story.journal.drop(1)
    story.later()
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(1_000)
    story.alive()


def test_without_a_boot_before_nobody_is_known():
    story = Story()
    found = brokers_back(story.evidence(), story.now, story.now)
    assert (found.known, found.back, found.sessions) == (0, 0, [])
