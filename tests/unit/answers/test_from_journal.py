"""Answers straight from a folder: what is read, and that reading less gives the same."""

import itertools
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from namekeeper.answers import from_journal
from namekeeper.answers.evidence import DAY_MS, evidence_of
from namekeeper.answers.explain import explain
from namekeeper.answers.from_journal import JournalFolder
from namekeeper.answers.verdict import Verdict
from namekeeper.errors import JournalError
from namekeeper.history.rows import What
from namekeeper.history.sources.journal import JournalSteps
from namekeeper.journal.contract.blocks import Block
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.lines import split_lines
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.journal.reading.replay import state_at
from namekeeper.model.now import Now
from tests.property.histories import random_history
from tests.property.journalled import shown
from tests.support.journal.checksums import with_new_checksums
from tests.support.journal.folder import UUID8, read_records, write_journal
from tests.support.journal.history import history_of
from tests.unit.answers.story import Story


@pytest.fixture
def long_story() -> Story:
    """Four days with a checkpoint each day; the topic was wiped on the first."""
    story = Story()
    story.registers()
    story.wiped()
    for _ in range(4):
        for _ in range(4):
            story.later(DAY_MS // 4)
            story.alive()
        story.journal.begin_checkpoint("interval")
        story.journal.go_on_with_checkpoint(1_000)
    story.alive()
    return story


class Reading:
    """Counts segments as they are read."""

    def __init__(self):
        self.progress = []

    def __call__(self, done, total):
        self.progress.append((done, total))


def test_a_state_needs_what_follows_the_last_checkpoint_only(long_story, tmp_path):
    reading = Reading()
    journal = JournalFolder(long_story.folder(tmp_path, per_segment=2), reading)
    found = journal.state_at(None)
    assert found.state.tables.topics_of("b0").keys() == {"T", "other", "more"}
    read = reading.progress[-1][1]
    journal.state_at(long_story.journal.boots[0] + 5_000)
    assert reading.progress[-1][1] > 2 * read
    assert reading.progress[0] == (0, read)


def test_an_instant_before_the_first_checkpoint_reads_all(long_story, tmp_path):
    journal = JournalFolder(long_story.folder(tmp_path, per_segment=2))
    assert journal.state_at(5).knowledge is Knowledge.BEFORE


def test_who_wiped_is_looked_for_in_all_there_is(long_story, tmp_path):
    journal = JournalFolder(long_story.folder(tmp_path, per_segment=2))
    (found,) = explain([journal.evidence("T", None)])
    assert found.verdict is Verdict.WRITE_PERM_WIPED


def test_a_topic_that_was_seen_lately_is_not_looked_for_further_back(long_story, tmp_path):
    long_story.registers("b1", "a1:1", topics=("new",))
    journal = JournalFolder(long_story.folder(tmp_path, per_segment=2))
    evidence = journal.evidence("new", None)
    assert evidence.known_from > long_story.journal.boots[0] + 2 * DAY_MS
    assert journal.evidence("new", None, back_ms=30 * DAY_MS).known_from == long_story.journal.boots[0]
    assert journal.evidence("nowhere", None).known_from == long_story.journal.boots[0]


def test_a_later_registration_does_not_show_why_there_was_none_before(long_story, tmp_path):
    gone = long_story.unregisters()
    for _ in range(3):
        long_story.later(DAY_MS)
        long_story.alive()
        long_story.journal.begin_checkpoint("interval")
        long_story.journal.go_on_with_checkpoint(1_000)
    at = long_story.now
    long_story.registers()
    journal = JournalFolder(long_story.folder(tmp_path, per_segment=2))
    (found,) = explain([journal.evidence("T", at)], at)
    assert (found.verdict, found.facts[0].at) == (Verdict.BROKER_GONE, gone)


def test_a_checkpoint_that_is_not_complete_does_not_do(long_story, tmp_path):
    long_story.journal.begin_checkpoint("interval")
    long_story.alive()
    journal = JournalFolder(long_story.folder(tmp_path, per_segment=2))
    found = journal.state_at(None)
    assert found.knowledge is Knowledge.KNOWN
    assert found.state.tables.topics_of("b0")


def test_lines_that_can_not_be_read_are_reported_and_their_loss_shows(tmp_path):
    story = Story()
    story.registers()
    story.alive()
    lines = story.journal.lines()
    lines[-2] = with_new_checksums(lines[-2].replace(b'"v":1', b'"v":7'))
    folder = write_journal(tmp_path, story.journal.lines())
    (file,) = folder.iterdir()
    file.write_bytes(b"".join(lines) + b'{"kind":"future","v":1,"torn')
    journal = JournalFolder(str(folder))
    assert journal.state_at(None).knowledge is Knowledge.UNKNOWN
    assert len(journal.notes) == 3
    assert "newer namekeeper" in journal.notes[0]
    assert "torn" in journal.notes[1]
    assert journal.notes[2].startswith(f"the first of them: line {len(lines) - 1}: version 7")


def test_a_kind_that_is_not_known_is_reported_and_no_loss(tmp_path):
    story = Story()
    story.registers()
    story.alive()
    folder = write_journal(tmp_path, story.journal.lines())
    (file,) = folder.iterdir()
    file.write_bytes(with_new_checksums(file.read_bytes().replace(b'"server_alive"', b'"server_sings"')))
    journal = JournalFolder(str(folder))
    assert journal.state_at(None).knowledge is Knowledge.KNOWN
    assert journal.notes == ["1 record is of the unknown kind 'server_sings', and ignored"]


def test_segments_without_a_good_line_are_passed_over(long_story, tmp_path):
    folder = long_story.folder(tmp_path, per_segment=2)
    *_, before, last = sorted(tmp_path.iterdir())
    before.write_bytes(b"not packed")
    last.write_bytes(b"\0")
    journal = JournalFolder(folder)
    assert journal.evidence("T", None).knows_up_to < long_story.now
    assert journal.state_at(long_story.now).knowledge is Knowledge.NOT_YET


def test_a_folder_of_broken_segments_knows_nothing(tmp_path):
    story = Story()
    folder = story.folder(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"\0")
    evidence = JournalFolder(folder).evidence("T", None)
    assert (evidence.known_from, evidence.knows_up_to) == (None, None)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(JournalError):
        JournalFolder(str(tmp_path / "nowhere"))


@given(st.randoms(use_true_random=True))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_reading_less_gives_the_same(tmp_path_factory, chance):
    """Wherever segments are cut, and whichever of them are read."""
    server = random_history(chance, 60)
    folder = write_journal(tmp_path_factory.mktemp("journal"), server.lines(), chance.choice((1, 5, 1_000)))
    journal = JournalFolder(str(folder))
    at = chance.choice(server.written).ts
    whole, part = state_at(read_records(server.lines()), at), journal.state_at(at)
    assert part.knowledge == whole.knowledge
    if whole.knowledge is Knowledge.KNOWN:
        of_whole = shown(whole.state.tables, whole.state.kv, whole.state.properties)
        assert shown(part.state.tables, part.state.kv, part.state.properties) == of_whole
        one = journal.state_at(at, "T0").state.tables
        assert dict(one.rows_of("T0")) == dict(whole.state.tables.rows_of("T0"))


@given(st.randoms(use_true_random=True))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_skipping_many_at_a_time_gives_the_same(chance):
    """Whatever was lost, and however the clock went."""
    server = random_history(chance, 80, clock_jumps=True)
    lines, skip = list(split_lines(iter(server.lines()))), frozenset({"server_alive", "kv", "config"})

    def evidence(records):
        return evidence_of(history_of(server.namesrv, records, "T0"))

    def of_boot(boot):
        return SegmentName(namesrv=server.namesrv, uuid8=UUID8, boot=boot, first_seq=1)

    one_by_one = [record for record in map(RecordReader("T0", skip), lines) if record is not None]
    by_boot = itertools.groupby(zip(one_by_one, lines, strict=True), lambda pair: pair[0].boot)
    reader = RecordReader("T0", skip)
    together = [
        record for boot, some in by_boot for record in reader.read([line for _, line in some], of_boot(boot))
    ]
    assert len(together) <= len(one_by_one)
    assert evidence(together) == evidence(one_by_one)


@given(st.randoms(use_true_random=True))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_changes_are_the_same_as_with_every_row(tmp_path_factory, chance):
    """Of a topic, a broker name, an address or a host."""
    server = random_history(chance, 60)
    folder = write_journal(tmp_path_factory.mktemp("journal"), server.lines())
    for name in ("T0", 'T"2\\\n', "b0", "a0", "a0:1", "c0"):
        whole = history_of(server.namesrv, read_records(server.lines()), name)
        assert JournalFolder(str(folder)).changes(name, 0, 2**62) == whole.changes()


def test_the_changes_of_a_command_have_a_limit_of_memory(tmp_path, monkeypatch):
    """A broker that registered and unregistered for a day made the command history take gigabytes."""
    story = Story()
    for _ in range(200):
        story.registers()
        story.unregisters()
    journal = JournalFolder(story.folder(tmp_path, per_segment=100))
    every = journal.changes(None, 0, 2**62)
    assert journal.notes == []
    monkeypatch.setattr(from_journal, "CHANGES_BYTES", 400_000)
    some = journal.changes(None, 0, 2**62)
    (said,) = journal.notes
    assert said.startswith("there are too many changes: those up to ")
    changes = [event.at for event in some if event.what is What.CHANGE]
    assert 20 < len(changes) < 200
    assert changes == [event.at for event in every if event.what is What.CHANGE][-len(changes) :]
    assert journal.changes(None, changes[0], 2**62)[-1] == some[-1]
    assert journal.notes == [], "the changes that are left out are before that"


@given(st.randoms(use_true_random=True))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_passing_over_blocks_gives_the_same(tmp_path_factory, chance):
    """Whatever was lost, however the clock went, and wherever blocks and segments end."""
    server = random_history(chance, 80, clock_jumps=True)
    whole = evidence_of(history_of(server.namesrv, read_records(server.lines()), "T0"))
    block_bytes = chance.choice((100, 1_000, 10_000))
    folder = write_journal(
        tmp_path_factory.mktemp("journal"), server.lines(), chance.choice((20, 1_000)), block_bytes
    )
    found = JournalFolder(str(folder)).evidence("T0", None, 2**62)
    assert found == whole


def test_blocks_that_say_nothing_new_are_not_unpacked(tmp_path, monkeypatch):
    story = Story()
    story.registers(topics=tuple(f"topic-{number}" for number in range(3_000)))
    for _ in range(5):
        story.later(DAY_MS)
        story.alive()
        story.journal.begin_checkpoint("interval")
        story.journal.go_on_with_checkpoint(10_000)
    story.alive()
    journal = JournalFolder(story.folder(tmp_path, per_segment=1))
    unpacked = []
    text = Block.text
    monkeypatch.setattr(Block, "text", lambda self: unpacked.append(self.summary) or text(self))
    changes = journal.changes("topic-7", 0, 2**62)
    assert [event.cause for event in changes if event.rows] == ["register_broker"]
    assert not any("topic_queues" in summary.rows for summary in unpacked)
    assert [path for path in tmp_path.glob("*.gz") if b'"topic_queues":1' in path.read_bytes()]


def test_a_segment_renamed_for_another_name_server_answers_nothing_under_its_name(long_story, tmp_path):
    folder = long_story.folder(tmp_path)
    for path in tmp_path.iterdir():
        path.rename(path.with_name(f"forged-{path.name}"))
    journal = JournalFolder(folder)
    assert journal.namesrv.startswith("forged-")
    assert journal.state_at(None).knowledge is not Knowledge.KNOWN
    assert "of another name server or boot than the segment's name says" in journal.notes[0]


class At:
    def __init__(self, wall_ms: int) -> None:
        self.wall_ms = wall_ms

    def now(self) -> Now:
        return Now(self.wall_ms, self.wall_ms)


def test_now_is_known_of_a_running_server_that_was_heard_lately(tmp_path):
    """It writes a record in each minute: until then, nothing has changed."""
    story = Story()
    story.registers()
    folder, last = story.folder(tmp_path), story.now

    def knowledge(now, at):
        journal = JournalFolder(folder, clock=At(now))
        (found,) = explain([journal.evidence("T", at)], at)
        return journal.state_at(at, "T").knowledge, found.verdict

    known, not_yet = (Knowledge.KNOWN, Verdict.HAS_ROUTE), (Knowledge.NOT_YET, Verdict.NOT_YET)
    assert knowledge(last + 60_000, last + 60_000) == not_yet
    release = take_lock(folder)
    try:
        assert knowledge(last + 60_000, last + 60_000) == known
        assert knowledge(last + 60_000, last + 60_001) == not_yet
        assert knowledge(last + 500_000, last + 90_000) == known
        assert knowledge(last + 500_000, last + 90_001) == not_yet
    finally:
        release()


def test_without_a_time_it_is_now_if_the_name_server_runs(tmp_path):
    story = Story()
    story.registers()
    folder, last = story.folder(tmp_path), story.now

    def answered(now):
        journal = JournalFolder(folder, clock=At(now))
        (found,) = explain([journal.evidence("T", None)])
        assert found.verdict is Verdict.HAS_ROUTE
        assert journal.state_at(None, "T").knowledge is Knowledge.KNOWN
        state = journal.state_at(None, "T")
        assert state.at == state.knows_up_to == found.at == found.knows_up_to
        return found.at

    assert answered(last + 60_000) == last
    release = take_lock(folder)
    try:
        assert answered(last + 60_000) == last + 60_000
        assert answered(last + 90_001) == last, "it has not been heard for too long"
    finally:
        release()


def test_the_rows_of_the_end_take_no_memory_for_each_change_before_it(tmp_path):
    """A change may have a hundred thousand rows: 44 of these took a gigabyte where the page began."""

    def peak(changes: int) -> int:
        story = Story()
        story.registers(topics=tuple(f"T{number}" for number in range(300)))
        for _ in range(changes):
            story.wiped()
            story.registers(topics=tuple(f"T{number}" for number in range(300)))
        journal = JournalSteps(FoundJournal(story.folder(tmp_path / str(changes))))
        tracemalloc.start()
        try:
            end = journal.end()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            assert end is not None
            assert len(end.last_rows().of) >= 300

    assert peak(32) < 2 * peak(4)


def test_names_that_may_be_meant_have_a_limit(tmp_path, monkeypatch):
    """A broker may register ever new topics."""
    story = Story()
    story.registers(topics=[f"T{number}" for number in range(100)])
    journal = JournalFolder(story.folder(tmp_path))
    assert (len(journal.topics()), len(journal.brokers())) == (102, 2)
    monkeypatch.setattr("namekeeper.answers.from_journal.NAMES_LIMIT", 1)
    assert (len(journal.topics()), len(journal.brokers())) == (1, 1)
