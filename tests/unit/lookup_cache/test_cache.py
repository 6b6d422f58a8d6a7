"""Look-ups that are answered by the bytes of their header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.lookup_cache.cache import KEYS_FREED, LookupCache
from namekeeper.lookup_cache.counters import LookupCounter
from namekeeper.wire.codec import encode_response
from namekeeper.wire.command import Response, request
from namekeeper.wire.json_header import encode_json_header

BODY = b'{"brokerDatas":[]}'


def header_of(topic: str = "T", opaque: int = 7) -> bytes:
    """The JSON header of a look-up."""
    return encode_json_header(request(105, {"topic": topic}, opaque=opaque))


def learn(cache: LookupCache, topic: str = "T", opaque: int = 7, body: bytes = BODY) -> None:
    cache.learn(header_of(topic, opaque), opaque, topic=topic, body=body, revision=cache.revision)


def counts(cache: LookupCache) -> dict[str, int]:
    return {topic: counter.count for topic, counter in cache.take_counts().items()}


def test_an_equal_request_gets_the_answer_that_the_handler_would_give():
    cache = LookupCache(10_000)
    learn(cache)
    for opaque in (1, 9, 10, 123_456_789):
        assert cache.find(header_of(opaque=opaque)) == encode_response(Response(body=BODY), opaque=opaque)
    assert cache.found == 4


def test_look_ups_are_counted_by_topic_found_or_not():
    cache = LookupCache(10_000)
    cache.count("T")
    learn(cache, "T")
    learn(cache, "U")
    for opaque in (1, 2, 3):
        cache.find(header_of("T", opaque))
    cache.find(header_of("U"))
    cache.find(header_of("V"))
    assert cache.found == 4
    assert counts(cache) == {"T": 4, "U": 1}
    assert cache.found == 4


def test_the_total_takes_no_longer_with_many_topics():
    """With 150,000 topics each scrape of the metrics held everybody up for up to 200 ms."""

    class Untouched(dict[str, LookupCounter]):
        def values(self):
            raise AssertionError("the counters of all topics are gone through")

        items = __iter__ = values

    cache = LookupCache(10_000)
    learn(cache)
    cache.find(header_of())
    cache.count("U")
    cache._counters._by_topic = Untouched(cache._counters._by_topic)
    assert (cache.found, cache.missed) == (1, 1)


def test_after_counts_were_taken_counting_begins_again_at_zero():
    cache = LookupCache(10_000)
    learn(cache)
    cache.find(header_of())
    assert counts(cache) == {"T": 1}
    assert cache.find(header_of()) is None
    learn(cache)
    cache.find(header_of())
    assert counts(cache) == {"T": 1}


def test_without_topics_the_total_is_counted():
    cache = LookupCache(10_000, counts_by_topic=False)
    learn(cache)
    cache.find(header_of())
    cache.count("T")
    assert cache.found == 1
    assert counts(cache) == {}


@pytest.mark.parametrize("opaque", [0, -5, 2_147_483_647])
def test_an_opaque_that_is_not_plain_is_not_found(opaque):
    cache = LookupCache(10_000)
    learn(cache)
    assert cache.find(header_of(opaque=opaque)) is None


def test_another_topic_is_not_found():
    cache = LookupCache(10_000)
    learn(cache, "T")
    assert cache.find(header_of("U")) is None


@pytest.mark.parametrize("digits", [b"07", b"1e5", b" 7", b"null", b'"7"', b"7.0", b""])
def test_only_plain_digits_are_copied(digits):
    cache = LookupCache(10_000)
    learn(cache, opaque=7)
    assert cache.find(header_of(opaque=7).replace(b'"opaque":7', b'"opaque":' + digits)) is None


def test_a_header_with_two_opaques_is_never_learned():
    cache = LookupCache(10_000)
    header = b'{"opaque":7,"code":105,"opaque":7}'
    cache.learn(header, 7, topic="T", body=BODY, revision=cache.revision)
    assert cache.find(header) is None


def test_a_header_whose_digits_are_not_its_opaque_is_never_learned():
    cache = LookupCache(10_000)
    header = b'{"code":105,"extFields":{"opaque":7,"topic":"T"},"flag":0}'
    cache.learn(header, 0, topic="T", body=BODY, revision=cache.revision)
    assert cache.find(header) is None


@pytest.mark.parametrize(
    "moved",
    [
        b'{"code":105,"extFields":{"opaque":9,"topic":"T"},"flag":0}',
        b'{"code":105,"extFields":{"topic":"opaque":9,"T"},"flag":0}',
        b'{"opaque":9,"code":105,"extFields":{"topic":"T"},"flag":0}',
    ],
    ids=["a field named so", "no JSON", "in another order"],
)
def test_a_header_with_its_opaque_in_another_place_is_another_header(moved):
    cache = LookupCache(10_000)
    header = b'{"code":105,"extFields":{"topic":"T"},"opaque":7,"flag":0}'
    cache.learn(header, 7, topic="T", body=BODY, revision=cache.revision)
    assert cache.find(header) is not None
    assert cache.find(moved) is None


def test_nothing_is_found_after_it_was_forgotten_or_closed():
    cache = LookupCache(10_000)
    learn(cache)
    cache.forget_all()
    assert cache.find(header_of()) is None
    learn(cache)
    assert cache.find(header_of()) is not None
    cache.close()
    assert cache.find(header_of()) is None
    learn(cache)
    assert cache.find(header_of()) is None


def test_one_topic_can_be_forgotten_and_learned_again():
    cache = LookupCache(10_000)
    learn(cache, "T")
    learn(cache, "U")
    cache.forget(["T", "unknown"])
    assert cache.find(header_of("T")) is None
    assert cache.find(header_of("U")) is not None
    assert set(cache.topics) == {"U"}
    learn(cache, "T", body=b"new")
    assert cache.find(header_of("T")) == encode_response(Response(body=b"new"), opaque=7)


@pytest.mark.parametrize("topics", [None, ["T"], ["U"], []])
def test_an_answer_that_was_made_before_something_was_forgotten_is_not_learned(topics):
    """Not even if nothing was known of what changed: only who makes the answer knows what it shows."""
    cache = LookupCache(10_000)
    revision = cache.revision
    if topics is None:
        cache.forget_all()
    else:
        cache.forget(topics)
    cache.learn(header_of(), 7, topic="T", body=BODY, revision=revision)
    assert cache.find(header_of()) is None


def test_what_is_kept_is_bounded_and_what_came_first_stays():
    cache = LookupCache(3_000)
    for number in range(100):
        learn(cache, f"T{number}")
    found = [number for number in range(100) if cache.find(header_of(f"T{number}"))]
    assert found == list(range(len(found)))
    assert 1 < len(found) < 30
    learn(cache, "large", body=bytes(5_000))
    assert cache.find(header_of("large")) is None


def find_or_learn(cache: LookupCache, topic: str) -> bool:
    """Look up as a server does; return whether the answer was known."""
    if cache.find(header_of(topic)) is not None:
        return True
    cache.count(topic)
    learn(cache, topic)
    return False


@pytest.fixture
def full(monkeypatch):
    """A cache with room for some ten topics, which is used up."""
    monkeypatch.setattr("namekeeper.lookup_cache.cache.MIN_TURNED_AWAY", 20)
    cache = LookupCache(3_000)
    before = -1
    while len(cache.topics) > before:
        before = len(cache.topics)
        find_or_learn(cache, f"gone{before}")
    return cache


def test_what_nobody_asks_for_any_more_leaves_its_room_to_others(full):
    found = [find_or_learn(full, f"T{number % 3}") for number in range(200)]
    assert all(found[-100:])


def test_what_is_asked_for_stays_though_others_find_no_room(full):
    topics = set(full.topics)
    for _ in range(100):
        assert [find_or_learn(full, topic) for topic in topics] == [True] * len(topics)
        find_or_learn(full, "another")
    assert set(full.topics) == topics


def test_a_cache_without_any_room_forgets_nothing(monkeypatch):
    monkeypatch.setattr("namekeeper.lookup_cache.cache.MIN_TURNED_AWAY", 20)
    cache = LookupCache(0)
    assert not any(find_or_learn(cache, f"T{number % 3}") for number in range(200))
    assert cache.revision == 0


def test_topics_that_are_forgotten_one_by_one_leave_their_room_to_others():
    cache = LookupCache(3_000)
    for number in range(1_000):
        learn(cache, "T", body=b"%d" % number)
        learn(cache, "U", body=b"%d" % number)
        assert cache.find(header_of("T"))
        assert cache.find(header_of("U"))
        cache.forget(["T"])
        cache.forget(["U"])


def test_topics_that_are_forgotten_at_once_leave_their_room_to_others():
    cache = LookupCache(100_000)
    number = 0
    while cache.find(header_of(f"T{number - 1}")) or not number:  # until one finds no room
        learn(cache, f"T{number}", body=b"%d" % number)
        number += 1
    for version in range(3):
        cache.forget([f"T{each}" for each in range(number)])
        assert not any(cache.find(header_of(f"T{each}")) for each in range(number))
        others = [f"{version}{each:03}" for each in range(number - 50)]  # the room of a few is not free yet
        for other in others:
            learn(cache, other, body=other.encode())
        assert all(cache.find(header_of(other)) for other in others)
        cache.forget(others)
        for each in range(number - 1):
            learn(cache, f"T{each}", body=b"%d" % each)
        assert all(cache.find(header_of(f"T{each}")) for each in range(number - 50))


def test_a_header_that_was_forgotten_and_learned_again_stays_known():
    """Whatever is freed after that of what was known before."""
    cache = LookupCache(100_000)
    headers = [header_of(opaque=7)[:-1] + b',"x":%d}' % number for number in range(3 * KEYS_FREED)]

    def learn_all(body: bytes) -> None:
        for header in headers:
            cache.learn(header, 7, topic="T", body=body, revision=cache.revision)

    for body in (b"1", b"2", b"3"):
        learn_all(body)
        assert [cache.find(header) for header in headers] == [
            encode_response(Response(body=body), opaque=7)
        ] * len(headers)
        cache.forget(["T"])
    learn_all(b"4")
    for number in range(100):
        learn(cache, f"T{number}")
    assert all(cache.find(header) for header in headers)


def test_headers_of_one_topic_may_have_different_answers():
    """Clients before 4.9.4 get another form."""
    cache = LookupCache(10_000)
    old, new = header_of(), header_of().replace(b'"flag"', b'"f":1,"flag"')
    cache.learn(old, 7, topic="T", body=b"legacy", revision=cache.revision)
    cache.learn(new, 7, topic="T", body=b"standard", revision=cache.revision)
    assert cache.find(old) == encode_response(Response(body=b"legacy"), opaque=7)
    assert cache.find(new) == encode_response(Response(body=b"standard"), opaque=7)
    cache.forget(["T"])
    assert cache.find(old) is None
    assert cache.find(new) is None


def test_a_header_that_is_learned_twice_takes_room_once():
    cache = LookupCache(3_000)
    for _ in range(1_000):
        learn(cache, "T")
    learn(cache, "U")
    assert cache.find(header_of("U"))


@given(st.text(max_size=20), st.integers(1, 999_999_999), st.integers(1, 999_999_999), st.binary(max_size=40))
def test_whatever_the_topic_the_answer_is_that_of_the_handler(topic, first, second, body):
    cache = LookupCache(100_000)
    learn(cache, topic, first, body)
    assert cache.find(header_of(topic, second)) == encode_response(Response(body=body), opaque=second)
