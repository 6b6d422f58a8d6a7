"""Folders by URI: each kind of folder does the same."""

import io
import threading

import pytest

from namekeeper.pipeline.errors import PipelineError, WarehouseError
from namekeeper.pipeline.files.arrow_folder import ArrowFolder
from namekeeper.pipeline.files.file import File
from namekeeper.pipeline.files.folder import Folder, glob_escaped, open_folder
from namekeeper.pipeline.files.local_folder import LocalFolder

TRIALS = 20
AT_ONCE = 4


@pytest.fixture(params=["local", "arrow", "s3"])
def folder(request, tmp_path) -> Folder:
    if request.param == "s3":
        s3 = request.getfixturevalue("s3")
        return open_folder(s3.uri(f"{tmp_path.name}/a%20b%5Bc%5D"))
    path = tmp_path / "a b%20[c]"
    path.mkdir()
    if request.param == "local":
        return LocalFolder(str(path))
    from pyarrow.fs import LocalFileSystem

    return ArrowFolder(f"hdfs://h{path}", LocalFileSystem(), str(path), lambda *_: LocalFolder(str(path)))


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


def raced(*writes) -> list[bool]:
    """What writes that begin at the same instant return."""
    start, results = threading.Barrier(len(writes)), []

    def begin(write) -> None:
        start.wait()
        results.append(write())

    threads = [threading.Thread(target=begin, args=(write,)) for write in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_several_that_create_a_file_at_once_exactly_one_does(folder):
    for trial in range(TRIALS):
        path = f"n/{trial}"
        written = raced(*(lambda n=n, path=path: folder.put_new(path, b"%d" % n) for n in range(AT_ONCE)))
        assert sorted(written) == [False] * (AT_ONCE - 1) + [True], f"trial {trial}"


def test_of_several_that_replace_a_version_at_once_exactly_one_does(folder):
    folder.put_new("lock", b"begin")
    for trial in range(TRIALS):
        found = folder.read_versioned("lock")
        written = raced(*(
            lambda n=n, trial=trial, version=found.version: folder.put_if_unchanged("lock", b"%d %d" % (trial, n), version)
            for n in range(AT_ONCE)
        ))  # fmt: skip
        assert sorted(written) == [False] * (AT_ONCE - 1) + [True], f"trial {trial}"


def test_a_version_that_was_replaced_or_deleted_is_not_written_over(folder):
    assert folder.read_versioned("lock") is None
    folder.put_new("lock", b"1")
    first = folder.read_versioned("lock")
    assert first.data == b"1"
    assert folder.put_if_unchanged("lock", b"2", first.version)
    assert not folder.put_if_unchanged("lock", b"3", first.version)
    second = folder.read_versioned("lock")
    folder.delete("lock")
    assert not folder.put_if_unchanged("lock", b"3", second.version)
    assert folder.read_versioned("lock") is None


def test_a_file_system_without_conditional_writes_is_refused(tmp_path):
    from pyarrow.fs import LocalFileSystem

    folder = ArrowFolder("hdfs://h/w", LocalFileSystem(), str(tmp_path))
    for write in (lambda: folder.put_new("x", b"1"), lambda: folder.read_versioned("x")):
        with pytest.raises(
            WarehouseError, match=r"hdfs://h/w can't be written safely.*keep the warehouse in"
        ):
            write()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_an_error_of_its_own(folder):
    with pytest.raises(FileNotFoundError):
        folder.read("nothing")


@pytest.mark.parametrize("end", [OSError, KeyboardInterrupt])
def test_a_stream_that_breaks_leaves_no_file(folder, end):
    """Ctrl-C ends `journal ship` in the middle of a segment, which a run of the pipeline would take as it is."""

    class Broken(io.BytesIO):
        def read(self, size=-1, /):
            if part := super().read(size):
                return part
            raise end("gone")

    with pytest.raises(end, match="gone"):
        folder.put_stream("x/one", Broken(b"half of it"))
    assert [file.path for file in folder.files()] == []


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
