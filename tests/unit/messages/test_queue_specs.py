"""Queue specs are shared, and the memory of them is bounded."""

import pytest
from hypothesis import given

from namekeeper.messages import queue_specs
from namekeeper.messages.queue_specs import MAX_TEXT_BYTES, specs_by_numbers, specs_by_text
from namekeeper.model.topic import QueueSpec
from tests.unit.messages.samples import int32s


@pytest.fixture(autouse=True)
def _empty_memories():
    """Each test begins with nothing remembered, whatever ran before it."""
    specs_by_numbers.clear()
    specs_by_text.clear()


@given(int32s, int32s, int32s, int32s)
def test_numbers_become_the_spec_that_has_them(read, write, perm, flag):
    assert specs_by_numbers[read, write, perm, flag] == QueueSpec(read, write, perm, flag)


def test_null_is_zero():
    assert specs_by_numbers[None, 4, None, None] == QueueSpec(0, 4, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        b"4 8 6 SINGLE_TAG",
        b"4 8 6 MULTI_TAG",
        b"4 8 6 SINGLE_TAG ",
        b"4 8 6 SINGLE_TAG {}",
        b'+4 8 06 SINGLE_TAG {"a":"b c d"}',
        b"4 8 6 SINGLE_TAG not JSON",
        b"4 8 6 SINGLE_TAG " + b"x" * MAX_TEXT_BYTES,
    ],
)
def test_text_and_numbers_share_one_value(text):
    spec = specs_by_text[text]
    assert spec == QueueSpec(4, 8, 6, 0)
    assert spec is specs_by_text[text]
    assert spec is specs_by_numbers[4, 8, 6, 0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "has 2 parts instead of 5 or more"),
        (b"4 8 6", "has 4 parts instead of 5 or more"),
        (b"4 8 6 ", "unknown filter type b''"),
        (b"4 8 6 single_tag", "unknown filter type b'single_tag'"),
        (b"4  8 6 SINGLE_TAG", "unknown filter type b'6'"),
        (b"4  8 SINGLE_TAG", "is not a decimal number: ''"),
        (b"x 8 6 SINGLE_TAG", "is not a decimal number: 'x'"),
        (b"\xff 8 6 SINGLE_TAG", "is not a decimal number"),
        (b"4 8 2147483648 SINGLE_TAG", "is out of range: '2147483648'"),
    ],
)
def test_text_that_java_refuses_is_refused_with_the_reason(text, why):
    with pytest.raises(ValueError, match=why):
        specs_by_text[text]
    assert text not in specs_by_text


def test_long_texts_are_not_remembered():
    assert specs_by_text[b"4 8 6 SINGLE_TAG " + b"x" * MAX_TEXT_BYTES] == QueueSpec(4, 8, 6, 0)
    assert not specs_by_text


def test_memories_start_anew_when_they_are_full(monkeypatch):
    monkeypatch.setattr(queue_specs, "MAX_SPECS", 3)
    for number in range(10):
        assert specs_by_numbers[number, 1, 6, 0] == QueueSpec(number, 1, 6, 0)
        assert specs_by_text[b"%d 2 6 SINGLE_TAG" % number] == QueueSpec(number, 2, 6, 0)
        assert len(specs_by_numbers) <= 3
        assert len(specs_by_text) <= 3
