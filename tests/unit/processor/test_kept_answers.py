"""Answers of topics are kept while there is room, and share what is the same."""

import gc

from namekeeper.processor.route_answers import KeptAnswers


def test_topics_with_the_same_body_share_an_answer_and_its_room():
    kept = KeptAnswers()
    first = kept.keep("T", b"body", lambda _: True)
    assert kept.keep("U", b"body", lambda _: True) is first
    assert kept.find("T") is kept.find("U") is first
    assert kept.bytes == len("T") + len("U") + len(b"body")


def test_without_room_an_answer_is_given_and_not_kept():
    kept = KeptAnswers()
    assert kept.keep("T", b"body", lambda size: size < 5).body == b"body"
    assert kept.find("T") is None
    assert kept.bytes == 0


def test_a_topic_that_is_kept_again_has_its_new_answer_and_takes_its_room_once():
    kept = KeptAnswers()
    for _ in range(3):
        kept.keep("T", b"old", lambda _: True)
        assert kept.keep("T", b"new", lambda _: True).body == b"new"
    assert kept.find("T").body == b"new"
    kept.forget(("T",))
    assert kept.find("T") is None
    assert kept.bytes == 0


def test_what_was_forgotten_is_kept_no_more_and_others_are():
    kept = KeptAnswers()
    for topic in ("T", "U"):
        kept.keep(topic, b"body", lambda _: True)
    kept.forget(("T", "unknown"))
    assert set(kept.topics) == {"U"}
    kept.forget_all()
    assert (set(kept.topics), kept.bytes) == (set(), 0)
    kept.keep("T", b"body", lambda _: True)
    assert kept.bytes == len("T") + len(b"body")


def test_the_garbage_collector_has_nothing_to_do_with_what_is_forgotten():
    """It would stop everybody to look at 60,000 answers of one broker."""
    kept, topics = KeptAnswers(), [f"T{number}" for number in range(1_000)]
    for topic in topics:
        kept.keep(topic, b"body", lambda _: True)
    gc.disable()
    try:
        before = gc.get_count()[0]
        kept.forget(topics)
        assert gc.get_count()[0] - before < 100
    finally:
        gc.enable()
