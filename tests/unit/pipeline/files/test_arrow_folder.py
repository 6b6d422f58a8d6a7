"""What only a folder of pyarrow has to do; the rest is in test_folder."""

import io
from typing import Any

import pytest
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


class Store:
    """An object store that notes what is asked of it, and allows only what is below one prefix."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        self.calls: list[str] = []
        self.objects: dict[str, bytes] = {}

    def open_output_stream(self, path: str, **_: Any) -> "Upload":
        self.calls.append(f"put {path}")
        return Upload(self, path)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not needed")


class Upload(io.BytesIO):
    def __init__(self, store: Store, path: str) -> None:
        super().__init__()
        self.store, self.path = store, path

    def __exit__(self, *_: object) -> None:
        self.store.objects[self.path] = self.getvalue()


@pytest.mark.parametrize("kind", ["s3", "gcs", "abfs"])
def test_in_an_object_store_a_file_is_one_upload(kind):
    """No folders are made: that would need rights on the bucket, and on the parents of the prefix."""
    store = Store(kind)
    folder = ArrowFolder(f"{kind}://bucket/team/warehouse", store, "bucket/team/warehouse")  # type: ignore[arg-type]
    folder.put("manifests/1.json", b"1")
    assert store.calls == ["put bucket/team/warehouse/manifests/1.json"]
    assert list(store.objects.values()) == [b"1"]


def test_elsewhere_than_in_an_object_store_what_can_not_be_looked_at_is_an_error():
    class Away:
        type_name = "hdfs"

        def get_file_info(self, _: object) -> None:
            raise OSError("away")

    with pytest.raises(OSError, match="away"):
        ArrowFolder("hdfs://h/x", Away(), "/x").exists()  # type: ignore[arg-type]
