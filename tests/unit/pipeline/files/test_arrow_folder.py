"""What only a folder of pyarrow has to do; the rest is in test_folder."""

import io

from pyarrow.fs import LocalFileSystem

from namekeeper.pipeline.files.arrow_folder import ArrowFolder


def test_elsewhere_than_in_an_object_store_a_file_appears_by_a_rename(tmp_path):
    seen: list[list[str]] = []

    class Watched(io.BytesIO):
        def read(self, size=-1, /):
            seen.append([path.name for path in tmp_path.iterdir()])
            return super().read(size)

    ArrowFolder("hdfs://h/x", LocalFileSystem(), str(tmp_path)).put_stream("one", Watched(b"1"))
    assert all("one" not in names for names in seen)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
