"""What each receiver is sent, when, how often, and in which order."""

from datetime import UTC

import msgspec
import pytest

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.notifications.outbox import (
    FOLDED_FROM,
    KEEP_MS,
    LONGEST_PAUSE_MS,
    REFUSALS_LIMIT,
    AttemptEnd,
    AttemptOutcome,
    Outbox,
)
from namekeeper.notifications.receivers import IncidentSeverity, QuietHours
from tests.unit.notifications.seen import (
    ACKNOWLEDGED,
    FAILED,
    REFUSED,
    START,
    found,
    receiver,
    seen,
    sent_until_quiet,
    settings_of,
    started,
)

SECOND, MINUTE = 1_000, 60_000
GRACE = 5 * SECOND


def events(messages):
    return [(each.event, each.incident, each.sequence) for message in messages for each in message.events]


def kinds(messages):
    return [[(str(each.event), each.sequence) for each in message.events] for message in messages]


class World:
    """An outbox with one receiver, and its time."""

    def __init__(self, *incidents, **more):
        self.receiver = receiver(**more)
        self.settings = settings_of(self.receiver)
        self.now = START
        self.outbox = started(self.settings, *incidents)

    def at(self, now, *incidents):
        self.now = now
        self.outbox.tracking.see(seen(*incidents, up_to=now), now)
        self.outbox.plan(self.settings, now)
        return self

    def message(self):
        return self.outbox.next_message(self.receiver, self.settings, self.now)

    def finish(self, outcome):
        return self.outbox.finish("ops", outcome, self.now)

    def sent(self):
        return sent_until_quiet(self.outbox, self.settings, self.now)

    def restarted(self):
        self.outbox = msgspec.json.decode(msgspec.json.encode(self.outbox), type=Outbox)
        return self


def test_one_message_when_it_opens_and_one_when_it_closes():
    world = World()
    world.at(START + MINUTE, found(from_ts=START + MINUTE))
    assert world.sent() == []
    world.at(START + MINUTE + GRACE, found(from_ts=START + MINUTE))
    (opened,) = world.sent()
    assert kinds([opened]) == [[("opened", 1)]]
    assert opened.events[0].facts.why == "connection closed"
    world.at(START + 3 * MINUTE, found(from_ts=START + MINUTE, to_ts=START + 3 * MINUTE))
    world.at(START + 3 * MINUTE + GRACE, found(from_ts=START + MINUTE, to_ts=START + 3 * MINUTE))
    (closed,) = world.sent()
    assert kinds([closed]) == [[("closed", 2)]]
    assert closed.events[0].incident == opened.events[0].incident
    assert world.at(START + 9 * MINUTE, found(from_ts=START + MINUTE, to_ts=START + 3 * MINUTE)).sent() == []


def test_an_incident_within_the_time_of_grace_is_not_sent():
    world = World()
    world.at(START + MINUTE, found(from_ts=START + MINUTE))
    over = found(from_ts=START + MINUTE, to_ts=START + MINUTE + GRACE - 1)
    assert world.at(START + 2 * MINUTE, over).sent() == []


def test_an_incident_that_lasted_longer_than_the_time_of_grace_is_sent_though_it_was_never_seen_open():
    """As when the process was not running."""
    world = World()
    world.restarted().at(START + 9 * MINUTE, found(from_ts=START + MINUTE, to_ts=START + 5 * MINUTE))
    assert kinds(world.sent()) == [[("opened", 1), ("closed", 2)]]


def test_at_the_first_start_open_incidents_are_sent_once_and_others_are_not():
    over = found("broker-b", START - 9 * MINUTE, START - 8 * MINUTE)
    still = found(from_ts=START - 5 * MINUTE)
    world = World(over, still)
    (message,) = world.sent()
    assert [each.facts.subject for each in message.events] == ["broker-a"]
    assert world.restarted().at(START + MINUTE, over, still).sent() == []


def test_a_receiver_that_is_added_later_gets_open_incidents_once():
    world = World(found(from_ts=START - 5 * MINUTE))
    world.sent()
    more = receiver("more")
    settings = settings_of(world.receiver, more)
    over = found("broker-z", START - 20 * MINUTE, START - 19 * MINUTE)
    world.outbox.tracking.see(seen(found(from_ts=START - 5 * MINUTE), over, up_to=START), START)
    world.outbox.plan(settings, START)
    assert kinds(sent_until_quiet(world.outbox, settings, START, "more")) == [[("opened", 1)]]


def test_a_message_that_was_not_acknowledged_is_repeated_unchanged_also_after_a_restart():
    world = World(found(from_ts=START - MINUTE))
    first = world.message()
    assert world.finish(FAILED) is False
    assert world.message() is None
    world.restarted().at(START + MINUTE, found(from_ts=START - MINUTE, topics=3, first_topic="T"))
    assert msgspec.json.encode(world.message()) == msgspec.json.encode(first)
    world.restarted()
    assert msgspec.json.encode(world.message()) == msgspec.json.encode(first)
    world.finish(ACKNOWLEDGED)
    assert world.restarted().message() is None


def test_the_pauses_between_attempts_grow_up_to_a_limit():
    world = World(found(from_ts=START - MINUTE))
    pauses = []
    for _ in range(12):
        assert world.message() is not None
        world.finish(FAILED)
        retry_at = world.outbox.receivers["ops"].retry_at
        pauses.append(retry_at - world.now)
        world.now = retry_at
    assert pauses[:4] == [1_000, 2_000, 4_000, 8_000]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE_MS


@pytest.mark.parametrize(("wish", "pause"), [(90_000, 90_000), (0, 1_000), (10**9, 3_600_000)])
def test_a_receiver_may_ask_for_a_longer_pause_within_a_limit(wish, pause):
    world = World(found(from_ts=START - MINUTE))
    world.message()
    world.finish(AttemptOutcome(AttemptEnd.FAILED, "HTTP 429", wish))
    assert world.outbox.receivers["ops"].retry_at == START + pause


def test_a_clock_that_went_back_does_not_stop_the_attempts():
    world = World(found(from_ts=START - MINUTE))
    world.message()
    world.finish(FAILED)
    world.now -= 86_400_000
    assert world.message() is not None


def test_a_receiver_that_is_down_for_ten_minutes_loses_nothing():
    world = World()
    incidents = [found(from_ts=START + MINUTE)]
    world.at(START + MINUTE, *incidents)
    for second in range(60, 660, 5):
        now = START + second * SECOND
        if second == 120:
            incidents.append(found("broker-b", now))
        if second == 300:
            incidents[0] = found(from_ts=START + MINUTE, to_ts=now)
        if world.at(now, *incidents).message() is not None:
            world.finish(FAILED)
    sent = []
    for second in range(660, 900, 5):
        sent += world.at(START + second * SECOND, *incidents).sent()
    assert [(str(event), number) for event, _, number in events(sent)] == [
        ("opened", 1), ("opened", 1), ("closed", 2),
    ]  # fmt: skip
    assert len(set(events(sent))) == 3


def test_a_message_that_is_refused_again_and_again_is_given_up_with_its_closing():
    world = World(found(from_ts=START - MINUTE))
    given_up = []
    for _ in range(REFUSALS_LIMIT):
        assert world.message() is not None
        given_up.append(world.finish(REFUSED))
        world.now = max(world.now, world.outbox.receivers["ops"].retry_at)
    assert given_up == [*[False] * (REFUSALS_LIMIT - 1), True]
    over = found(from_ts=START - MINUTE, to_ts=world.now)
    assert world.at(world.now + MINUTE, over).sent() == []
    assert world.outbox.receivers["ops"].given_up == 1
    assert kinds(world.at(world.now + MINUTE, over, found("b", world.now)).sent()) == [[("opened", 1)]]


def test_a_message_is_given_up_after_a_day():
    world = World(found(from_ts=START - MINUTE))
    assert world.message() is not None
    world.now += KEEP_MS - 1
    assert world.finish(FAILED) is False
    world.now = world.outbox.receivers["ops"].retry_at
    assert world.message() is not None
    assert world.finish(FAILED) is True


def test_many_brokers_of_one_incident_are_one_message():
    names = [f"broker-{number:02}" for number in range(60)]
    mass = found(names[0], START - MINUTE, kind=IncidentKind.MASS_DISCONNECT, brokers=60, broker_names=names)
    (message,) = World(mass).sent()
    (event,) = message.events
    assert event.facts.what == "60 brokers went together: broker-00, broker-01, broker-02 and 57 more"
    assert event.facts.brokers == 60
    assert event.facts.broker_names == names[:20]


def test_an_incident_that_grows_is_the_same_incident():
    world = World()
    world.at(START + MINUTE, found(from_ts=START + MINUTE))
    names = ["a-broker", "broker-a", "broker-c"]
    mass = found(
        "a-broker",
        START + MINUTE - 2 * SECOND,
        kind=IncidentKind.MASS_DISCONNECT,
        brokers=3,
        broker_names=names,
    )
    world.at(START + 2 * MINUTE, mass)
    assert kinds(world.sent()) == [[("opened", 1)]]
    assert len(world.outbox.tracking.incidents) == 1


def test_several_incidents_at_once_are_folded_into_one_message():
    some = [found(f"b{number}", START - (number + 1) * MINUTE) for number in range(FOLDED_FROM)]
    (message,) = World(*some).sent()
    assert len(message.events) == FOLDED_FROM
    world = World(*some[: FOLDED_FROM - 1])
    assert [len(each.events) for each in world.sent()] == [1] * (FOLDED_FROM - 1)


def test_a_thousand_incidents_in_a_minute_are_a_few_messages():
    world = World(most_per_minute=10)
    incidents, sent = [], []
    for second in range(60):
        now = START + second * SECOND
        incidents += [
            found(f"ns{second}-{number}", now, kind=IncidentKind.NAME_SERVER_DOWN, cluster=None)
            for number in range(17)
        ]
        sent.append(len(world.at(now, *incidents).sent()))
    assert sum(sent) <= 10
    sent += [len(world.at(START + second * SECOND, *incidents).sent()) for second in range(60, 200, 4)]
    assert sum(sent) <= 20
    states = world.outbox.receivers["ops"]
    assert len(states.sequences) == len(incidents) == 1_020
    assert states.waiting == []


def test_a_broker_that_comes_and_goes_is_not_sent_each_time():
    """Closing waits for the time of grace, too."""
    world = World(found(from_ts=START - MINUTE))
    assert len(world.sent()) == 1
    for number in range(10):
        now = START + number * 2 * SECOND
        to_ts = None if number % 2 else now
        assert world.at(now, found(from_ts=START - MINUTE, to_ts=to_ts)).sent() == []


def test_an_incident_that_opens_again_has_the_next_sequence_numbers():
    world = World(found(from_ts=START - MINUTE))
    sent = world.sent()
    for number, to_ts in enumerate([START, None, START + 2 * MINUTE]):
        for seconds in (1, 10):
            now = START + number * MINUTE + seconds * SECOND
            sent += world.at(now, found(from_ts=START - MINUTE, to_ts=to_ts)).sent()
    assert kinds(sent) == [[("opened", 1)], [("closed", 2)], [("opened", 3)], [("closed", 4)]]


def test_what_opens_again_before_its_closing_was_sent_is_not_sent():
    world = World(found(from_ts=START - MINUTE))
    world.sent()
    world.outbox.receivers["ops"].retry_at = START + 10 * MINUTE
    over = found(from_ts=START - MINUTE, to_ts=START)
    for number, each in enumerate([over, over, found(from_ts=START - MINUTE), found(from_ts=START - MINUTE)]):
        world.at(START + (number + 1) * MINUTE, each)
    assert world.outbox.receivers["ops"].waiting == []
    over = found(from_ts=START - MINUTE, to_ts=START + 20 * MINUTE)
    sent = world.at(START + 20 * MINUTE, over).at(START + 21 * MINUTE, over).sent()
    assert kinds(sent) == [[("closed", 2)]]


def test_in_quiet_hours_only_the_worst_is_sent_and_the_rest_after_them():
    hours = QuietHours.parse("22:00-07:00")
    # START is a Friday, 08:00 UTC.
    evening = START + 15 * 60 * MINUTE
    settings = settings_of(receiver(quiet=hours), zone=UTC)
    outbox = started(settings, now=evening)
    mild = found(from_ts=evening - MINUTE)
    bad = found("broker-t", evening - 10 * MINUTE, topics=1, first_topic="T")
    outbox.tracking.see(seen(mild, bad, up_to=evening), evening)
    outbox.plan(settings, evening)
    (message,) = sent_until_quiet(outbox, settings, evening)
    assert [(each.facts.subject, each.severity) for each in message.events] == [
        ("broker-t", IncidentSeverity.CRITICAL)
    ]
    morning = evening + 8 * 60 * MINUTE
    assert kinds(sent_until_quiet(outbox, settings, morning - 1)) == []
    assert kinds(sent_until_quiet(outbox, settings, morning)) == [[("opened", 1)]]


def test_one_receiver_does_not_wait_for_another():
    settings = settings_of(receiver("down"), receiver("up"))
    outbox = started(settings, found(from_ts=START - MINUTE))
    assert outbox.next_message(settings.receivers[0], settings, START) is not None
    outbox.finish("down", FAILED, START)
    assert len(sent_until_quiet(outbox, settings, START, "up")) == 1


def test_incidents_that_are_over_are_forgotten_after_a_week_but_not_before_their_closing_was_sent():
    world = World(found(from_ts=START - MINUTE))
    world.sent()
    week = 7 * 24 * 60 * MINUTE
    over = found(from_ts=START - MINUTE, to_ts=START)
    world.at(START, over)
    world.outbox.plan(world.settings, START + week + 1)
    assert len(world.outbox.tracking.incidents) == 1
    world.now = START + week + 1
    assert kinds(world.sent()) == [[("closed", 2)]]
    world.outbox.plan(world.settings, world.now)
    assert world.outbox.tracking.incidents == {}
    assert world.outbox.receivers["ops"].sequences == {}


def test_receivers_that_are_gone_from_the_settings_are_dropped():
    world = World(found(from_ts=START - MINUTE))
    world.outbox.plan(settings_of(receiver("other")), START)
    assert list(world.outbox.receivers) == ["other"]


def test_a_planned_incident_is_sent_once_its_window_is_over():
    world = World()
    planned = found("b", START, planned="w")
    assert world.at(START + GRACE, planned).message() is None
    assert world.at(START + 10 * MINUTE, planned).message() is None
    world.at(START + 11 * MINUTE, found("b", START))
    assert kinds([world.message()]) == [[("opened", 1)]]


def test_an_incident_that_ends_in_its_window_is_never_sent():
    world = World()
    world.at(START + GRACE, found("b", START, planned="w"))
    for after in (MINUTE, 20 * MINUTE):
        assert world.at(START + after, found("b", START, START + 30 * SECOND, planned="w")).message() is None


def test_the_end_of_an_incident_that_was_sent_is_sent_in_a_window_too():
    world = World(found("b", START - MINUTE))
    assert kinds([world.message()]) == [[("opened", 1)]]
    world.outbox.finish("ops", ACKNOWLEDGED, START)
    world.at(START + MINUTE, found("b", START - MINUTE, START + 30 * SECOND, planned="w"))
    world.at(START + MINUTE + GRACE, found("b", START - MINUTE, START + 30 * SECOND, planned="w"))
    assert kinds([world.message()]) == [[("closed", 2)]]
