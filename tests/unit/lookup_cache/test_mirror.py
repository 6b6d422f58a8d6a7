"""What stands beside the cache has what the cache has, and counts for it."""

from hypothesis import given
from hypothesis import strategies as st

from namekeeper.lookup_cache.cache import LookupCache
from tests.unit.lookup_cache.test_cache import counts, header_of
from tests.unit.remoting.fake_front import FakeMirror

TOPICS = ("T", "U", "V")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.sampled_from(TOPICS), st.sampled_from((b"a", b"b"))),
        st.tuples(st.just("forget"), st.lists(st.sampled_from(TOPICS), max_size=2)),
        st.tuples(st.just("look up"), st.sampled_from(TOPICS)),
        st.tuples(st.sampled_from(("forget all", "take counts"))),
    ),
    max_size=30,
)


def key_of(topic: str) -> bytes:
    return header_of(topic).replace(b'"opaque":7,', b'"opaque":')


def assert_counted(cache: LookupCache, asked: dict[str, int]) -> None:
    taken = counts(cache)
    assert {topic: taken.get(topic, 0) for topic in TOPICS} == asked


@given(steps)
def test_it_knows_what_the_cache_knows_and_every_look_up_is_counted(steps):
    cache, mirror = LookupCache(100_000), FakeMirror()
    cache.mirror_to(mirror)
    known: dict[str, bytes] = {}
    asked = dict.fromkeys(TOPICS, 0)
    for step, *what in steps:
        if step == "learn":
            topic, body = what
            cache.learn(header_of(topic), 7, topic=topic, body=body, revision=cache.revision)
            known.setdefault(topic, body)
        elif step == "forget":
            cache.forget(what[0])
            known = {topic: body for topic, body in known.items() if topic not in what[0]}
        elif step == "forget all":
            cache.forget_all()
            known = {}
        elif step == "take counts":
            assert_counted(cache, asked)
            known, asked = {}, dict.fromkeys(TOPICS, 0)
        elif what[0] in known:
            mirror.counts.append((mirror.learned[key_of(what[0])][0], 2))
            cache.find(header_of(what[0]))
            asked[what[0]] += 3
        assert {key: body for key, (_, body) in mirror.learned.items()} == {
            key_of(topic): body for topic, body in known.items()
        }
        assert set(cache.topics) == set(known)
    assert_counted(cache, asked)


def test_a_mirror_begins_and_ends_with_nothing():
    cache, mirror = LookupCache(100_000), FakeMirror()
    cache.learn(header_of("T"), 7, topic="T", body=b"a", revision=cache.revision)
    cache.mirror_to(mirror)
    assert cache.find(header_of("T")) is None
    cache.learn(header_of("T"), 7, topic="T", body=b"a", revision=cache.revision)
    assert len(mirror.learned) == 1
    cache.mirror_to(None)
    assert mirror.learned == {}


def test_the_total_has_what_the_mirror_answered():
    cache, mirror = LookupCache(100_000), FakeMirror()
    cache.mirror_to(mirror)
    cache.learn(header_of("T"), 7, topic="T", body=b"a", revision=cache.revision)
    mirror.counts = [(0, 5)]
    assert cache.found == 5
    assert cache.found_by_mirror == 5
