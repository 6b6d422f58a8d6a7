"""What the native front is decided to answer, and what of it is made again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.lookup_cache import topic_answers as module
from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.lookup_cache.topic_answers import BYTES_OF_TOPIC, MIN_NUMBERS, MIN_REFUSED, MOST_REFILLS
from tests.unit.lookup_cache.test_cache import counts
from tests.unit.remoting.fake_front import FakeStore

TOPICS = ("T", "U", "V")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.sampled_from(TOPICS), st.booleans(), st.sampled_from((b"a", b"b"))),
        st.tuples(st.just("look up"), st.sampled_from(TOPICS), st.booleans()),
        st.tuples(st.just("forget"), st.lists(st.sampled_from(TOPICS), max_size=2, unique=True)),
        st.tuples(st.sampled_from(("refill", "forget all", "take counts"))),
    ),
    max_size=40,
)


class Decided:
    """A cache whose topic answers decide for a store."""

    def __init__(self, limit_bytes: int = 100_000) -> None:
        self.cache = LookupCache(limit_bytes)
        self.answers = self.cache.topic_answers
        self.store = FakeStore()
        self.answers.use(self.store)
        self.times_stale = 0
        self.answers.when_stale(self.note_stale)

    def note_stale(self) -> None:
        self.times_stale += 1

    @property
    def learned(self) -> dict[tuple[str, bool], bytes]:
        return {key: body for key, (_, body) in self.store.learned.items()}

    def refill(self, body: bytes = b"new") -> list[tuple[str, bool]]:
        """Learn again whatever is stale; return what that was."""
        made = []
        for each in self.answers.take_stale():
            self.answers.learn(each.topic, body, standard=each.standard, refills=each.refills)
            made.append((each.topic, each.standard))
        return made


@given(steps)
def test_the_store_has_what_was_learned_and_not_forgotten_and_every_look_up_is_counted(steps):
    decided = Decided()
    known: dict[tuple[str, bool], bytes] = {}
    forgotten: dict[tuple[str, bool], None] = {}
    asked = dict.fromkeys(TOPICS, 0)
    total = 0
    for step, *what in steps:
        if step == "learn":
            topic, standard, body = what
            decided.answers.learn(topic, body, standard=standard)
            known.setdefault((topic, standard), body)
        elif step == "look up":
            topic, standard = what
            if decided.store.look_up(topic, standard=standard) is not None:
                asked[topic] += 1
                total += 1
        elif step == "forget":
            decided.answers.forget(what[0])
            for key in [key for key in known if key[0] in what[0]]:
                del known[key]
                forgotten[key] = None
        elif step == "refill":
            assert set(decided.refill()) <= set(forgotten)
            known = dict.fromkeys(forgotten, b"new") | known
            forgotten = {}
        elif step == "forget all":
            decided.cache.forget_all()
            known, forgotten = {}, {}
        else:
            taken = counts(decided.cache)
            assert {topic: taken.get(topic, 0) for topic in TOPICS} == asked
            asked = dict.fromkeys(TOPICS, 0)
        assert (decided.answers.stale > 0) == bool(forgotten)
        assert decided.learned == known
        assert set(decided.answers.topics) == {topic for topic, _ in known}
    assert decided.cache.found == decided.answers.found == total


def test_a_look_up_is_counted_for_its_topic_though_all_is_forgotten_right_after():
    decided = Decided()
    decided.answers.learn("T", b"a", standard=True)
    decided.store.look_up("T", standard=True)
    decided.answers.forget_all()
    decided.answers.learn("U", b"a", standard=True)
    assert counts(decided.cache) == {"T": 1}


def test_without_a_store_nothing_is_learned():
    cache = LookupCache(100_000)
    cache.topic_answers.learn("T", b"a", standard=True)
    cache.topic_answers.forget(["T"])
    assert (set(cache.topic_answers.topics), list(cache.topic_answers.take_stale())) == (set(), [])


def test_a_store_begins_and_ends_with_nothing():
    decided = Decided()
    decided.answers.learn("T", b"a", standard=True)
    decided.answers.use(FakeStore())
    assert (decided.learned, set(decided.answers.topics)) == ({}, set())


def test_who_counts_by_topic_begins_anew_and_the_front_goes_on():
    decided = Decided()
    decided.answers.learn("T", b"a", standard=True)
    decided.store.look_up("T", standard=True)
    assert counts(decided.cache) == {"T": 1}
    assert decided.learned == {("T", True): b"a"}
    decided.store.look_up("T", standard=True)
    assert counts(decided.cache) == {"T": 1}


def test_a_topic_that_is_not_ascii_is_never_learned():
    decided = Decided()
    decided.answers.learn("T\ud800é", b"a", standard=True)
    assert decided.learned == {}


def test_room_is_for_topics_and_bodies_and_free_again_when_they_went():
    decided = Decided(limit_bytes=2 * (BYTES_OF_TOPIC + 4) + 100)
    for topic in ("1234", "abcd", "efgh"):
        decided.answers.learn(topic, bytes(100), standard=True)
    assert [topic for topic, _ in decided.learned] == ["1234", "abcd"]
    decided.answers.forget(["abcd", "1234"])
    assert [each.topic for each in decided.answers.take_stale()] == ["abcd", "1234"]
    left = BYTES_OF_TOPIC + 4 + 100
    decided.answers.learn("abcd", bytes(left + 1), standard=True)
    decided.answers.learn("efgh", bytes(left), standard=True)
    assert [topic for topic, _ in decided.learned] == ["efgh"]


def test_half_of_the_room_is_for_topics_that_somebody_has_asked_for():
    decided = Decided(limit_bytes=4 * (BYTES_OF_TOPIC + 1))
    assert decided.answers.takes_more
    decided.answers.learn("T", b"", standard=True, refills=1)
    assert decided.answers.takes_more
    decided.answers.learn("U", b"", standard=True, refills=1)
    assert not decided.answers.takes_more
    assert not LookupCache(100_000).topic_answers.takes_more, "without a store nothing is learned"


def test_whenever_topics_may_not_be_known_it_is_said():
    decided, noted = Decided(), []
    decided.answers.when_lacking(lambda: noted.append(1))
    decided.answers.note_lack()
    decided.answers.forget_all()
    assert len(noted) == 2
    decided.answers.use(None)
    noted.clear()
    decided.answers.note_lack()
    assert noted == []
    decided.answers.use(FakeStore())
    assert noted == [1]


def test_when_there_is_often_no_room_what_is_asked_for_now_is_learned():
    decided = Decided(limit_bytes=BYTES_OF_TOPIC + 10)
    decided.answers.learn("old", b"1234567", standard=True)
    for _ in range(MIN_REFUSED + 1):
        decided.answers.learn("new", b"1234567", standard=True)
    assert decided.learned == {("old", True): b"1234567"}
    for _ in range(2):
        decided.answers.learn("new", b"1234567", standard=True)
    assert decided.learned == {("new", True): b"1234567"}


def test_whenever_answers_become_stale_it_is_said():
    decided = Decided()
    decided.answers.learn("T", b"a", standard=True)
    decided.answers.learn("U", b"a", standard=True)
    decided.answers.forget(["V"])
    assert decided.times_stale == 0
    decided.answers.forget(["T"])
    decided.answers.forget(["U"])
    assert decided.times_stale == 2
    assert decided.refill() == [("T", True), ("U", True)]
    assert decided.refill() == []


def test_who_takes_what_is_stale_may_be_overtaken():
    decided = Decided()
    for topic in ("T", "U", "V"):
        decided.answers.learn(topic, b"a", standard=True)
    decided.answers.forget(["T", "U"])
    taken = decided.answers.take_stale()
    assert next(taken).topic == "T"
    decided.answers.forget(["V"])
    assert [each.topic for each in taken] == ["U", "V"]
    decided.answers.learn("T", b"a", standard=True)
    decided.answers.learn("U", b"a", standard=True)
    decided.answers.forget(["T", "U"])
    taken = decided.answers.take_stale()
    next(taken)
    decided.answers.forget_all()
    assert list(taken) == []
    assert decided.answers.takes_more


@pytest.mark.parametrize("asked_for", ["by look-ups of the front", "by another look-up"])
def test_what_nobody_asks_for_is_refilled_some_times_in_a_row(asked_for):
    decided = Decided()
    decided.answers.learn("T", b"a", standard=True)
    for _ in range(2):
        for _ in range(MOST_REFILLS):
            decided.answers.forget(["T"])
            assert decided.refill() == [("T", True)]
        if asked_for == "by look-ups of the front":
            decided.store.look_up("T", standard=True)
        else:
            decided.answers.forget(["T"])
            assert decided.refill() == []
            decided.answers.learn("T", b"a", standard=True)
    for _ in range(MOST_REFILLS):
        decided.answers.forget(["T"])
        decided.refill()
    decided.answers.forget(["T"])
    assert decided.refill() == []


def test_numbers_of_topics_that_are_gone_take_no_memory_for_long():
    decided = Decided(limit_bytes=10_000_000)
    for number in range(3 * MIN_NUMBERS):
        topic = f"T{number}"
        decided.answers.learn(topic, b"a", standard=True)
        decided.store.look_up(topic, standard=True)
        decided.answers.forget([topic])
        decided.answers.count()
    assert max(number for number, _ in decided.store.learned.values() or [(0, b"")]) <= MIN_NUMBERS + 2
    assert decided.answers.found == 3 * MIN_NUMBERS


def test_after_the_end_nothing_is_learned():
    decided = Decided()
    decided.answers.learn("T", b"a", standard=True)
    decided.answers.forget(["T"])
    decided.cache.close()
    decided.answers.learn("T", b"a", standard=True)
    assert (decided.learned, decided.refill()) == ({}, [])


def test_topics_that_come_and_go_keep_no_numbers_although_nobody_counts(monkeypatch):
    monkeypatch.setattr(module, "MIN_NUMBERS", 10)
    decided = Decided()
    decided.answers.learn("Stays", b"s", standard=True)
    for number in range(200):
        topic = f"T{number}"
        decided.answers.learn(topic, b"a", standard=True)
        decided.store.look_up(topic, standard=True)
        decided.answers.forget([topic])
        list(decided.answers.take_stale())
        assert len(decided.answers._topics) <= 10 + 2 * 2 + 1
    counted = counts(decided.cache)
    assert [counted[f"T{number}"] for number in range(200)] == [1] * 200
