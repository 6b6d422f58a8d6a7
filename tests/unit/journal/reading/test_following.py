"""Following a journal: each step once, whenever one looks."""

import gzip
from random import Random

import pytest

from namekeeper.answers.route import route_at
from namekeeper.errors import JournalError
from namekeeper.history.rows import FilterKey, GroupKey, LiveKey, MappingKey, Rows, TopicKey
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.following import JournalFollower
from namekeeper.journal.reading.history import CheckpointApplied, Lost, Seen, Stopped, steps
from namekeeper.journal.reading.reader import FoundJournal
from tests.property.histories import TOPICS, random_history
from tests.support.journal.folder import read_records, write_journal
from tests.support.journal.history import history_from, history_of
from tests.unit.answers.story import Story


def shown(found):
    return [(type(step), step.boot, step.seq, step.ts) for step in found]


def events(found):
    """Without steps that only show that a position was reached: of skipped records one may stand for many."""
    return [each for each in found if each[0] is not Seen]


def changes(found):
    """The same without checkpoints: of those that say nothing new the rows are not read."""
    return [each for each in events(found) if each[0] is not CheckpointApplied]


def grown(folder, data: bytes):
    """The one open segment with so much of its text."""
    (path,) = folder.glob("*.open")
    path.write_bytes(data)


def story_lines():
    story = Story()
    story.registers()
    story.wiped()
    story.deleted()
    return story.journal.lines()


@pytest.mark.parametrize("seed", range(10))
def test_it_gives_the_steps_of_the_whole_journal(tmp_path, seed):
    server = random_history(Random(seed), 60)
    folder = write_journal(tmp_path / "j", server.lines(), per_segment=7)
    follower = JournalFollower(FoundJournal(str(folder)))
    found = [*follower.new_steps(), *follower.end_steps()]
    expected = shown(steps(read_records(server.lines())))
    assert changes(shown(found)) == changes(expected)
    assert len({kind for kind, *_ in expected}) > 2
    assert list(follower.new_steps()) == []
    assert follower.notes == []
    assert follower.progress[0] == follower.progress[1]


def checkpoint_of(story):
    story.later()
    story.journal.begin_checkpoint("interval")
    story.journal.go_on_with_checkpoint(1_000)


def applied(story, folder):
    follower = JournalFollower(FoundJournal(story.folder(folder)))
    return [step for step in follower.new_steps() if isinstance(step, CheckpointApplied)]


def test_the_rows_of_a_checkpoint_that_says_nothing_new_are_not_read(tmp_path):
    story = Story()
    story.registers()
    (first,) = applied(story, tmp_path / "a")
    checkpoint_of(story)
    assert [step.seq for step in applied(story, tmp_path / "b")] == [first.seq]
    story.restarts()
    story.registers()
    checkpoint_of(story)
    assert len(applied(story, tmp_path / "c")) == 2, "the first one of each boot tells of KV and properties"


def test_after_a_loss_the_next_checkpoint_is_read(tmp_path):
    story = Story()
    story.registers()
    checkpoint_of(story)
    story.registers("b1", "a1:1", ("new",))
    checkpoint_of(story)
    lines = story.journal.lines()
    lost = next(n for n, line in enumerate(lines) if b'"kind":"broker_live"' in line and b'"a1:1"' in line)
    folder = write_journal(tmp_path / "j", lines[:lost] + lines[lost + 1 :])
    found = list(JournalFollower(FoundJournal(str(folder))).new_steps())
    kinds = [type(step) for step in found if isinstance(step, Lost | CheckpointApplied)]
    assert kinds == [CheckpointApplied, Lost, CheckpointApplied]
    last = [step for step in found if isinstance(step, CheckpointApplied)][-1]
    assert "new" in last.state.tables.topics()


@pytest.mark.parametrize("seed", range(10))
def test_the_versions_of_all_rows_are_those_of_the_whole_records(tmp_path, seed):
    server = random_history(Random(seed), 60, clock_jumps=True)
    folder = write_journal(tmp_path / "j", server.lines(), per_segment=7)
    follower = JournalFollower(FoundJournal(str(folder)), Rows)
    read = history_from(server.namesrv, [*follower.new_steps(), *follower.end_steps()])
    expected = history_of(server.namesrv, read_records(server.lines()))
    assert read.periods() == expected.periods()
    for kind in (LiveKey, GroupKey, TopicKey, MappingKey, FilterKey):
        for at in sorted({each.ts for each in server.written}):
            if expected.knowledge(at) is Knowledge.KNOWN:
                assert dict(read.rows(kind, at)) == dict(expected.rows(kind, at))
    for topic in TOPICS:
        for at in sorted({each.ts for each in server.written})[::5]:
            assert route_at(read, topic, at) == route_at(expected, topic, at)


@pytest.mark.parametrize("part", [1, 7, 100])
def test_what_is_appended_comes_once_and_a_half_line_waits(tmp_path, part):
    lines = story_lines()
    folder = write_journal(tmp_path / "j", lines)
    text = b"".join(lines)
    grown(folder, b"")
    follower = JournalFollower(FoundJournal(str(folder)))
    found = []
    for end in [*range(0, len(text), 40 * part), len(text)]:
        grown(folder, text[:end])
        found += follower.new_steps()
    assert events(shown(found)) == events(shown(steps(read_records(lines))))
    assert follower.notes == []


def test_a_segment_that_is_sealed_meanwhile_goes_on_where_it_was(tmp_path):
    lines = story_lines()
    folder = write_journal(tmp_path / "j", lines)
    (path,) = folder.glob("*.open")
    half = b"".join(lines[: len(lines) // 2])
    grown(folder, half)
    follower = JournalFollower(FoundJournal(str(folder)))
    found = list(follower.new_steps())
    name = path.name.replace(".jsonl.open", f"-{len(lines):012}.jsonl.gz")
    (folder / name).write_bytes(gzip.compress(b"".join(lines)))
    path.unlink()
    found += follower.new_steps()
    assert events(shown(found)) == events(shown(steps(read_records(lines))))


def test_an_end_without_a_line_feed_is_damage_once_another_boot_began(tmp_path):
    story = Story()
    story.registers()
    before = story.journal.lines()
    story.restarts()
    folder = write_journal(tmp_path / "j", before)
    (path,) = folder.glob("*.open")
    path.write_bytes(b"".join(before) + b'{"kind":"server_al')
    follower = JournalFollower(FoundJournal(str(folder)))
    assert not any(isinstance(step, Lost) for step in follower.new_steps())
    write_journal(tmp_path / "k", story.journal.lines())
    newest = max((tmp_path / "k").iterdir(), key=lambda each: each.name)
    (folder / newest.name).write_bytes(newest.read_bytes())
    found = list(follower.new_steps())
    assert isinstance(found[0], Lost)
    assert not any(isinstance(step, Stopped) for step in found)
    assert "1 line is torn" in follower.notes[0]


def test_a_folder_without_a_journal_is_refused(tmp_path):
    with pytest.raises(JournalError, match="is not a journal"):
        JournalFollower(FoundJournal(str(tmp_path)))
