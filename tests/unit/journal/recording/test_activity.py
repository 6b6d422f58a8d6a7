"""What is counted adds up, minute by minute, and nothing that peers send makes it grow without bound."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.journal.contract.activity import EDGES_MS, Access, BrokerMinute, Denied, UnknownTopicMinute
from namekeeper.journal.recording.activity import MAX_ACCESS, MAX_DENIED, MAX_UNKNOWN, MINUTE_MS, Activity
from namekeeper.model.version import DataVersion
from namekeeper.route.events import BrokerHeard, BrokerLiveChanged, BrokerLiveGone, Cause

MINUTE = 28_333_333 * MINUTE_MS
BROKER = ("DefaultCluster", "10.0.0.1:10911")


def changed(gen=1, *, is_new=True, gap_ms=0, body_bytes=100):
    return BrokerLiveChanged(
        *BROKER,
        "broker-a",
        0,
        "",
        120_000,
        DataVersion(),
        1,
        "10.9.0.1:5000",
        gen,
        is_new,
        gap_ms,
        body_bytes,
    )


def heard(gap_ms=30_000, gen=1, *, is_registration=False, body_bytes=0):
    return BrokerHeard(*BROKER, gen, gap_ms, is_registration, body_bytes)


def gone(gen=1):
    return BrokerLiveGone(*BROKER, "broker-a", 0, gen, Cause.EXPIRED, 5, 120_000)


def flushed(activity):
    return list(activity.flush(MINUTE))


def test_signs_of_life_of_a_minute_are_one_record():
    activity = Activity()
    activity.live_changed(changed(body_bytes=700), MINUTE)
    activity.heard(heard(999), MINUTE + 1_000)
    activity.heard(heard(1_000, is_registration=True, body_bytes=800), MINUTE + 2_000)
    activity.heard(heard(200_000), MINUTE + 59_999)
    (record,) = flushed(activity)
    assert record == BrokerMinute(
        cluster="DefaultCluster", broker_addr="10.0.0.1:10911", broker_name="broker-a", broker_id=0, gen=1,
        minute=MINUTE, last_seen=MINUTE + 59_999, count=4, registrations=2, max_gap_ms=200_000,
        gaps=[1, 1, 0, 0, 0, 0, 0, 1], body_bytes=800,
    )  # fmt: skip
    assert flushed(activity) == []


def test_a_restored_registration_was_not_heard():
    activity = Activity()
    activity.live_changed(structs.replace(changed(), idle_ms=5), MINUTE)
    assert flushed(activity) == []
    activity.heard(heard(1_000), MINUTE + 1_000)
    (record,) = flushed(activity)
    assert (record.count, record.registrations, record.last_seen) == (1, 0, MINUTE + 1_000)


def test_a_registration_that_changes_ends_a_silence_and_a_new_one_none():
    activity = Activity()
    activity.live_changed(changed(gap_ms=9_000), MINUTE)
    activity.live_changed(changed(is_new=False, gap_ms=4_000), MINUTE + 4_000)
    (record,) = flushed(activity)
    assert (record.count, record.registrations, record.max_gap_ms, sum(record.gaps)) == (2, 2, 4_000, 1)


def test_a_minute_that_is_over_is_due_when_the_next_begins():
    activity = Activity()
    activity.live_changed(changed(), MINUTE)
    assert not activity.has_due
    activity.heard(heard(), MINUTE + MINUTE_MS)
    assert activity.has_due
    (first,) = activity.take_due()
    assert (first.minute, first.count) == (MINUTE, 1)
    (second,) = flushed(activity)
    assert (second.minute, second.count) == (MINUTE + MINUTE_MS, 1)


def test_the_end_of_a_session_is_due_at_once_and_so_is_its_replacement():
    activity = Activity()
    activity.live_changed(changed(), MINUTE)
    activity.live_changed(changed(gen=2), MINUTE + 10)
    activity.live_gone(gone(gen=2))
    assert [(record.gen, record.count) for record in activity.take_due()] == [(1, 1), (2, 1)]
    activity.live_gone(gone(gen=2))
    activity.heard(heard(), MINUTE)
    assert not activity.has_due
    assert flushed(activity) == []


def test_registrations_that_were_there_before_are_counted():
    activity = Activity([changed(gen=7, is_new=False)])
    activity.heard(heard(gen=7), MINUTE)
    (record,) = flushed(activity)
    assert (record.broker_name, record.broker_id, record.gen, record.count) == ("broker-a", 0, 7, 1)


def test_topics_nobody_has_are_counted_by_client():
    activity = Activity()
    for version in (453, 453, 513):
        activity.unknown_topic("%RETRY%group|1", "JAVA", version)
    activity.unknown_topic("T", None, 0)
    assert flushed(activity) == [
        UnknownTopicMinute(
            minute=MINUTE, topic="%RETRY%group|1", language="JAVA", client_version=453, count=2
        ),
        UnknownTopicMinute(
            minute=MINUTE, topic="%RETRY%group|1", language="JAVA", client_version=513, count=1
        ),
        UnknownTopicMinute(minute=MINUTE, topic="T", language="", client_version=0, count=1),
    ]


def test_names_that_can_not_be_topics_are_never_stored():
    activity = Activity()
    for topic in (None, "", "a b", "a\n", "ü", "../etc", "x" * 256, "'; drop"):
        activity.unknown_topic(topic, "JAVA", 1)
    assert flushed(activity) == [UnknownTopicMinute(minute=MINUTE, bucket="invalid", count=8)]


def test_made_up_names_are_bounded():
    activity = Activity()
    for number in range(MAX_UNKNOWN + 50):
        activity.unknown_topic(f"T{number}", "JAVA", 1)
    activity.unknown_topic("T0", "JAVA", 1)
    records = flushed(activity)
    assert len(records) == MAX_UNKNOWN + 1
    assert (records[0].topic, records[0].count) == ("T0", 2)
    assert records[-1] == UnknownTopicMinute(minute=MINUTE, bucket="other", count=50)


def test_denials_are_counted_by_peer_and_bounded():
    activity = Activity()
    for number in range(MAX_DENIED + 7):
        activity.denied(318, f"10.0.0.{number}", "no")
    activity.denied(318, "10.0.0.0", "no")
    records = flushed(activity)
    assert records[0] == Denied(code=318, host="10.0.0.0", reason="no", count=2)
    assert records[-1] == Denied(code=318, host="", reason="no", count=7)
    assert len(records) == MAX_DENIED + 1
    assert flushed(activity) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["begin", "heard", "change", "end"]), st.integers(0, 200_000)), max_size=40
    )
)
def test_every_sign_of_life_of_a_session_is_counted_once(happened):
    activity, now, gen, is_there, signs, records = Activity(), MINUTE, 0, False, 0, []
    for what, passed in happened:
        now += passed
        if what == "begin":
            gen, is_there = gen + 1, True
            activity.live_changed(changed(gen=gen), now)
        elif what == "end":
            is_there = False
            activity.live_gone(gone(gen=gen))
        elif what == "heard":
            activity.heard(heard(passed, gen=gen), now)
        else:
            activity.live_changed(changed(gen=gen, is_new=False, gap_ms=passed), now)
        signs += is_there
        records += activity.take_due()
    records += flushed(activity)
    assert sum(record.count for record in records) == signs
    for record in records:
        assert len(record.gaps) == len(EDGES_MS) + 1
        assert sum(record.gaps) <= record.count
        assert record.minute <= record.last_seen < record.minute + MINUTE_MS


def test_judged_requests_have_records_up_to_a_limit_and_are_counted_beyond_it():
    activity = Activity()
    judged = Access(code=216, rule="r", mode="enforce", user="ops", about=["topics=T"], count=1)
    kept = [activity.access(judged) for _ in range(MAX_ACCESS + 3)]
    assert kept == [True] * MAX_ACCESS + [False] * 3
    assert flushed(activity) == [Access(code=216, rule="r", mode="enforce", count=3)]
    assert flushed(activity) == []
    assert activity.access(judged)
