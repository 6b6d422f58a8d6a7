"""Whatever a stranger wrote, reading it raises one of a few errors."""

import msgspec
import pytest

from namekeeper.foreign_json import UNREADABLE_JSON

DEPTH = 100_000


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1", b'"a', b"{}", b'["\xff"]', b"\xff", b"[" * DEPTH, b'{"a":' * DEPTH, b"\x00"]
)
def test_it_raises_one_of_these(data):
    with pytest.raises(UNREADABLE_JSON):
        msgspec.json.decode(data, type=list[str])
    if data != b"{}":
        with pytest.raises(UNREADABLE_JSON):
            msgspec.json.decode(data)
