"""Manifests and ledgers are read up to a limit."""

import io
import os
import tracemalloc

import pytest

from namekeeper.pipeline.files import file
from namekeeper.pipeline.files.file import read_limited
from namekeeper.pipeline.files.local_folder import LocalFolder


@pytest.mark.parametrize(("size", "is_read"), [(0, True), (10, True), (11, False), (5_000_000, False)])
def test_a_file_is_read_up_to_its_limit(monkeypatch, size, is_read):
    monkeypatch.setattr(file, "READ_BYTES", 10)
    if is_read:
        assert read_limited(io.BytesIO(bytes(size)), "ledger") == bytes(size)
        return
    with pytest.raises(OSError, match="it has more than 10 bytes: move it away"):
        read_limited(io.BytesIO(bytes(size)), "ledger")


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    (tmp_path / "ledger").touch()
    os.truncate(tmp_path / "ledger", 1 << 42)
    tracemalloc.start()
    with pytest.raises(OSError, match="it has more than 268435456 bytes: move it away"):
        LocalFolder(str(tmp_path)).read("ledger")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
