"""Conditional writes to a store that ignores them, lacks them, refuses them or is away; more is in test_folder."""

import sys

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files import object_store
from namekeeper.pipeline.files.folder import Folder, open_folder
from namekeeper.pipeline.files.object_store import open_object_store
from tests.support.pipeline.object_store import S3

NOT_IMPLEMENTED = b"<Error><Code>NotImplemented</Code><Message>A header is not implemented</Message></Error>"
DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


@pytest.fixture
def folder(s3: S3, tmp_path) -> Folder:
    return open_folder(s3.uri(f"{tmp_path.name}/w"))


def test_a_store_that_ignores_conditions_is_refused_with_what_to_do(s3, folder):
    s3.ignored = {"If-None-Match"}
    with pytest.raises(
        WarehouseError, match=r"this store ignores If-None-Match, .*use a store with conditional"
    ):
        folder.put_new("lock", b"1")
    s3.ignored = {"If-Match"}
    found = folder.read_versioned("lock")
    with pytest.raises(WarehouseError, match="this store ignores If-Match"):
        folder.put_if_unchanged("lock", b"2", found.version)


def test_a_store_without_conditional_writes_is_refused_with_what_to_do(s3, folder):
    s3.fault = lambda environ: (
        ("501 Not Implemented", NOT_IMPLEMENTED) if environ["REQUEST_METHOD"] == "PUT" else None
    )
    with pytest.raises(WarehouseError, match=r"this store has no conditional writes, .*\(S3, GCS, ABFS"):
        folder.put_new("lock", b"1")


def test_what_may_not_be_done_is_an_error_of_one_line(s3, folder):
    s3.fault = lambda _: ("403 Forbidden", DENIED)
    for ask in (lambda: folder.put_new("lock", b"1"), lambda: folder.read_versioned("lock")):
        with pytest.raises(OSError, match=r"w/lock can't be (written|read): .*") as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_an_error(s3):
    with pytest.raises(OSError, match=r"bucket-of-nobody/w/lock can't be written: .*"):
        open_object_store("s3://bucket-of-nobody/w", "bucket-of-nobody/w", "us-east-1").put_new("lock", b"1")


def test_a_file_that_is_too_large_for_a_lock_is_not_read(s3, folder, monkeypatch):
    monkeypatch.setattr(object_store, "READ_BYTES", 10)
    folder.put("lock", bytes(11))
    with pytest.raises(OSError, match="has more than 10 bytes: move it away"):
        folder.read_versioned("lock")


def test_where_the_client_is_missing_it_is_named(monkeypatch):
    """On a cluster there are pyspark and pyarrow only, until somebody installs it."""
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    with pytest.raises(
        WarehouseError, match="needs obstore, which is not installed here: pip install obstore"
    ):
        open_object_store("s3://b/w", "b/w")


@pytest.mark.parametrize(
    ("uri", "path", "client"),
    [
        ("gs://bucket/team/w", "bucket/team/w", "GCSStore"),
        ("abfss://c@account.dfs.core.windows.net/w", "c/w", "AzureStore"),
        ("s3a://key:se%2Fcret@bucket/w?endpoint_override=127.0.0.1:9&scheme=http", "bucket/w", "S3Store"),
        ("s3://bucket?region=eu-west-1", "bucket", "S3Store"),
    ],
)
def test_a_uri_of_pyarrow_is_one_for_the_client_too(uri, path, client):
    """Google's and Azure's are only opened: no server of theirs can be had here."""
    assert type(open_object_store(uri, path)._client).__name__ == client


def test_what_a_uri_says_of_its_endpoint_and_keys_is_taken(s3, monkeypatch):
    host = s3.endpoint.removeprefix("http://")
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    folder = open_folder(f"s3://a:b@{s3.bucket}/of/uri?region=us-east-1&scheme=http&endpoint_override={host}")
    assert folder.put_new("x", b"1")
    assert folder.read("x") == b"1"


def test_a_scheme_that_the_client_does_not_know_is_refused():
    with pytest.raises(WarehouseError, match="can't be opened for writing"):
        open_object_store("gopher://b/w", "b/w")
