"""What every kind of warehouse keeps in its folder."""

import os

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.manifest import Catalog, Manifest, commit_manifest, numbers_of
from namekeeper.pipeline.store.warehouse_folder import KEPT_MANIFESTS, KEPT_MS, WarehouseFolder, commit_run


@pytest.fixture
def folder(tmp_path):
    return open_folder(str(tmp_path))


def test_ledgers_go_with_their_manifests(folder, tmp_path):
    for number in range(1, 7):
        commit_run(folder, Manifest(number, number + 1, "UTC", "", {}), b"%d" % number)
    store = WarehouseFolder(folder)
    assert store.version().ledger == b"6"
    store._drop_what_is_old()
    assert numbers_of(folder) == list(range(1, 7)), "readers may have begun within the hour"
    for path in (tmp_path / "manifests").iterdir():
        long_ago = path.stat().st_mtime - KEPT_MS / 1_000 - 60
        os.utime(path, (long_ago, long_ago))
    kept = store._drop_what_is_old()
    assert [manifest.number for manifest in kept] == numbers_of(folder) == [4, 5, 6]
    assert len(kept) == KEPT_MANIFESTS
    assert {path.name[:12] for path in (tmp_path / "ledger").iterdir()} == {f"{n:012}" for n in (4, 5, 6)}


def test_a_commit_counts_once(folder):
    commit_run(folder, Manifest(1, 2, "UTC", "", {}), b"one")
    with pytest.raises(WarehouseError, match="another run has committed meanwhile"):
        commit_run(folder, Manifest(1, 2, "UTC", "", {}), b"two")
    assert WarehouseFolder(folder).version().ledger == b"one"


@pytest.mark.parametrize(("versions", "is_empty"), [({}, True), ({"events": 5}, False)])
def test_tables_of_a_catalog_count_as_well(folder, versions, is_empty):
    commit_manifest(folder, Manifest(1, 2, "UTC", "", {}, Catalog("delta", "a.b", "m", versions)))
    assert WarehouseFolder(folder).version().is_empty is is_empty


def test_files_of_something_else_are_in_the_way(folder):
    WarehouseFolder(folder).check_free()
    folder.put("photos/1.jpg", b"x")
    with pytest.raises(WarehouseError, match=r"photos/1\.jpg"):
        WarehouseFolder(folder).check_free()
