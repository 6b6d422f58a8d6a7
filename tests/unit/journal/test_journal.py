"""The two halves together: a thread that writes what a loop records, started and stopped in order."""

import asyncio
import shutil
import threading

import pytest
from msgspec import structs

from namekeeper.errors import JournalError
from namekeeper.journal import journal as module
from namekeeper.journal.disk.heard_file import load_heard
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.journal import Journal, Pauses, StopTime
from namekeeper.journal.queue.messages import CheckpointNeeded
from namekeeper.journal.reading.verify import verify
from namekeeper.journal.recording.recorder import IDLE_S
from namekeeper.journal.recording.snapshot import Snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.journal.settings import JournalSettings, Limits, SegmentSettings, WriterSettings
from tests.support.system.processes import eventually
from tests.support.system.waiting import PATIENCE
from tests.unit.journal.disk_parts import records_in
from tests.unit.journal.loop_parts import Clock, kv_change

SETTINGS = JournalSettings(server_version="1.2.3", scan_interval_ms=5_000)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name in ("GROUP_S", "BUSY_S", "IDLE_S", "AFTER_A_BUG_S"):
        monkeypatch.setattr(module, name, 0.005)


@pytest.fixture
def clock():
    return Clock()


def journal(clock, settings=SETTINGS) -> Journal:
    source = Source(lambda: Snapshot({}, (), ()), lambda: 0, dict)
    return Journal(settings, source, clock=clock)


def writer(path) -> WriterSettings:
    return WriterSettings(folder=str(path), namesrv="ns_9876", segments=SegmentSettings(fsync_interval_ms=1))


def stop(made: Journal) -> None:
    made.end()
    assert made.join(20 * PATIENCE)
    assert not [thread for thread in threading.enumerate() if thread.name == "JournalThread"]


def test_the_label_of_the_cluster_is_in_the_start_and_in_each_checkpoint(tmp_path, clock):
    made = journal(clock, structs.replace(SETTINGS, cluster_label="east"))
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    stop(made)
    labels = [record.get("cluster_label") for record in records_in(tmp_path)]
    assert labels[:2] == ["east", "east"]
    assert set(labels[2:]) == {None}


def test_what_is_recorded_before_the_thread_starts_is_written_first(tmp_path, clock):
    made = journal(clock)
    made.recorder.begin()
    made.recorder.record(kv_change())
    made.start(writer(tmp_path), 9876)
    stop(made)
    records = records_in(tmp_path)
    assert [record["kind"] for record in records] == [
        "server_started", "checkpoint_begin", "checkpoint_end", "kv", "server_stopped",
    ]  # fmt: skip
    started = records[0]
    assert (started["server_version"], started["port"], started["scan_interval_ms"]) == ("1.2.3", 9876, 5_000)
    assert started["uuid"] == verify(str(tmp_path)).uuid
    assert verify(str(tmp_path)).is_complete
    assert (made.waiting, made.dropped_records, made.trouble) == (0, 0, "")


def test_it_keeps_beside_the_records_when_each_broker_was_heard_last(tmp_path, clock):
    """For a start after a crash: counts of the current minute are only in memory."""
    begin_ms = clock.now().mono_ms
    heard = [("c", "a:1", begin_ms - 5)]
    source = Source(lambda: Snapshot({}, (), ()), lambda: 0, dict, lambda: heard)
    made = Journal(SETTINGS, source, clock=clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)

    def saved() -> list[tuple[str, str, int]]:
        made.tick()
        clock.advance(module.HEARD_MS)
        return load_heard(str(tmp_path)).brokers

    assert eventually(saved, within=20, what="the times") == [("c", "a:1", -5)]
    heard[:] = [("c", "a:1", begin_ms + 700)]
    eventually(lambda: saved() == [("c", "a:1", 700)], within=20, what="newer times")
    boot = load_heard(str(tmp_path)).boot
    stop(made)
    assert {record["boot"] for record in records_in(tmp_path)} == {boot}


def test_the_next_boot_knows_the_one_before(tmp_path, clock):
    for _ in range(2):
        made = journal(clock)
        made.recorder.begin()
        made.start(writer(tmp_path), 9876)
        stop(made)
    first, second = (record for record in records_in(tmp_path) if record["kind"] == "server_started")
    assert (second["previous_boot"], second["previous_seq"]) == (first["boot"], 4)
    assert second["boot"] == first["boot"] + 1  # the clock stood still


def test_the_next_boot_records_until_when_a_silent_one_ran(tmp_path, clock):
    """A server without changes writes no record for a minute: its restart is not counted from the last one."""
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)

    def is_durable():
        clock.advance(10)
        return made.writer is not None and made.writer.durable_seq == 3

    eventually(is_durable, within=20, what="the start")
    clock.advance(9_000)
    made.tick()
    alive_ts = clock.now().wall_ms
    eventually(lambda: load_heard(str(tmp_path)).ts == alive_ts, within=20, what="it is alive")
    shutil.copytree(tmp_path, killed := tmp_path.with_name("killed"))
    stop(made)
    clock.advance(4_000)
    again = journal(clock)
    again.recorder.begin()
    again.start(writer(killed), 9876)
    stop(again)
    started = [record for record in records_in(killed) if record["kind"] == "server_started"][1]
    assert (started["previous_seq"], started["previous_alive_ts"]) == (3, alive_ts)


def test_it_publishes_what_is_durable(tmp_path, clock):
    made = journal(clock)
    made.recorder.begin()
    assert made.tick() > 0
    assert made.writer is None
    made.start(writer(tmp_path), 9876)

    def is_durable():
        clock.advance(10)
        return made.writer is not None and made.writer.durable_seq == made.recorder.sequencer.last_seq

    eventually(is_durable, within=20, what="the beginning is durable")
    made.recorder.record(kv_change())
    eventually(is_durable, within=20, what="the change is durable")
    stop(made)


def test_a_folder_that_is_refused_is_trouble_and_nothing_is_recorded(tmp_path, clock):
    release = take_lock(str(tmp_path))
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    eventually(lambda: "in use by process" in made.trouble, within=20, what="the folder is refused")
    made.tick()
    made.recorder.record(kv_change())
    assert made.waiting == 0
    assert made.dropped_records == 3
    release()
    clock.advance(60_000)
    eventually(lambda: made.trouble == "" or made.tick() < 0, within=20, what="the folder is taken")
    made.tick()
    made.recorder.record(kv_change())
    stop(made)
    records = records_in(tmp_path)
    assert [record["kind"] for record in records][:2] == ["server_started", "checkpoint_begin"]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))


def test_drops_are_trouble_until_a_checkpoint_follows(tmp_path, clock):
    made = journal(clock, JournalSettings(server_version="1", scan_interval_ms=1, queue_bytes=5_000))
    made.recorder.begin()
    for _ in range(10):
        made.recorder.record(kv_change())
    assert "records were dropped" in made.trouble
    made.start(writer(tmp_path), 9876)

    def is_healed():
        made.tick()
        return made.trouble == ""

    eventually(is_healed, within=20, what="a checkpoint follows")
    stop(made)
    report = verify(str(tmp_path))
    assert report.lost_records == made.recorder.sequencer.dropped_records > 0
    assert report.boots[0].complete_checkpoints == 2


def test_news_of_the_writer_are_acted_upon(tmp_path, clock):
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    eventually(lambda: made.writer is not None, within=20, what="the writer is there")
    made.writer.messages.append(CheckpointNeeded("retention"))
    made.tick()
    assert made.tick() == IDLE_S
    stop(made)
    reasons = [record["reason"] for record in records_in(tmp_path) if record["kind"] == "checkpoint_begin"]
    assert reasons == ["start", "retention"]


def test_a_bug_in_the_writer_is_logged_and_does_not_end_it(tmp_path, clock, monkeypatch, caplog):
    from namekeeper.journal.disk.writer import Writer

    real, failures = Writer.step, [RuntimeError("a bug"), JournalError("x")]

    def step(self, now):
        if failures:
            raise failures.pop()
        real(self, now)

    monkeypatch.setattr(Writer, "step", step)
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    eventually(lambda: not failures, within=20, what="the bugs have happened")
    stop(made)
    assert caplog.text.count("a bug in the journal's writer") == 2
    assert len(records_in(tmp_path)) == 4


async def test_a_bug_on_the_event_loop_is_logged_and_does_not_end_the_ticks(clock, monkeypatch, caplog):
    made, ticks = journal(clock), iter([RuntimeError("a bug"), 0.0, None])

    def tick() -> float:
        match next(ticks):
            case Exception() as bug:
                raise bug
            case None:
                raise asyncio.CancelledError
            case seconds:
                return seconds

    monkeypatch.setattr(made, "tick", tick)
    with pytest.raises(asyncio.CancelledError):
        await made.keep_ticking()
    assert caplog.text.count("a bug in the journal") == 1


def test_a_bug_that_lasts_is_logged_once_and_the_journal_is_not_writable(
    tmp_path, clock, monkeypatch, caplog
):
    from namekeeper.journal.disk.writer import Writer

    monkeypatch.setattr("namekeeper.journal.journal.AFTER_A_BUG_S", 0.001)
    steps = []

    def step(self, now):
        steps.append(now)
        raise RecursionError("too deep")

    real = Writer.step
    monkeypatch.setattr(Writer, "step", step)
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    eventually(lambda: len(steps) >= 5, within=20, what="the bug has happened")
    assert not made.is_writable
    assert "RecursionError: too deep" in made.trouble
    assert caplog.text.count("a bug in the journal's writer") == 1
    monkeypatch.setattr(Writer, "step", real)
    eventually(lambda: made.is_writable, within=20, what="the bug is gone")
    assert made.trouble == ""
    stop(made)


def test_a_journal_behind_a_link_to_nothing_is_refused_until_the_disk_is_there(
    tmp_path, clock, monkeypatch, caplog
):
    monkeypatch.setattr("namekeeper.journal.disk.writer.OPEN_AGAIN_MS", 1)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path / "link" / "9876"), 9876)
    eventually(lambda: made.trouble, within=20, what="it is refused")
    assert "link to a place that is not there (is its disk mounted?)" in made.trouble
    assert not made.is_writable
    assert "RecursionError" not in caplog.text
    stop(made)


def test_a_disk_that_hangs_does_not_hold_up_the_end(tmp_path, clock, monkeypatch, caplog):
    from namekeeper.journal.disk.writer import Writer

    closing, hang = threading.Event(), threading.Event()

    def close(*_):
        closing.set()
        hang.wait(30 * PATIENCE)

    monkeypatch.setattr(Writer, "close", close)
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    made.end()
    assert closing.wait(20 * PATIENCE)
    assert not made.join(0.01)
    assert "the journal's disk hangs" in caplog.text
    hang.set()
    assert made.join(20 * PATIENCE)


def test_a_stop_waits_longer_for_a_writer_that_makes_progress(tmp_path, clock, monkeypatch, caplog):
    """Under wipes of large names a stop lost changes, and called the disk the cause."""
    from namekeeper.journal.disk.writer import Writer

    monkeypatch.setattr(module, "LOOK_S", 0.001)
    monkeypatch.setattr(module, "HANG_S", 20 * PATIENCE)
    close, looks = Writer.close, threading.Semaphore(0)
    is_over = StopTime.is_over

    def close_slowly(self, now):
        for _ in range(3):
            assert looks.acquire(timeout=20 * PATIENCE)
            self.progress += 1
        close(self, now)

    def is_over_after_a_look(self, now, writer):
        looks.release()
        return is_over(self, now, writer)

    monkeypatch.setattr(Writer, "close", close_slowly)
    monkeypatch.setattr(StopTime, "is_over", is_over_after_a_look)
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    made.recorder.record(kv_change())
    made.end()
    assert made.join(0, at_most=100 * PATIENCE)
    assert verify(str(tmp_path)).is_complete
    assert "not written" not in caplog.text


class Progressing:
    """A writer, as far as a stop looks at it."""

    def __init__(self) -> None:
        self.progress, self.is_settled = 0, False


def test_the_time_of_a_stop_is_over_when_the_writer_stands_still_or_at_the_last():
    busy = Progressing()
    time_left = StopTime(100, 2, 7)
    for tenths in range(70):
        busy.progress += 1
        assert not time_left.is_over(100 + tenths / 10, busy)
    assert time_left.is_over(107, busy)
    assert time_left.is_moving
    halting = StopTime(100, 2, 7)
    assert not halting.is_over(101.4, busy)
    busy.progress += 1
    assert not halting.is_over(101.5, busy)
    assert not halting.is_over(102.4, busy)
    assert halting.is_moving
    assert halting.is_over(102.5, busy)
    assert not halting.is_moving


@pytest.mark.parametrize("has_writer", [True, False])
def test_without_progress_or_when_only_sealing_is_left_a_stop_gets_no_more_time(has_writer):
    still = StopTime(100, 2, 7)
    assert not still.is_over(101.9, Progressing() if has_writer else None)
    assert still.is_over(102, Progressing() if has_writer else None)
    assert not still.is_moving
    settled = Progressing()
    time_left = StopTime(100, 2, 7)
    for at in (101.8, 101.9, 102):
        settled.progress += 1
        settled.is_settled = at == 102
        assert time_left.is_over(at, settled) == settled.is_settled


def test_a_stop_whose_writer_is_busy_does_not_blame_the_disk(tmp_path, clock, monkeypatch, caplog):
    from namekeeper.journal.disk.writer import Writer

    go_on = threading.Event()
    monkeypatch.setattr(Writer, "close", lambda *_: go_on.wait(30 * PATIENCE))
    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    made.end()
    with monkeypatch.context() as patched:
        patched.setattr(StopTime, "is_moving", True)
        patched.setattr(StopTime, "is_over", lambda *_: True)
        assert not made.join(0)
    assert "the stop leaves the journal no more time: " in caplog.text
    assert "hangs" not in caplog.text
    go_on.set()
    assert made.join(20 * PATIENCE)


def test_a_writer_in_a_hurry_does_not_pause(clock):
    made = journal(clock)
    assert made._pause_ratio() > 0
    made.hurry()
    assert made._pause_ratio() == 0


def test_a_stop_that_only_seals_is_no_disk_that_hangs(tmp_path, clock, monkeypatch, caplog):
    """Sealing 64 MiB on a busy machine takes longer than a stop may."""
    sealing = threading.Event()
    go_on = threading.Event()

    def step(_archive):
        sealing.set()
        assert go_on.wait(30 * PATIENCE)
        raise OSError(28, "No space left on device")

    made = journal(clock)
    made.recorder.begin()
    made.start(writer(tmp_path), 9876)
    eventually(
        lambda: made.writer is not None and made.writer.written_bytes, within=20, what="the first records"
    )
    monkeypatch.setattr("namekeeper.journal.disk.archive.Archive.step", step)
    made.end()
    assert sealing.wait(20 * PATIENCE)
    with caplog.at_level("INFO"):
        assert made.join(0.01)
    assert "hangs" not in caplog.text
    assert "the next start seals its last segments" in caplog.text
    go_on.set()


def test_one_that_was_never_started_ends_too(clock):
    made = journal(clock)
    made.end()
    assert made.join(1)


class Watch:
    """Time that passes by sleeping, and by hand."""

    def __init__(self) -> None:
        self.now = 50.0
        self.slept: list[float] = []

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_pauses_are_as_long_as_the_work_before_them_asks_for(monkeypatch):
    watch = Watch()
    monkeypatch.setattr(module, "time", watch)
    rests = iter([3, 3, 0.5, 0, 3])
    pauses = Pauses(lambda: next(rests))
    pauses.begin()
    for worked in (0.010, 0.0, 0.010, 0.010, 2.0):  # the last one is a slow disk
        watch.now += worked
        pauses.take()
    assert watch.slept == pytest.approx([0.030, module.SHORTEST_PAUSE_S, 0.005, module.LONGEST_PAUSE_S])


@pytest.mark.parametrize("is_too_large", [True, False])
def test_a_folder_that_is_too_large_is_sealed_without_pauses(tmp_path, clock, monkeypatch, is_too_large):
    """A segment of 64 MiB took 20 s, and a folder of four times its limit more than a minute."""
    sealed_at_pause: list[bool] = []

    def pause(*_: object) -> None:
        sealed_at_pause.append(any(tmp_path.glob("*.gz")))
        threading.Event().wait(0.005)

    monkeypatch.setattr(module.Backlog, "wait", pause)
    made = journal(clock)
    made.recorder.begin()
    made.recorder.record(kv_change("v" * 2_000_000))  # more than one step seals
    limits = Limits(max_bytes=100_000 if is_too_large else 100_000_000)
    settings = structs.replace(writer(tmp_path), limits=limits, segments=SegmentSettings(segment_bytes=1))
    made.start(settings, 9876)
    eventually(lambda: any(sealed_at_pause), within=20 * PATIENCE, what="a sealed segment")
    assert sealed_at_pause[0] == is_too_large
    stop(made)
