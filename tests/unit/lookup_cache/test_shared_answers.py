"""Topics with the same body share one answer."""

import pytest

from namekeeper.lookup_cache.cache import MAX_DIGITS, SharedAnswers
from namekeeper.wire.codec import encode_response
from namekeeper.wire.command import Response


@pytest.mark.parametrize("digits", range(1, MAX_DIGITS + 1))
def test_around_the_digits_is_the_answer_of_the_handler(digits):
    shared = SharedAnswers().take(b"body")
    opaque = 10**digits - 1
    answer = shared.heads[digits] + b"%d" % opaque + shared.tail
    assert answer == encode_response(Response(body=b"body"), opaque=opaque)


def test_an_answer_takes_room_from_its_first_user_to_its_last():
    shared = SharedAnswers()
    size = shared.lacking_bytes(b"body")
    assert size > len(b"body")
    first = shared.take(b"body")
    assert shared.lacking_bytes(b"body") == 0
    assert shared.take(b"body") is first
    assert shared.drop(b"body") == 0
    assert shared.drop(b"body") == size
    assert shared.lacking_bytes(b"body") == size
