"""The checksum of a file is that of all its bytes."""

from zlib import crc32

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.sums import sum_of


def test_a_file_is_summed_whole(tmp_path):
    folder = open_folder(str(tmp_path))
    for data in (b"", b"x", bytes(range(256)) * 10_000):
        folder.put("below/file", data)
        assert sum_of(folder, "below/file") == crc32(data)
