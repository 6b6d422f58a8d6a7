"""Folders by URI: each kind of folder does the same."""

import io

import pytest

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.files import arrow_folder
from namekeeper.pipeline.files.arrow_folder import ArrowFolder
from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import Folder, glob_escaped, open_folder
from namekeeper.pipeline.files.local_folder import LocalFolder


@pytest.fixture(params=["local", "arrow", "store"])
def folder(request, tmp_path, monkeypatch) -> Folder:
    path = tmp_path / "a b%20[c]"
    path.mkdir()
    if request.param == "local":
        return LocalFolder(str(path))
    from pyarrow.fs import LocalFileSystem

    if request.param == "store":
        monkeypatch.setattr(arrow_folder, "_OBJECT_STORES", {LocalFileSystem().type_name})
    return ArrowFolder(f"hdfs://h{path}", LocalFileSystem(), str(path))


def test_files_are_put_read_listed_and_deleted(folder):
    folder.put("x/one", b"1")
    folder.put("x/one", b"11")
    assert folder.put_stream("x/y/two", io.BytesIO(b"222")) == 3
    assert folder.read("x/one") == b"11"
    with folder.open("x/y/two") as stream:
        assert stream.read(2) == b"22"
    assert sorted(file[:2] for file in folder.files()) == [("x/one", 2), ("x/y/two", 3)]
    assert [file.path for file in folder.files("x/y", quick=True)] == ["x/y/two"]
    assert all(file.modified_ms for file in folder.files())
    assert (folder.size("x/one"), folder.size("nothing")) == (2, 0)
    folder.delete("x/y")
    folder.delete("nothing")
    assert [file.path for file in folder.files()] == ["x/one"]
    folder.delete("x/one")
    assert list(folder.files()) == []
    assert list(folder.files("nothing")) == []


def test_a_name_is_put_once(folder):
    assert folder.put_new("n/1", b"first")
    assert not folder.put_new("n/1", b"second")
    assert folder.read("n/1") == b"first"
    assert [file.path for file in folder.files()] == ["n/1"]


def test_what_is_not_there_is_an_error_of_its_own(folder):
    with pytest.raises(FileNotFoundError):
        folder.read("nothing")


def test_a_stream_that_breaks_leaves_nothing_that_counts(folder):
    class Broken(io.BytesIO):
        def read(self, size=-1, /):
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        folder.put_stream("x/one", Broken())
    assert [file.path for file in folder.files() if not file.path.rpartition("/")[2].startswith(".")] in (
        [],
        ["x/one"],
    )


def test_a_path_a_uri_and_an_unknown_scheme(tmp_path):
    assert open_folder(str(tmp_path)).uri == f"file://{tmp_path}"
    assert open_folder(f"file://{tmp_path}/a%20b").uri == f"file://{tmp_path}/a b"
    assert open_folder("a:b").uri.endswith("/a:b")
    assert not open_folder(str(tmp_path / "nothing")).exists()
    with pytest.raises(PipelineError, match="give a path, or a URI that pyarrow knows"):
        open_folder("gopher://x/y")


@pytest.mark.parametrize("uri", ["", "file:", "file://", "file:///"])
def test_what_a_variable_that_is_not_set_leaves_is_no_folder(uri):
    with pytest.raises(PipelineError, match="names no folder: is a variable not set"):
        open_folder(uri)


def test_an_s3_uri_has_another_name_in_spark():
    folder = open_folder("s3a://bucket/a/b?region=x")
    assert isinstance(folder, ArrowFolder)
    assert folder.spark_path("c") == "s3a://bucket/a/b/c"
    assert ArrowFolder("s3://bucket/a", folder.filesystem, "bucket/a").spark_path() == "s3a://bucket/a"


def test_paths_that_look_like_patterns_are_taken_as_they_are():
    assert glob_escaped("/a[b]{c}*?\\d") == r"/a\[b\]\{c\}\*\?\\d"


def test_a_file_may_be_listed_without_its_size():
    assert File("x") == ("x", None, None)
