"""Histories that are followed: what is read when, and whether it is told."""

import threading
from types import SimpleNamespace

from namekeeper.answers.times import shown
from namekeeper.console.histories import Histories, HistoryLock, JournalHistory
from namekeeper.console.views import ConsoleViews
from namekeeper.journal.disk.heard_file import HeardTimes, save_heard
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.history import Changed
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.model.now import Now
from tests.support.journal.folder import write_journal
from tests.support.system.processes import eventually
from tests.unit.answers.story import Story


def written(story, folder):
    return str(write_journal(folder, story.journal.lines()))


def read(histories):
    found = [histories.read(source) for source in histories.sources]
    return any(found)


def test_a_change_is_read_once_and_told(tmp_path):
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    histories = Histories([JournalHistory(FoundJournal(folder))])
    assert read(histories)
    assert not read(histories)
    assert histories.revision == 1
    story.wiped()
    written(story, tmp_path / "j")
    assert read(histories)
    assert histories.revision == 2
    (followed,) = histories.followed
    assert followed.versions.events[-1].cause == "wipe_write_perm"
    assert followed.progress[0] == followed.progress[1]
    assert not followed.is_running


def test_what_a_journal_held_last_is_shown_before_it_is_read(tmp_path):
    story = Story()
    story.registers()
    story.wiped()
    history = JournalHistory(FoundJournal(written(story, tmp_path / "j")))
    histories = Histories([history])
    assert histories.begin(history)
    end = history.followed.versions
    assert history.followed.progress[0] < history.followed.progress[1]
    read(histories)
    all_of_it = history.followed.versions
    at = end.knows_up_to
    assert end.route("T", at).route == all_of_it.route("T", at).route
    assert dict(end.rows("live", at)) == dict(all_of_it.rows("live", at))
    assert (end.knows_from, end.events) == (at, [])
    assert all_of_it.knows_from < at


def test_who_asked_too_early_is_told_when_there_is_something_to_see(tmp_path):
    story = Story()
    story.registers()
    history = JournalHistory(FoundJournal(written(story, tmp_path / "j")))
    histories = Histories([history])
    views = ConsoleViews(histories, None, Clock(story.now))
    before = histories.revision
    assert views.topics({})["rows"] == []
    histories.begin(history)
    assert histories.revision > before
    assert "T" in [row["topic"] for row in views.topics({})["rows"]]


def test_a_journal_that_is_gone_shows_nothing_at_once(tmp_path):
    story = Story()
    story.registers()
    history = JournalHistory(FoundJournal(written(story, tmp_path / "j")))
    (tmp_path / "j").rename(tmp_path / "k")
    histories = Histories([history])
    assert not histories.begin(history)
    assert histories.revision == 0


def test_name_servers_come_by_their_ids(tmp_path):
    sources = []
    for name in ("b_1", "a_1"):
        story = Story(name)
        story.registers()
        sources.append(JournalHistory(FoundJournal(written(story, tmp_path / name))))
    assert [each.versions.namesrv for each in Histories(sources).followed] == ["a_1", "b_1"]


def test_a_folder_that_is_gone_is_told_and_what_was_read_stays(tmp_path):
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    histories = Histories([JournalHistory(FoundJournal(folder))])
    read(histories)
    (tmp_path / "j").rename(tmp_path / "k")
    assert read(histories)
    (followed,) = histories.followed
    assert "can't read" in followed.problem
    assert not read(histories)
    assert followed.versions.route("T", story.now).route is not None
    (tmp_path / "k").rename(tmp_path / "j")
    assert read(histories)
    assert followed.problem == ""


class Clock:
    """A clock that a test sets."""

    def __init__(self, wall_ms: int) -> None:
        self.wall_ms, self.mono_ms = wall_ms, 0

    def now(self) -> Now:
        return Now(wall_ms=self.wall_ms, mono_ms=self.mono_ms)


def test_of_a_running_name_server_the_present_is_known(tmp_path):
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    clock = Clock(story.now + 90_000)
    release = take_lock(folder)
    history = JournalHistory(FoundJournal(folder), clock)
    assert read(Histories([history]))
    assert history.followed.is_running
    assert history.followed.versions.knows_up_to == clock.wall_ms
    clock.wall_ms += 1
    read(Histories([history]))
    assert history.followed.versions.knows_up_to == story.now, "it has been silent for too long"
    release()
    assert read(Histories([history]))
    assert not history.followed.is_running


def test_whether_a_stopped_one_runs_again_is_looked_at_now_and_then(tmp_path):
    """Looking takes the lock for a moment, which a starting name server needs."""
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    clock = Clock(story.now)
    history = JournalHistory(FoundJournal(folder), clock)
    histories = Histories([history])
    read(histories)
    release = take_lock(folder)
    clock.mono_ms = 1_999
    read(histories)
    assert not history.followed.is_running
    clock.mono_ms = 2_000
    assert read(histories)
    assert history.followed.is_running
    release()


def test_when_a_broker_was_heard_last_is_read_of_a_running_one(tmp_path):
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    boot = story.journal.boots[-1]
    save_heard(folder, HeardTimes(boot, [("c", "a0:1", 5_000)]))
    clock = Clock(story.now)
    history = JournalHistory(FoundJournal(folder), clock)
    read(Histories([history]))
    assert history.followed.heard == {}, "it does not run"
    release = take_lock(folder)
    clock.mono_ms = 2_000
    read(Histories([history]))
    (since,) = [each.since for each in history.followed.versions.coverage.boots]
    assert history.followed.heard == {("live", "c", "a0:1"): since + 5_000}
    release()


def test_steps_that_wait_for_a_checkpoint_come_when_nobody_completes_it(tmp_path):
    story = Story()
    story.registers()
    story.journal.begin_checkpoint("interval")
    wiped = story.wiped()
    clock = Clock(story.now)
    history = JournalHistory(FoundJournal(written(story, tmp_path / "j")), clock)
    histories = Histories([history])
    read(histories)
    assert history.followed.versions.events[-1].at < wiped
    clock.mono_ms = 2_000
    assert read(histories)
    assert history.followed.versions.events[-1].at == wiped


def test_who_looks_goes_before_who_reads_on():
    lock, order = HistoryLock(), []

    def look():
        with lock.to_look():
            order.append("look")

    with lock:
        looker = threading.Thread(target=look)
        looker.start()
        eventually(lambda: lock.is_wanted, within=20, what="somebody who wants to look")
    with lock:
        order.append("read")
    looker.join()
    assert order == ["look", "read"]


def test_histories_share_the_memory_and_the_page_says_from_when_on_they_are_known(tmp_path):
    story = Story()
    story.registers()
    for _ in range(200):
        story.wiped()
        story.registers()
    folders = [written(story, tmp_path / name) for name in "jk"]
    histories = Histories([JournalHistory(FoundJournal(folder)) for folder in folders], 40_000)
    read(histories)
    views = ConsoleViews(histories, None, Clock(story.now))
    rows = views.overview({})["namesrvs"]
    for followed, row in zip(histories.followed, rows, strict=True):
        assert followed.versions.size <= 20_000
        assert row["dropped_until"] == row["knows_from"] == followed.versions.dropped_until
        (note,) = row["notes"]
        assert note.startswith(
            f"the history of {row['namesrv']} is known from {shown(row['knows_from'], None)}"
        )
    first = rows[0]["knows_from"]
    assert views.overview({})["first"] == first
    changes = views.changes({})
    assert changes["dropped_until"] == first
    assert min(change["at"] for change in changes["rows"]) >= first
    assert views.topic({"name": "T", "at": str(first - 1)})["routes"][0]["knowledge"] == "before the journal"
    assert views.topic({"name": "T", "at": str(first)})["routes"][0]["route"] is not None


def test_a_step_is_applied_before_the_next_one_is_made(tmp_path):
    """Each may have a hundred thousand rows: 44 of them in a list took a gigabyte."""
    story = Story()
    story.registers()
    history = JournalHistory(FoundJournal(written(story, tmp_path / "j")))
    log = []
    history._versions = SimpleNamespace(take=lambda step: log.append(("taken", step.seq)))
    steps = [Changed(1, seq, seq, [None] * 1_500) for seq in range(5)]

    def made():
        for step in steps:
            log.append(("made", step.seq))
            yield step

    assert history._take(made(), HistoryLock()) == 5
    assert log == [(what, seq) for seq in range(5) for what in ("made", "taken")]


def test_few_instants_of_many_rows_are_cached(tmp_path, monkeypatch):
    story = Story()
    story.registers()
    histories = Histories([JournalHistory(FoundJournal(written(story, tmp_path / "j")))])
    read(histories)
    views = ConsoleViews(histories, None, Clock(story.now))
    at = story.now
    for instant in range(at - 10, at):
        views.overview({"at": str(instant)})
    assert len(views._kept) == 4
    monkeypatch.setattr("namekeeper.console.views._ROWS_KEPT", 0)
    views.overview({"at": str(at)})
    views.overview({"at": str(at - 20)})
    assert list(views._kept) == [(histories.revision, at - 20)], "the rows of the one before are too many"
    monkeypatch.undo()
    histories.revision += 1
    views.overview({"at": str(at)})
    assert list(views._kept) == [(histories.revision, at)], "those of older revisions are never asked for"
