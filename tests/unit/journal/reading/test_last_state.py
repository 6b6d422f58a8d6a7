"""The state at the end of a journal: complete, or a reason why there is none."""

import gzip
import re
from pathlib import Path
from random import Random

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.contract.activity import BrokerMinute
from namekeeper.journal.contract.record import BrokerLive, ClockChanged
from namekeeper.journal.disk.heard_file import HeardTimes, save_heard
from namekeeper.journal.disk.identity import Identity
from namekeeper.journal.disk.last_boot import LastBootNote, last_boot_path
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.last_state import LastState, PassedBoot, read_last_state
from namekeeper.journal.reading.reader import find_segments
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.property.histories import random_history
from tests.property.journalled import JournalledServer, shown
from tests.support.journal.folder import UUID8, write_journal

KEY = ("c0", "a0:1")
TOPICS = {name: TopicConfig() for name in ("T0", "T1")}
BROKER = Broker("c0", "b0", 0, "a0:1", conn=1, topics=TOPICS)


@pytest.fixture
def server() -> JournalledServer:
    """A name server with one broker, heard 3 s before it stops."""
    running = JournalledServer()
    running.passed(500)
    register(running)
    running.passed(3_000)
    return running


def register(server: JournalledServer, broker: Broker = BROKER) -> None:
    server.server.begin(registration(broker), broker.conn, server.up_ms, lambda answer: None)
    server.server.run_all(server.up_ms)
    assert server.server.state.tables.broker_live_table.get((broker.cluster, broker.addr))


def read(folder: Path, server: JournalledServer, per_segment: int = 1_000) -> LastState:
    return read_last_state(str(write_journal(folder / "j", server.lines(), per_segment)))


def addresses(last: LastState) -> list[str]:
    return [live.broker_addr for live in last.tables.broker_live_table]


def test_after_an_orderly_stop(server, tmp_path):
    server.stop()
    last = read(tmp_path, server)
    assert (last.namesrv, last.boot, last.port, last.is_stopped) == ("ns_9876", server.boot, 9876, True)
    assert (addresses(last), last.ts, last.idle_ms) == (["a0:1"], server.ts, {KEY: 3_000})
    assert list(last.tables.topics_of("b0")) == ["T0", "T1"]


def test_after_a_crash(server, tmp_path):
    server.alive()
    last = read(tmp_path, server)
    assert (addresses(last), last.is_stopped, last.idle_ms) == (["a0:1"], False, {KEY: 3_000})


def test_a_crash_may_tear_the_last_change(server, tmp_path):
    """What was not durable is gone; its brokers are back with their next registration."""
    server.passed(1_000)
    other = Broker("c0", "b1", 0, "a1:1", conn=2, topics=TOPICS)
    register(server, other)
    server.crash(len([each for each in server.written if each.boot == server.boot]) - 1)
    assert addresses(read(tmp_path, server)) == ["a0:1"]


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_within_a_boot_the_monotonic_clock_counts(server, tmp_path, step_ms):
    server.ts += step_ms
    server.passed(4_000)
    server.stop()
    assert read(tmp_path, server).idle_ms == {KEY: 7_000}


def test_activity_says_when_a_broker_was_heard_last(server, tmp_path):
    server.passed(60_000)
    seen = BrokerMinute(
        cluster="c0", broker_addr="a0:1", broker_name="b0", broker_id=0, gen=1, minute=0, count=2,
        last_seen=server.ts - 8_000,
    )  # fmt: skip
    server.write(seen)
    server.stop()
    assert read(tmp_path, server).idle_ms == {KEY: 8_000}


def test_after_a_crash_the_file_beside_the_records_says_when(server, tmp_path):
    """It was heard after the last record, too."""
    server.alive()
    folder = write_journal(tmp_path / "j", server.lines())
    times = [("c0", "a0:1", server.up_ms + 700), ("c0", "gone:1", 5)]
    save_heard(str(folder), HeardTimes(server.boot, times))
    assert read_last_state(str(folder)).idle_ms == {KEY: -700}


@pytest.mark.parametrize(("after", "seq", "expected"), [(900, 0, 900), (900, 1, 0), (-1, 0, 0)])
def test_that_file_also_says_until_when_the_boot_ran(server, tmp_path, after, seq, expected):
    server.alive()
    folder = write_journal(tmp_path / "j", server.lines())
    times = HeardTimes(server.boot, [], ts=server.ts + after, seq=server.seq + seq)
    save_heard(str(folder), times)
    assert read_last_state(str(folder)).alive_ts == server.ts + expected


@pytest.mark.parametrize(("of_boot", "machine"), [(0, "m"), (1, "")])
def test_it_also_says_on_which_clock_the_boot_ran(server, tmp_path, of_boot, machine):
    """So it is known how long the server was away, whatever the wall clock did."""
    server.alive()
    folder = write_journal(tmp_path / "j", server.lines())
    save_heard(str(folder), HeardTimes(server.boot + of_boot, [], machine="m", began_ms=70_000))
    last = read_last_state(str(folder))
    assert last.machine == machine
    if machine:
        assert last.mono_ms == 70_000 + server.up_ms


@pytest.mark.parametrize(("boot", "up_ms"), [(1, 2_000), (0, 100)])
def test_that_file_makes_no_broker_older_and_counts_for_its_boot_only(server, tmp_path, boot, up_ms):
    server.alive()
    folder = write_journal(tmp_path / "j", server.lines())
    save_heard(str(folder), HeardTimes(server.boot + boot, [("c0", "a0:1", up_ms)]))
    assert read_last_state(str(folder)).idle_ms == {KEY: 3_000}


def test_a_broker_whose_records_do_not_say_when_is_missing_there(server, tmp_path):
    """A checkpoint of an older version does not say how long ago its brokers were heard."""
    server.begin_checkpoint("interval")
    assert server.checkpoint is not None
    for record in server.checkpoint.rows:
        if isinstance(record, BrokerLive):
            record.idle_ms = 0
    begin = len(server.written) - 1
    server.go_on_with_checkpoint(1_000)
    server.stop()
    del server.written[3:begin]  # retention deleted what came before
    server.written = [each for each in server.written if each.seq >= server.written[3].seq]
    last = read(tmp_path, server)
    assert (addresses(last), last.idle_ms) == (["a0:1"], {})


def test_only_the_segments_since_the_last_complete_checkpoint_are_read(server, tmp_path):
    server.begin_checkpoint("interval")
    server.go_on_with_checkpoint(1_000)
    server.alive()
    folder = write_journal(tmp_path / "j", server.lines(), per_segment=4)
    first = find_segments(str(folder))[0]
    (folder / str(first)).write_bytes(gzip.compress(b"damaged\n"))
    assert addresses(read_last_state(str(folder))) == ["a0:1"]


def test_a_checkpoint_that_was_being_written_does_not_count(server, tmp_path):
    server.begin_checkpoint("interval")
    server.go_on_with_checkpoint(2)
    last = read(tmp_path, server, per_segment=4)
    assert (addresses(last), list(last.tables.topics_of("b0"))) == (["a0:1"], ["T0", "T1"])


def test_a_hole_before_the_last_complete_checkpoint_is_healed(server, tmp_path):
    server.drop(3)
    server.begin_checkpoint("recovery")
    server.go_on_with_checkpoint(1_000)
    server.stop()
    assert addresses(read(tmp_path, server)) == ["a0:1"]


def test_a_hole_after_it_is_not(server, tmp_path):
    server.drop(3)
    server.alive()
    with pytest.raises(JournalError, match="records of its last boot are lost"):
        read(tmp_path, server)


def test_a_boot_without_a_complete_checkpoint_is_not_known(server, tmp_path):
    server.written = [each for each in server.written if not each.checkpoint]
    with pytest.raises(JournalError, match="records of its last boot are lost"):
        read(tmp_path, server)


def test_a_boot_that_crashed_before_its_first_change_is_passed_over(server, tmp_path):
    """It had begun with the state before it, and had not recorded that yet."""
    server.stop()
    stopped, stopped_at = server.boot, server.ts
    for keep in (1, 2, 4):
        server.passed(400)
        server.start()
        server.crash(keep)
    last = read(tmp_path, server)
    assert (last.boot, last.ts, addresses(last)) == (stopped, stopped_at, ["a0:1"])


def test_a_boot_that_went_on_without_a_change_counts(server, tmp_path):
    """It had restored nothing, because every broker had expired."""
    server.stop()
    server.start()
    server.alive()
    server.crash(len([each for each in server.written if each.boot == server.boot]))
    last = read(tmp_path, server)
    assert (last.boot, addresses(last)) == (server.boot, [])


@pytest.mark.parametrize("per_segment", [1, 1_000])
def test_it_is_told_when_the_boots_that_were_passed_over_ran(server, tmp_path, per_segment):
    server.stop()
    ran = []
    for up_ms in (2_000, 5_000):
        server.passed(400)
        server.start()
        began = server.ts
        server.passed(up_ms)
        server.write(ClockChanged(step_ms=1_000))
        ran.append(PassedBoot(began, server.ts, up_ms))
        server.crash(len([each for each in server.written if each.boot == server.boot]))
    assert read(tmp_path, server, per_segment).passed == tuple(ran)


def test_a_boot_that_stopped_in_order_counts_without_a_change(server, tmp_path):
    server.stop()
    server.start()
    server.stop()
    last = read(tmp_path, server)
    assert (last.boot, addresses(last)) == (server.boot, [])


def test_every_boot_may_have_been_passed_over(tmp_path):
    server = JournalledServer()
    server.crash(1)
    with pytest.raises(JournalError, match=r"no boot in .* recorded a change"):
        read(tmp_path, server)


def noted(folder: Path, boot: int, seq: int, namesrv: str = "ns_9876", uuid8: str = UUID8) -> str:
    """Note beside a folder that this was on disk."""
    identity = Identity(namesrv, f"{uuid8}-0000-4000-8000-000000000000")
    LastBootNote(str(folder), identity, boot).note(seq)
    return str(folder)


def test_a_boot_that_is_there_as_noted_counts(server, tmp_path):
    server.stop()
    folder = noted(write_journal(tmp_path / "j", server.lines()), server.boot, server.written[-1].seq)
    assert addresses(read_last_state(folder)) == ["a0:1"]


@pytest.mark.parametrize(("boots", "seqs"), [(1, -1), (0, 1)], ids=["a boot", "its end"])
def test_nothing_counts_if_the_newest_records_were_removed(server, tmp_path, boots, seqs):
    """What an earlier boot ended with is not the end of the journal."""
    server.stop()
    boot, seq = server.boot + boots, server.written[-1].seq + seqs
    folder = noted(write_journal(tmp_path / "j", server.lines()), boot, seq)
    with pytest.raises(JournalError, match=f"lost: boot {boot} was here up to seq {seq} at least"):
        read_last_state(folder)


def test_nothing_counts_if_the_end_of_a_boot_without_a_change_was_removed(server, tmp_path):
    server.stop()
    server.start()
    server.crash(2)
    folder = noted(write_journal(tmp_path / "j", server.lines()), server.boot, 3)
    with pytest.raises(JournalError, match=f"lost: boot {server.boot} was here up to seq 3 at least"):
        read_last_state(folder)


@pytest.mark.parametrize(("namesrv", "uuid8"), [("other_9876", UUID8), ("ns_9876", "12345678")])
def test_another_journal_in_its_place_does_not_count(server, tmp_path, namesrv, uuid8):
    """A name server of that name, too, may have had another journal: a backup, or one from before."""
    server.stop()
    folder = noted(write_journal(tmp_path / "j", server.lines()), server.boot, 1, namesrv, uuid8)
    with pytest.raises(JournalError, match=f"what was here was another journal, {uuid8}.* of {namesrv}"):
        read_last_state(folder)


def test_a_note_that_can_not_be_read_says_nothing(server, tmp_path):
    server.stop()
    folder = write_journal(tmp_path / "j", server.lines())
    last_boot_path(str(folder)).write_text("?")
    assert addresses(read_last_state(str(folder))) == ["a0:1"]


def test_rows_that_contradict_each_other_are_refused(server, tmp_path):
    """A member of a group without a live registration would never expire."""
    server.write(
        BrokerLive(cluster="c0", broker_addr="a0:1", broker_name="b0", broker_id=0, gen=1, gone=True)
    )
    server.stop()
    with pytest.raises(JournalError, match="contradict each other"):
        read(tmp_path, server)


def test_a_folder_that_somebody_writes_to_is_left_alone(server, tmp_path):
    folder = write_journal(tmp_path / "j", server.lines())
    release = take_lock(str(folder))
    with pytest.raises(JournalError, match=f"another process writes to {re.escape(str(folder))}"):
        read_last_state(str(folder))
    release()
    assert addresses(read_last_state(str(folder))) == ["a0:1"]


def test_a_folder_that_is_no_journal_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(JournalError, match="is not a journal"):
        read_last_state(str(tmp_path))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_read_is_what_the_server_held_or_nothing(seed, tmp_path):
    server = random_history(Random(seed), 60)
    try:
        last = read(tmp_path, server, per_segment=5)
    except JournalError:
        return
    written = {(each.boot, each.seq) for each in server.written}
    complete = [
        (each.boot, each.seq)
        for each in server.written
        if each.boot == last.boot
        and each.is_end
        and not each.checkpoint
        and all((each.boot, seq) in written for seq in range(each.change, each.seq))
    ]
    truth = server.truth[complete[-1]]
    assert shown(last.tables, truth["kv"], truth["properties"]) == truth
