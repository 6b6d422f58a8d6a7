"""What a warehouse in a catalog does without Spark; with Iceberg and Delta it is in tests/spark/test_iceberg.py."""

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.catalog_store import CatalogStore, parse_location
from namekeeper.pipeline.store.manifest import Manifest, commit_manifest, newest_manifest


@pytest.fixture
def store(tmp_path) -> CatalogStore:
    folder = open_folder(str(tmp_path))
    commit_manifest(folder, Manifest(0, 1, "UTC", "", {}, parse_location("iceberg:nk.namekeeper")))
    return CatalogStore(folder)


@pytest.mark.parametrize("text", ["iceberg:nk.namekeeper", "delta:spark_catalog.a-b_9", "iceberg:nk.a.b.c"])
def test_a_place_is_a_format_a_catalog_and_a_namespace(text):
    assert parse_location(text).location == text


def test_every_warehouse_has_a_mark_of_its_own():
    assert parse_location("iceberg:nk.a").mark != parse_location("iceberg:nk.a").mark


@pytest.mark.parametrize(
    "text", ["", "iceberg", "iceberg:nk", "iceberg:nk.", "hudi:nk.a", "nk.a", "iceberg:nk.a`b", "iceberg:nk.a;b",
             "iceberg:nk.ä", "iceberg:nk.a\n"]
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(WarehouseError, match=r"are like iceberg or delta:CATALOG\.NAMESPACE"):
        parse_location(text)


def test_runs_are_counted_and_committed_in_the_folder(store, tmp_path):
    assert store.version().is_empty
    first, second = store.begin(), store.begin()
    assert (first.load_id, second.load_id) == (1, 2)
    second.commit(b"{}")
    assert store.version().ledger == b"{}"
    with pytest.raises(WarehouseError, match="another run has committed meanwhile"):
        first.commit(b"late")
    manifest = newest_manifest(open_folder(str(tmp_path)))
    assert manifest is not None
    assert (manifest.number, manifest.next_load) == (1, 3)
    (tmp_path / "staging").mkdir()
    store.clean_up()
    assert not (tmp_path / "staging").exists()
    assert store.begin().load_id == 3


def test_a_table_that_was_never_written_needs_no_catalog(store):
    assert store.reader().report_time_zone == "UTC"
