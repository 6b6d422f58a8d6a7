"""Why a segment was not whole; the rows of the table are in tests/spark/test_ingest.py."""

import gzip
from pathlib import Path

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.ingest.quarantine import Loss, look_for_loss
from namekeeper.pipeline.ingest.segment_counts import SegmentCount
from namekeeper.pipeline.ingest.segments import Segment
from tests.unit.pipeline.ingest.test_segment_counts import group_of

DATA = b'{"x":1}\n' * 9


def loss_of(
    tmp_path: Path, data: bytes, *, read: int, rejected: int = 0, compressed: bool = True
) -> Loss | None:
    (tmp_path / "s").write_bytes(data)
    segment = Segment("ns", "0a1b2c3d", 5, 1, 10, compressed, 1, "j", "s")
    return look_for_loss(
        open_folder(str(tmp_path)), segment, SegmentCount((group_of(list(range(1, read + 1))),), rejected)
    )


def test_compressed_data_that_end_early(tmp_path):
    for cut in (gzip.compress(DATA)[:-9], gzip.compress(DATA)[:15], b"no gzip"):
        loss = loss_of(tmp_path, cut, read=0)
        assert loss is not None
        assert loss.is_final
        assert loss.detail.startswith("10 records are missing: its compressed data are damaged or end early")


def test_a_segment_beyond_a_limit_names_it(tmp_path):
    loss = loss_of(tmp_path, gzip.compress(b"\n" * 100_001), read=0)
    assert loss is not None
    assert loss.is_final
    assert loss.detail == (
        "10 records are missing: more than 100,000 lines have fewer than 48 bytes, so nothing of it is read."
        " A whole copy is read when there is one"
    )


def test_lines_that_are_not_there(tmp_path):
    loss = loss_of(tmp_path, DATA + b"\n  \n", read=7, rejected=2, compressed=False)
    assert loss is not None
    assert "3 records are missing: it has 9 lines, 2 of them rejected; its name promises 10" in loss.detail
    assert loss.is_final


def test_lines_that_are_there_and_were_not_read_are_read_again(tmp_path):
    loss = loss_of(tmp_path, gzip.compress(DATA), read=4)
    assert loss is not None
    assert not loss.is_final
    assert "only 4 of its 9 lines could be read" in loss.detail


def test_a_file_that_is_gone_is_no_loss(tmp_path):
    segment = Segment("ns", "0a1b2c3d", 5, 1, 10, True, 1, "j", "s")
    assert look_for_loss(open_folder(str(tmp_path)), segment, SegmentCount()) is None


def test_records_of_another_name_server_are_missing_under_this_name(tmp_path):
    (tmp_path / "s").write_bytes(gzip.compress(DATA))
    segment = Segment("forged", "0a1b2c3d", 5, 1, 9, True, 1, "j", "s")
    count = SegmentCount((group_of(list(range(1, 10))),))
    loss = look_for_loss(open_folder(str(tmp_path)), segment, count)
    assert loss is not None
    assert loss.detail.startswith("9 records are missing: 9 records are of another name server or boot")
