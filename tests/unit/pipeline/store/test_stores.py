"""Which kind of warehouse a folder is, and what it may not become."""

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.catalog_store import CatalogStore
from namekeeper.pipeline.store.manifest import Catalog, Manifest, commit_manifest
from namekeeper.pipeline.store.parquet_store import ParquetStore
from namekeeper.pipeline.store.stores import open_or_make_store, open_store

CATALOG = Catalog("iceberg", "nk.namekeeper", "0a1b", {"events": 3})


@pytest.fixture
def folder(tmp_path):
    return open_folder(str(tmp_path))


def no_session():
    raise AssertionError("Spark is not needed")


def made(folder, zone=None, location=None):
    return open_or_make_store(folder, zone, location, (), no_session)


def test_a_new_one_has_files(folder):
    assert isinstance(made(folder, "Europe/Berlin"), ParquetStore)
    assert made(folder).reader().report_time_zone == "Europe/Berlin"


def test_one_in_a_catalog_is_known_by_its_manifest(folder):
    commit_manifest(folder, Manifest(1, 2, "Asia/Shanghai", "", {}, CATALOG))
    for store in (open_store(folder), made(folder), made(folder, "Asia/Shanghai", "iceberg:nk.namekeeper")):
        assert isinstance(store, CatalogStore)
        assert store.reader().report_time_zone == "Asia/Shanghai"
        assert not store.version().is_empty


def test_what_is_fixed_can_not_be_changed(folder):
    made(folder)
    with pytest.raises(WarehouseError, match="has days of UTC, not of Europe"):
        made(folder, "Europe/Berlin")
    with pytest.raises(WarehouseError, match="has its tables in files below it"):
        made(folder, None, "delta:a.b")


def test_what_is_none_says_so(folder):
    with pytest.raises(WarehouseError, match="`namekeeper pipeline run` makes one"):
        open_store(folder).reader()


def test_a_location_is_checked_before_spark_starts(folder):
    with pytest.raises(WarehouseError, match="is no location for tables"):
        made(folder, None, "nk.namekeeper")
