"""When a broker was last heard, from records whose wall clock may step."""

import pytest

from namekeeper.journal.contract.activity import BrokerMinute
from namekeeper.journal.contract.record import BrokerLive, CheckpointBegin, ClockChanged, Record
from namekeeper.journal.reading.last_heard import LastHeard

KEY = ("c", "a:1")
NOON = 1_700_000_000_000


def live(up_ms: int, **more) -> BrokerLive:
    return BrokerLive(
        cluster="c",
        broker_addr="a:1",
        broker_name="b",
        broker_id=0,
        gen=1,
        up_ms=up_ms,
        ts=NOON + up_ms,
        **more,
    )


def minute(up_ms: int, last_seen: int, *, ts: int | None = None) -> BrokerMinute:
    """A record written `up_ms` after the begin of the boot, by default with a clock that made no step."""
    return BrokerMinute(
        cluster="c", broker_addr="a:1", broker_name="b", broker_id=0, gen=1, minute=0, count=1,
        last_seen=last_seen, up_ms=up_ms, ts=NOON + up_ms if ts is None else ts,
    )  # fmt: skip


def heard(*records: Record) -> int | None:
    following = LastHeard()
    for record in records:
        following.take(record)
    return following.up_ms.get(KEY)


def test_a_registration_is_heard_when_it_is_recorded():
    assert heard(live(5), live(700)) == 700


def test_the_end_of_one_is_no_sign_of_life():
    assert heard(live(5), live(900, gone=True, idle_ms=895)) == 5


def test_a_restored_one_was_heard_before_the_boot():
    assert heard(live(3, cause="restored", idle_ms=9_000)) == -8_997


def test_a_row_of_a_checkpoint_says_how_long_before_its_begin():
    begin = CheckpointBegin(reason="interval", up_ms=50_000)
    assert heard(begin, live(50_300, checkpoint=7, idle_ms=2_000)) == 48_000


def test_a_row_of_a_checkpoint_of_an_older_version_does_not_say():
    assert heard(CheckpointBegin(reason="interval", up_ms=50_000), live(50_300, checkpoint=7)) is None


def test_a_row_of_a_checkpoint_takes_nothing_back():
    """A change was recorded between the begin and the row."""
    begin = CheckpointBegin(reason="interval", up_ms=50_000)
    assert heard(begin, live(50_200), live(50_300, checkpoint=7, idle_ms=2_000)) == 50_200


def test_activity_says_when():
    assert heard(live(0), minute(60_000, NOON + 41_000)) == 41_000


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000, 5_000])
def test_activity_over_a_step_of_the_clock_says_nothing(step_ms):
    """It was heard at 41 s, the clock stepped at 50 s, the record was written at 60 s."""
    step = ClockChanged(step_ms=step_ms, up_ms=50_000)
    late = minute(60_000, NOON + 41_000, ts=NOON + 60_000 + step_ms)
    assert heard(live(9_000), step, late) == 9_000


def test_activity_before_a_step_back_within_a_minute_says_nothing():
    """Heard at 41 s, 5 s back at 44 s: by its time of the wall clock it was heard at 46 s."""
    step = ClockChanged(step_ms=-5_000, up_ms=44_000)
    assert heard(live(9_000), step, minute(60_000, NOON + 41_000, ts=NOON + 55_000)) == 9_000


def test_activity_after_a_step_of_the_clock_counts_again():
    step = ClockChanged(step_ms=3_600_000, up_ms=50_000)
    later = minute(120_000, NOON + 3_600_000 + 101_000, ts=NOON + 3_600_000 + 120_000)
    assert heard(live(9_000), step, later) == 101_000


def test_steps_back_that_follow_each_other_add_up():
    """Heard at 41 s, 5 s back at 44 s, 30 s back at 45 s: by its time of the wall clock it was heard at 76 s."""
    steps = (ClockChanged(step_ms=-5_000, up_ms=44_000), ClockChanged(step_ms=-30_000, up_ms=45_000))
    late = minute(80_000, NOON + 41_000, ts=NOON + 45_000)
    assert heard(live(9_000), *steps, late) == 9_000
