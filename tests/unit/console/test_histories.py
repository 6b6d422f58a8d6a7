"""Histories that are followed: what is read when, and whether it is told."""

import threading
from functools import cache
from types import SimpleNamespace

import msgspec

from namekeeper.answers.render import route_values
from namekeeper.answers.route import route_at
from namekeeper.answers.source import JournalAnswers
from namekeeper.answers.times import shown
from namekeeper.console import histories as module
from namekeeper.console.histories import EarlierQuery, Histories, HistoryLock
from namekeeper.console.views import ConsoleViews
from namekeeper.history.rows import LiveKey
from namekeeper.history.sources.journal import JournalSource
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


def source_of(folder, clock=None):
    return JournalSource([FoundJournal(folder)], clock)


def read(histories):
    found = [histories.read(each) for each in histories.all]
    return any(found)


def test_a_change_is_read_once_and_told(tmp_path):
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    histories = Histories([source_of(folder)])
    assert read(histories)
    assert not read(histories)
    assert histories.revision == 1
    story.wiped()
    written(story, tmp_path / "j")
    assert read(histories)
    assert histories.revision == 2
    (followed,) = histories.followed
    assert followed.history.events[-1].cause == "wipe_write_perm"
    assert followed.progress[0] == followed.progress[1]
    assert not followed.is_running


def test_what_a_journal_held_last_is_shown_before_it_is_read(tmp_path):
    story = Story()
    story.registers()
    story.wiped()
    histories = Histories([source_of(written(story, tmp_path / "j"))])
    (history,) = histories.all
    assert histories.begin(history)
    end = history.followed.history
    assert history.followed.progress[0] < history.followed.progress[1]
    read(histories)
    all_of_it = history.followed.history
    at = end.knows_up_to
    assert route_at(end, "T", at).route == route_at(all_of_it, "T", at).route
    assert dict(end.rows(LiveKey, at)) == dict(all_of_it.rows(LiveKey, at))
    assert (end.knows_from, end.events) == (at, [])
    assert all_of_it.knows_from < at


def test_who_asked_too_early_is_told_when_there_is_something_to_see(tmp_path):
    story = Story()
    story.registers()
    histories = Histories([source_of(written(story, tmp_path / "j"))])
    (history,) = histories.all
    views = ConsoleViews(histories, None, Clock(story.now))
    before = histories.revision
    assert views.topics({})["rows"] == []
    histories.begin(history)
    assert histories.revision > before
    assert "T" in [row["topic"] for row in views.topics({})["rows"]]


def test_a_journal_that_is_gone_shows_nothing_at_once(tmp_path):
    story = Story()
    story.registers()
    histories = Histories([source_of(written(story, tmp_path / "j"))])
    (history,) = histories.all
    (tmp_path / "j").rename(tmp_path / "k")
    assert not histories.begin(history)
    assert histories.revision == 0


def test_name_servers_come_by_their_ids(tmp_path):
    sources = []
    for name in ("b_1", "a_1"):
        story = Story(name)
        story.registers()
        sources.append(source_of(written(story, tmp_path / name)))
    assert [each.history.namesrv for each in Histories(sources).followed] == ["a_1", "b_1"]


def test_a_folder_that_is_gone_is_told_and_what_was_read_stays(tmp_path):
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    histories = Histories([source_of(folder)])
    read(histories)
    (tmp_path / "j").rename(tmp_path / "k")
    assert read(histories)
    (followed,) = histories.followed
    assert "can't read" in followed.problem
    assert not read(histories)
    assert route_at(followed.history, "T", story.now).route is not None
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
    histories = Histories([source_of(folder, clock)])
    (history,) = histories.all
    assert read(histories)
    assert history.followed.is_running
    assert history.followed.history.knows_up_to == clock.wall_ms
    clock.wall_ms += 1
    read(histories)
    assert history.followed.history.knows_up_to == story.now, "it has been silent for too long"
    release()
    assert read(histories)
    assert not history.followed.is_running


def test_whether_a_stopped_one_runs_again_is_looked_at_now_and_then(tmp_path):
    """Looking takes the lock for a moment, which a starting name server needs."""
    story = Story()
    story.registers()
    folder = written(story, tmp_path / "j")
    clock = Clock(story.now)
    histories = Histories([source_of(folder, clock)])
    (history,) = histories.all
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
    histories = Histories([source_of(folder, clock)])
    (history,) = histories.all
    read(histories)
    assert history.followed.heard == {}, "it does not run"
    release = take_lock(folder)
    clock.mono_ms = 2_000
    read(histories)
    (since,) = [each.since for each in history.followed.history.coverage.boots]
    assert history.followed.heard == {LiveKey("c", "a0:1"): since + 5_000}
    release()


def test_steps_that_wait_for_a_checkpoint_come_when_nobody_completes_it(tmp_path):
    story = Story()
    story.registers()
    story.journal.begin_checkpoint("interval")
    wiped = story.wiped()
    clock = Clock(story.now)
    histories = Histories([source_of(written(story, tmp_path / "j"), clock)])
    (history,) = histories.all
    read(histories)
    assert history.followed.history.events[-1].at < wiped
    clock.mono_ms = 2_000
    assert read(histories)
    assert history.followed.history.events[-1].at == wiped


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


def test_many_look_at_once_and_nobody_changes_anything_meanwhile():
    lock, order = HistoryLock(), []

    def change():
        with lock:
            order.append("change")

    changer = threading.Thread(target=change)
    with lock.to_look():
        with lock.to_look():
            changer.start()
        order.append("look")
    changer.join()
    assert order == ["look", "change"]


def test_who_reads_on_waits_until_nobody_looks():
    asked, order = threading.Event(), []

    class Asked(HistoryLock):
        @property
        def is_wanted(self):
            asked.set()
            return super().is_wanted

    def read_on():
        lock.wait_for_lookers()
        order.append("read")

    lock = Asked()
    reader = threading.Thread(target=read_on)
    with lock.to_look():
        reader.start()
        eventually(lambda: asked.is_set() or order, within=20, what="somebody who reads on")
        order.append("look")
    reader.join()
    assert order == ["look", "read"]


LIMIT = 180_000
"""Bytes: some more than the rows of the present, most of which are properties, also in the part for instants that
were dropped."""


@cache
def long_story():
    story = Story()
    story.registers()
    for _ in range(500):
        story.wiped()
        story.registers()
    return story


def crowded(tmp_path, names="j", limit_bytes=4 * LIMIT):
    """Histories of journals that do not fit into the memory, all of which were read."""
    story = long_story()
    histories = Histories([source_of(written(story, tmp_path / name)) for name in names], limit_bytes)
    read(histories)
    return story, histories


def route_of_topic(histories, views, at):
    query = {"name": "T", "at": str(at)}
    with histories.earlier(views.earlier("topic", query)):
        (found,) = views.topic(query)["routes"]
    return found["knowledge"], msgspec.json.encode(found["route"])


def route_in(journal, at):
    (found,) = route_values(journal.routes("T", at))
    return found.knowledge, msgspec.json.encode(found.route)


def test_topics_of_incidents_are_forgotten_with_their_changes(tmp_path, monkeypatch):
    """A broker may come and go with ever new topics."""
    monkeypatch.setattr(module, "INCIDENT_NAMES", 50)
    story = Story()
    for number in range(600):
        story.registers(topics=(f"T{number}",))
        story.unregisters()
    histories = Histories([source_of(written(story, tmp_path / "j"))], 2 * LIMIT)
    read(histories)
    (followed,) = histories.followed
    kept = set(followed.history.topics())
    assert len(kept) < 300
    assert followed.incident_topics.lost >= kept
    assert followed.incident_topics.names < 50 + 4 * 2 * len(kept)


def test_histories_share_the_memory_and_the_page_says_from_when_on_they_have_changes(tmp_path):
    story, histories = crowded(tmp_path, "jk", 8 * LIMIT)
    views = ConsoleViews(histories, None, Clock(story.now))
    rows = views.overview({})["namesrvs"]
    for followed, row in zip(histories.followed, rows, strict=True):
        assert followed.history.size <= 3 * LIMIT
        assert row["dropped_until"] == followed.history.dropped_until == followed.history.knows_from
        (note,) = row["notes"]
        from_when = shown(row["dropped_until"], None)
        assert note.startswith(f"the history of {row['namesrv']} has its changes from {from_when} on")
        assert note.endswith("older ones are read again from its records")
    dropped = rows[0]["dropped_until"]
    assert views.overview({})["first"] == rows[0]["knows_from"] < dropped
    changes = views.changes({})
    assert changes["dropped_until"] == dropped
    assert min(change["at"] for change in changes["rows"]) >= dropped


def test_an_instant_that_was_dropped_is_read_again_from_the_journal(tmp_path):
    story, histories = crowded(tmp_path)
    views = ConsoleViews(histories, None, Clock(story.now))
    every = JournalAnswers([str(tmp_path / "j")])
    dropped, first = histories.followed[0].history.dropped_until, histories.followed[0].first
    (namesrv,) = every.namesrvs()
    instants = [first, first + 1, (first + dropped) // 2, dropped - 1, dropped]
    for at in instants:
        assert route_of_topic(histories, views, at) == route_in(every, at), at
        query = {"at": str(at)}
        with histories.earlier(views.earlier("topics", query)):
            topics = {row["topic"] for row in views.topics(query)["rows"]}
            assert topics == set(every.held(namesrv, at).state.tables.topics()), at
            assert views.overview(query)["namesrvs"][0]["knowledge"] == "known"
    assert route_of_topic(histories, views, first - 1) == ("before the journal", b"null")


def test_what_was_read_again_is_kept_within_the_memory_for_it(tmp_path):
    _, histories = crowded(tmp_path)
    (history,) = histories.all
    dropped = history.followed.history.dropped_until
    for at in range(dropped - 12_000, dropped, 3_000):
        with histories.earlier(EarlierQuery([at])):
            assert history.history_at(at) is not history.followed.history
            assert sum(part.history.size for part in history._parts.kept) <= LIMIT
    kept = list(history._parts.kept)
    with histories.earlier(EarlierQuery([kept[-1].until])):
        assert history._parts.kept == kept, "what is there is not read again"


def test_what_does_not_fit_into_the_memory_for_it_is_read_once_and_not_known(tmp_path, monkeypatch):
    story, histories = crowded(tmp_path)
    views = ConsoleViews(histories, None, Clock(story.now))
    (history,) = histories.all
    at = history.followed.history.dropped_until - 1
    history._parts.limit_bytes = 1_000
    readings = []
    read_part = history._parts._read
    monkeypatch.setattr(history._parts, "_read", lambda *asked: readings.append(asked) or read_part(*asked))
    for _ in range(2):
        assert route_of_topic(histories, views, at) == ("before the journal", b"null")
    assert len(readings) == 1
    assert history._parts.kept == []


def test_progress_is_complete_only_when_everything_that_was_read_is_shown(tmp_path):
    story = Story()
    for _ in range(300):
        story.registers()
        story.wiped()
    histories = Histories([source_of(written(story, tmp_path / "j"))])
    (history,) = histories.all
    histories.begin(history)
    seen = []

    class Watched(HistoryLock):
        def wait_for_lookers(self):
            seen.append(history.followed.progress)

    history.read(Watched())
    assert len(seen) > 2
    assert all(done < parts for done, parts in seen)
    assert history.followed.progress == (1, 1)
    assert history.followed.history is history._history


def test_after_a_step_of_the_clock_an_instant_is_what_the_journal_says(tmp_path):
    """The clock is put back by ten minutes: records that come later may be of an earlier instant."""
    story = Story()
    story.registers()
    for count in range(500):
        if count == 20:
            story.later(-600_000)
        story.wiped()
        story.registers()
    histories = Histories([source_of(written(story, tmp_path / "j"))], 4 * LIMIT)
    read(histories)
    every, views = JournalAnswers([str(tmp_path / "j")]), ConsoleViews(histories, None, Clock(story.now))
    first, dropped = histories.followed[0].first, histories.followed[0].history.dropped_until
    for at in range(first, dropped, max(1, (dropped - first) // 5)):
        assert route_of_topic(histories, views, at) == route_in(every, at), at


def test_an_instant_is_read_again_without_the_lock_of_the_histories(tmp_path):
    _, histories = crowded(tmp_path)
    (history,) = histories.all
    at = history.followed.history.dropped_until - 1
    with histories.lock, histories.earlier(EarlierQuery([at])):
        assert history.history_at(at) is not history.followed.history


def test_a_step_is_applied_before_the_next_one_is_made(tmp_path):
    """Each may have a hundred thousand rows: 44 of them in a list took a gigabyte."""
    story = Story()
    story.registers()
    (history,) = Histories([source_of(written(story, tmp_path / "j"))]).all
    log = []
    history._history = SimpleNamespace(take=lambda step: log.append(("taken", step.seq)))
    steps = [Changed(1, seq, seq, [None] * 1_500) for seq in range(5)]

    def made():
        for step in steps:
            log.append(("made", step.seq))
            yield step

    assert history._take(made(), HistoryLock()) == 5
    assert log == [(what, seq) for seq in range(5) for what in ("made", "taken")]
