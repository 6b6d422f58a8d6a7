"""Why a topic had no route: each cause with its evidence, at the instant before and after."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from namekeeper.answers.explain import explain
from namekeeper.answers.verdict import Verdict
from tests.unit.answers.story import MINUTE, Story


@pytest.fixture
def story() -> Story:
    incident = Story()
    incident.registers()
    incident.later()
    return incident


def why(story: Story, at: int | None = None, *others: Story, topic: str = "T") -> Any:
    first, *_ = explain([each.evidence(topic) for each in (story, *others)], at)
    return first


def texts(explanation: Any) -> str:
    return "\n".join(fact.text for fact in explanation.facts)


def test_a_topic_with_queues_to_write_to_had_a_route(story):
    story.alive()
    found = why(story)
    assert found.verdict is Verdict.HAS_ROUTE
    assert found.at == found.knows_up_to == story.now
    assert texts(found) == "b0: 4 read and 4 write queues, RW-, registered by peer:1"


def test_a_topic_that_nobody_registered(story):
    story.alive()
    found = why(story, topic="U")
    assert (found.verdict, found.summary) == (
        Verdict.NEVER_REGISTERED,
        "never registered, as far as its records show",
    )


def test_a_topic_that_others_have(story):
    other = Story("ns2")
    other.alive()
    story.alive()
    other.later(story.now - other.now)
    other.alive()
    found = why(other, story.now, story)
    assert (found.verdict, found.summary) == (
        Verdict.NOT_ON_THIS_ONE,
        "registered on ns_9876, but never on this name server",
    )
    assert texts(found) == "ns_9876: b0: 4 read and 4 write queues, RW-, registered by peer:1"


def test_a_topic_that_others_had(story):
    story.deleted()
    other = Story("ns2")
    other.later(story.now - other.now)
    other.alive()
    found = why(other, None, story)
    assert (found.verdict, found.summary) == (
        Verdict.NOT_ON_THIS_ONE,
        "never registered here; ns_9876 had it before",
    )


def test_a_broker_that_expired(story):
    gone = story.expires()
    story.alive()
    assert why(story, gone - 1).verdict is Verdict.HAS_ROUTE
    found = why(story, gone)
    assert (found.verdict, found.summary) == (Verdict.BROKER_GONE, "b0 expired")
    assert texts(found) == "b0 (a0:1) expired, 3 min after it was last heard"
    assert found.facts[0].at == gone


def test_a_broker_that_lost_its_connection(story):
    story.heard()
    story.connection_breaks()
    found = why(story)
    assert (found.verdict, found.summary) == (Verdict.BROKER_GONE, "b0 lost its connection")
    assert texts(found) == "b0 (a0:1) lost its connection, 1 s after it was last heard"


def test_a_broker_that_was_unregistered(story):
    story.unregisters()
    found = why(story)
    assert (found.verdict, found.summary) == (Verdict.BROKER_GONE, "b0 was unregistered")
    assert texts(found).startswith("b0 (a0:1) was unregistered by peer:1, ")


def test_a_broker_whose_address_took_another_name(story):
    story.registers("b9", topics=())
    found = why(story)
    assert found.verdict is Verdict.BROKER_GONE
    assert found.summary == "b0 was replaced by another address or name"


def test_a_topic_that_was_deleted(story):
    gone = story.deleted()
    found = why(story, gone)
    assert (found.verdict, found.summary) == (Verdict.DELETED, "the topic was deleted by peer:99")
    assert (texts(found), found.facts[0].at) == ("deleted on b0 by peer:99", gone)


def test_a_topic_that_its_broker_does_not_bring_any_more(story):
    story.journal.server.ask(_switch(), 99, story.journal.up_ms)
    story.registers(topics=())
    found = why(story)
    assert (found.verdict, found.summary) == (Verdict.DROPPED_BY_BROKER, "b0 registered without it")


def test_a_write_permission_that_was_wiped(story):
    wiped = story.wiped()
    story.alive()
    assert why(story, wiped - 1).verdict is Verdict.HAS_ROUTE
    found = why(story)
    assert (found.verdict, found.summary) == (
        Verdict.WRITE_PERM_WIPED,
        "write permission was wiped by peer:99",
    )
    assert (texts(found), found.facts[0].at) == (
        "b0: 4 read and 4 write queues, R--, write permission wiped by peer:99",
        wiped,
    )


def test_who_wiped_is_known_beyond_a_loss_of_records(story):
    wiped = story.wiped()
    story.alive()
    story.journal.drop(1)
    story.later()
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(1_000)
    story.alive()
    found = why(story)
    assert (found.verdict, found.facts[0].at) == (Verdict.WRITE_PERM_WIPED, wiped)


def test_a_master_that_is_gone_while_a_slave_acts(story):
    story.registers(addr="a0:1", acting=True)
    story.registers(addr="a1:1", broker_id=1, acting=True)
    story.unregisters("a0:1")
    found = why(story)
    assert found.verdict is Verdict.MASTER_GONE
    assert "not writable since its master was unregistered" in texts(found)


def test_a_topic_that_was_registered_without_writing(story):
    story.registers(topics=("R",), perm=4)
    found = why(story, topic="R")
    assert (found.verdict, found.summary) == (
        Verdict.NOT_WRITABLE,
        "it had a route, but no queue to write to",
    )


def test_a_name_server_that_had_just_started(story):
    story.registers("b1", "a1:1", topics=())
    began = story.restarts()
    story.registers("b1", "a1:1", topics=())
    found = why(story)
    assert found.verdict is Verdict.JUST_STARTED
    assert found.summary == "the name server had started 1 s before; 1 of 2 known brokers were back"
    assert found.facts[0].at == began
    assert "b0, which had it until here, was not back" in texts(found)
    story.registers()
    assert why(story).verdict is Verdict.HAS_ROUTE


def test_a_broker_that_came_back_without_the_topic(story):
    story.restarts()
    story.registers(topics=())
    assert "b0 registered at a0:1 without the topic" in texts(why(story))


def test_a_broker_that_did_not_come_back_for_long(story):
    story.restarts()
    story.later(2 * MINUTE)
    story.alive()
    assert why(story).verdict is Verdict.NOT_BACK


def test_a_topic_that_was_deleted_in_an_earlier_boot_is_not_waited_for(story):
    story.deleted()
    story.restarts()
    found = why(story)
    assert found.verdict is Verdict.DELETED


def test_records_that_were_lost(story):
    story.alive()
    since = story.now
    story.journal.drop(2)
    story.later()
    story.journal.begin_checkpoint("recovery")
    until = story.now
    story.journal.go_on_with_checkpoint(1_000)
    story.alive()
    found = why(story, since)
    assert (found.verdict, found.summary) == (Verdict.UNKNOWN, "unknown, because records were lost")
    assert [fact.at for fact in found.facts] == [since, until, since, until]
    assert why(story, until).verdict is Verdict.HAS_ROUTE


def test_what_went_while_records_were_lost_is_unknown(story):
    story.alive()
    story.journal.dropping = True
    story.deleted()
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(1_000)
    story.alive()
    found = why(story)
    assert (found.verdict, found.summary) == (Verdict.UNKNOWN, "it ended while records were lost")
    assert texts(found) == "b0 had it until records were lost"


def test_a_crash_is_a_loss_until_the_next_start(story):
    story.alive()
    before = story.now
    began = story.crashes()
    assert why(story, began - 1).verdict is Verdict.UNKNOWN
    assert why(story, before - 1).verdict is Verdict.HAS_ROUTE
    assert why(story, began).verdict is Verdict.JUST_STARTED


def test_a_name_server_that_was_stopped(story):
    began = story.restarts(down_ms=10_000)
    found = why(story, began - 5_000)
    assert (found.verdict, found.summary) == (Verdict.STOPPED, "the name server was not running")
    assert [fact.at for fact in found.facts] == [began - 10_000, began]


def test_what_is_not_known_yet(story):
    story.alive()
    found = why(story, story.now + 1)
    assert (found.verdict, found.facts[0].at) == (Verdict.NOT_YET, story.now)
    story.journal.stop()
    assert "was stopped" in why(story, story.now + 1).summary


def test_without_records_nothing_is_known():
    story = Story()
    story.journal.written.clear()
    found = why(story)
    assert (found.verdict, found.at, found.knows_up_to, found.facts) == (Verdict.NOT_YET, 0, None, [])


def test_without_a_whole_checkpoint_nothing_is_known_before_the_end(story):
    del story.journal.written[1:]
    found = why(story)
    assert (found.verdict, found.facts) == (Verdict.BEFORE, [])


def test_a_loss_that_goes_on_has_no_end(story):
    story.alive()
    story.journal.drop(1)
    story.alive()
    found = why(story)
    assert (found.verdict, len(found.facts)) == (Verdict.UNKNOWN, 2)


def test_a_name_server_that_was_stopped_for_good(story):
    story.journal.stop()
    story.journal.written.append(story.journal.written[-1])
    found = why(story, story.now)
    assert (found.verdict, len(found.facts)) == (Verdict.STOPPED, 1)


def test_a_topic_that_may_have_been_there_while_records_were_lost(story):
    story.alive()
    story.journal.drop(1)
    story.later()
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(1_000)
    found = why(story, topic="U")
    assert found.verdict is Verdict.NEVER_REGISTERED
    assert "records were lost from here on: it may have been registered then" in texts(found)


def test_what_was_before_the_journal(story):
    found = why(story, 5)
    assert (found.verdict, found.facts[0].at) == (Verdict.BEFORE, story.journal.boots[0])


def test_how_often_it_was_asked_for(story):
    story.deleted()
    story.asked_in_vain(count=3)
    story.asked_in_vain(count=4)
    story.later()
    story.alive()
    found = texts(why(story))
    assert "7 look-ups without a route by clients of JAVA, within the hour before; the first" in found
    story.later(61 * MINUTE)
    story.alive()
    assert "look-ups without" not in texts(why(story))


def test_look_ups_of_the_same_minute_may_have_come_later(story):
    """They are counted by the minute, so they are told apart from those before."""
    story.deleted()
    at = story.asked_in_vain(count=3)
    story.later()
    story.alive()
    found = why(story, at)
    assert "within the hour before" not in texts(found)
    assert found.facts[-1].text.startswith("3 look-ups without a route by clients of JAVA, before or after")


def test_look_ups_do_not_begin_before_the_first_record():
    """The first minute of a name server began before it."""
    story = Story()
    story.asked_in_vain()
    story.later()
    story.alive()
    (fact,) = [fact for fact in why(story).facts if "look-ups" in fact.text]
    assert fact.at == story.journal.boots[0]
    assert story.journal.boots[0] % MINUTE


def test_who_asked_may_be_unknown(story):
    story.deleted()
    story.asked_in_vain(count=2, language="")
    assert "2 look-ups without a route by clients that name no language" in texts(why(story))


def test_one_is_not_written_as_many(story):
    story.deleted()
    story.asked_in_vain(count=1)
    assert "1 look-up without a route by clients of JAVA" in texts(why(story))


def _switch():
    from tests.support.java_model.values import Request

    return Request(318, {}, b"deleteTopicWithBrokerRegistration=true\n")


class Counted(list[Any]):
    """A list that counts how often it is gone through."""

    passes = 0

    def __iter__(self) -> Iterator[Any]:
        self.passes += 1
        return super().__iter__()

    def __reversed__(self) -> Iterator[Any]:
        self.passes += 1
        return super().__reversed__()


@pytest.mark.parametrize("how", ["lost", "wiped", "restarted", "restored"])
def test_rows_are_gone_through_as_often_for_many_brokers_as_for_few(how):
    """Of 4,000 brokers with the topic, each went through the sessions of all: the answer took minutes."""

    def passes(count: int) -> int:
        story = Story()
        for number in range(count):
            story.registers(f"b{number}", f"a{number}:1")
        for number in range(count):
            if how == "lost":
                story.connection_breaks(f"a{number}:1")
            elif how == "wiped":
                story.wiped(f"b{number}")
        if how == "restarted":
            story.restarts()
        elif how == "restored":
            story.restarts_with_its_routes()
            for number in range(count):
                story.wiped(f"b{number}")
        story.later(10 * MINUTE)
        story.ordered("another")
        evidence = story.evidence()
        routes, sessions = Counted(evidence.routes), Counted(evidence.sessions)
        assert len(routes) >= count
        (found,) = explain([structs.replace(evidence, routes=routes, sessions=sessions)])
        assert len(found.facts) >= count
        return routes.passes + sessions.passes

    assert passes(12) == passes(3)
