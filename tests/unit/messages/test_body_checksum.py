"""The checksum of a body: its value, and that a large one takes turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import RequestError
from namekeeper.messages.body_checksum import CHECKED_AT_ONCE, check_crc32, masked_crc32
from tests.support.system.errors import assert_no_error
from tests.unit.messages.samples import finish, sample


@given(st.binary(max_size=40))
def test_the_checksum_is_positive_and_accepted(body):
    assert 0 <= masked_crc32(body) < 2**31
    finish(check_crc32(masked_crc32(body), body))


def test_the_checksums_of_the_vectors_hold():
    for number in (6, 7, 8):
        command = sample(number)
        assert int(command.ext_fields["bodyCrc32"]) == masked_crc32(command.body)


@pytest.mark.parametrize(("checksum", "body"), [(1, b"x"), (-1, b"x"), (1, b"")])
def test_another_checksum_is_refused(checksum, body):
    with pytest.raises(RequestError, match="crc32 not match") as raised:
        finish(check_crc32(checksum, body))
    assert (raised.value.code, raised.value.remark) == (1, "crc32 not match")


def test_zero_is_unchecked():
    assert_no_error(finish, check_crc32(0, b"x"))


@pytest.mark.parametrize("surplus", [0, 1])
def test_the_checksum_of_a_large_body_takes_turns(surplus):
    body = bytes(range(256)) * (3 * CHECKED_AT_ONCE // 256) + bytes(surplus)
    assert len(list(check_crc32(masked_crc32(body), body))) == 2 + surplus
    with pytest.raises(RequestError, match="crc32 not match"):
        finish(check_crc32(masked_crc32(body), b"\1" + body[1:]))
