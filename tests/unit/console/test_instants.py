"""What was held at an instant, since when, and since when name servers disagree."""

from namekeeper.console.instants import HeldCache, differs_since, end_of, held_by, since
from namekeeper.history.rows import LiveKey, TopicKey
from namekeeper.journal.reading.coverage import Knowledge
from tests.unit.answers.story import Story
from tests.unit.console.incident import two_stories

LIVE = LiveKey("c", "a1:1")


def test_the_end_of_a_history_is_its_last_record():
    story = Story()
    story.registers()
    history = story.history()
    held = held_by(history, None)
    assert (held.at, held.has_state) == (story.now, True)
    assert end_of(history) == story.now
    assert sorted(held.topics) == ["T", "more", "other"]
    assert list(held.groups) == ["b0"]


def test_where_nothing_is_known_nothing_is_held():
    story = Story()
    story.registers()
    held = held_by(story.history(), story.now + 1)
    assert (held.knowledge, held.topics, held.live) == (Knowledge.NOT_YET, {}, {})


def test_a_broker_is_there_since_its_session_began():
    one, _ = two_stories()
    history = one.history()
    again = since(history, LIVE, one.now)
    assert again is not None
    assert history.row_at(LIVE, again.at - 1) is None
    one.registers("b1", "a1:1", ("T", "new"))
    assert since(one.history(), LIVE, one.now) == again


def test_name_servers_disagree_since_the_change_that_one_of_them_has_not():
    one, other = two_stories()
    both = [held_by(story.history(), None) for story in (one, other)]
    assert differs_since(both, [TopicKey("payments", "b0")]) == one.now
    assert differs_since(both, [TopicKey("T", "b0")]) is None
    assert differs_since(both[:1], [TopicKey("payments", "b0")]) is None


def test_what_is_unknown_is_no_disagreement():
    one, other = two_stories()
    both = [held_by(story.history(), one.now + 1) for story in (one, other)]
    assert differs_since(both, [TopicKey("payments", "b0")]) is None


def test_how_often_a_broker_registered_is_no_disagreement():
    one, other = two_stories()
    other.unregisters("a1:1")
    other.registers("b1", "a1:1", ("T",))
    both = [held_by(story.history(), None) for story in (one, other)]
    again = since(both[0].history, LIVE, one.now)
    assert again is not None
    began = [since(held.history, LIVE, held.at) for held in both]
    assert [event and event.at for event in began] == [again.at, other.now]
    assert differs_since(both, [LIVE]) is None


def test_few_instants_of_many_rows_are_cached(monkeypatch):
    story = Story()
    story.registers()
    cache, histories, at = HeldCache(), [story.history()], story.now
    before = [cache.held(1, histories, instant) for instant in range(at - 10, at)]
    assert len(cache._kept) == 4
    assert cache.held(1, histories, at - 1) is before[-1]
    monkeypatch.setattr("namekeeper.console.instants._ROWS_KEPT", 0)
    cache.held(1, histories, at)
    cache.held(1, histories, at - 20)
    assert list(cache._kept) == [(1, at - 20)], "the rows of the one before are too many"
    monkeypatch.undo()
    cache.held(2, histories, at)
    assert list(cache._kept) == [(2, at)], "those of older revisions are never asked for"
