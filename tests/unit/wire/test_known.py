"""Requests that are answered by their very bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.wire.codec import encode_command, encode_response
from namekeeper.wire.command import RemotingCommand, Response, request
from namekeeper.wire.frames import FrameDecoder
from namekeeper.wire.known import KnownRequests, Tally

BODY = b'{"brokerDatas":[]}'


def asked(topic: str = "T", opaque: int = 7, flag: int = 0) -> RemotingCommand:
    """A look-up as the decoder of a server gives it."""
    command = request(105, {"topic": topic}, opaque=opaque)
    command.flag = flag
    (decoded,) = FrameDecoder(answer=lambda _: None).feed_or_answer(encode_command(command))
    assert isinstance(decoded, RemotingCommand)
    return decoded


def test_an_equal_request_is_answered_as_the_long_way_would():
    known = KnownRequests(10_000)
    tally = Tally()
    known.learn(asked(opaque=7), BODY, tally)
    for opaque in (1, 9, 10, 123_456_789):
        expected = encode_response(Response(body=BODY), opaque=opaque)
        assert known.answer(asked(opaque=opaque).header) == expected
    assert tally.count == 4


def test_what_is_answered_is_counted_by_what_was_asked_for():
    known, tally, other = KnownRequests(10_000), Tally(), Tally()
    known.learn(asked("T"), BODY, tally)
    known.learn(asked("U"), BODY, other)
    for opaque in (1, 2, 3):
        known.answer(asked("T", opaque).header)
    known.answer(asked("U").header)
    known.answer(asked("V").header)
    assert (tally.count, other.count) == (3, 1)


@pytest.mark.parametrize("opaque", [0, -5, 2_147_483_647])
def test_an_opaque_that_is_not_plain_takes_the_long_way(opaque):
    known = KnownRequests(10_000)
    known.learn(asked(opaque=7), BODY, Tally())
    assert known.answer(asked(opaque=opaque).header) is None


def test_another_topic_is_not_known():
    known = KnownRequests(10_000)
    known.learn(asked("T"), BODY, Tally())
    assert known.answer(asked("U").header) is None


def test_one_way_requests_are_never_learned():
    known = KnownRequests(10_000)
    known.learn(asked(flag=2), BODY, Tally())
    assert known.answer(asked(flag=2).header) is None


@pytest.mark.parametrize("digits", [b"07", b"1e5", b" 7", b"null", b'"7"', b"7.0", b""])
def test_only_plain_digits_are_copied(digits):
    known = KnownRequests(10_000)
    learned = asked(opaque=7)
    known.learn(learned, BODY, Tally())
    assert known.answer(learned.header.replace(b'"opaque":7', b'"opaque":' + digits)) is None


def test_a_header_with_two_opaques_is_never_learned():
    known = KnownRequests(10_000)
    learned = asked(opaque=7)
    learned.header = b'{"opaque":7,"code":105,"opaque":7}'
    known.learn(learned, BODY, Tally())
    assert known.answer(learned.header) is None


def test_nothing_is_known_after_it_was_forgotten_or_closed():
    known = KnownRequests(10_000)
    known.learn(asked(), BODY, Tally())
    known.forget()
    assert known.answer(asked().header) is None
    known.learn(asked(), BODY, Tally())
    known.close()
    known.learn(asked(), BODY, Tally())
    assert known.answer(asked().header) is None


def test_what_is_kept_is_bounded_and_what_came_first_stays():
    known = KnownRequests(3_000)
    for number in range(100):
        known.learn(asked(f"T{number}"), BODY, Tally())
    answered = [number for number in range(100) if known.answer(asked(f"T{number}").header)]
    assert answered == list(range(len(answered)))
    assert 1 < len(answered) < 30
    known.learn(asked("large"), bytes(5_000), Tally())
    assert known.answer(asked("large").header) is None


@given(st.text(max_size=20), st.integers(1, 999_999_999), st.integers(1, 999_999_999), st.binary(max_size=40))
def test_whatever_the_topic_the_answer_is_that_of_the_long_way(topic, first, second, body):
    known = KnownRequests(100_000)
    known.learn(asked(topic, first), body, Tally())
    answer = known.answer(asked(topic, second).header)
    assert answer == encode_response(Response(body=body), opaque=second)
