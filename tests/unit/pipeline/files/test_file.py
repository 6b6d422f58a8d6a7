"""Manifests and ledgers are read up to a limit."""

import io

import pytest

from namekeeper.pipeline.files import file
from namekeeper.pipeline.files.file import read_limited


@pytest.mark.parametrize(("size", "is_read"), [(0, True), (10, True), (11, False), (5_000_000, False)])
def test_a_file_is_read_up_to_its_limit(monkeypatch, size, is_read):
    monkeypatch.setattr(file, "READ_BYTES", 10)
    if is_read:
        assert read_limited(io.BytesIO(bytes(size)), "ledger") == bytes(size)
        return
    with pytest.raises(OSError, match="it has more than 10 bytes: move it away"):
        read_limited(io.BytesIO(bytes(size)), "ledger")
