"""The file that says what a warehouse is."""

import pytest

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.checked_json import decode_checked, encode_checked
from namekeeper.pipeline.store.manifest import (
    LAYOUT,
    Catalog,
    DataFile,
    Manifest,
    commit_manifest,
    newest_manifest,
    numbers_of,
    path_of,
)

MANIFEST = Manifest(
    3, 7, "Europe/Berlin", "ledger/x.json", {"t": (DataFile("tables/t/1", 5), DataFile("tables/t/2", 6, "d"))}
)


@pytest.mark.parametrize("catalog", [None, Catalog("iceberg", "nk.namekeeper", "0a1b", {"events": 1 << 62})])
def test_it_is_written_and_read(catalog):
    manifest = MANIFEST._replace(catalog=catalog)
    assert Manifest.from_json(manifest.to_json(), "here") == manifest


def test_the_newest_is_the_warehouse(tmp_path):
    folder = open_folder(str(tmp_path))
    assert newest_manifest(folder) is None
    for number in (1, 2, 10):
        commit_manifest(folder, MANIFEST._replace(number=number))
    (tmp_path / "manifests" / "notes.txt").write_text("mine")
    assert numbers_of(folder) == [1, 2, 10]
    assert newest_manifest(folder) == MANIFEST._replace(number=10)


def test_a_number_is_taken_once(tmp_path):
    folder = open_folder(str(tmp_path))
    commit_manifest(folder, MANIFEST)
    with pytest.raises(WarehouseError, match="another run has committed meanwhile"):
        commit_manifest(folder, MANIFEST._replace(next_load=99))
    assert newest_manifest(folder) == MANIFEST


@pytest.mark.parametrize(
    ("layout", "words"),
    [(LAYOUT + 1, "use the newer Namekeeper"), (0, "build a new warehouse"), ("x", "build a new")],
)
def test_another_layout_says_what_to_do(tmp_path, layout, words):
    folder = open_folder(str(tmp_path))
    folder.put(path_of(1), encode_checked({**decode_checked(MANIFEST.to_json()), "layout": layout}))
    with pytest.raises(WarehouseError, match=words):
        newest_manifest(folder)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"layout":1}',
        b'{"layout":1,"tables":{"t":[1]}}',
        b"\xff",
        b'{"layout":1,"tables":{},"catalog":3}',
    ],
)
def test_a_damaged_one_says_what_to_do(tmp_path, data):
    folder = open_folder(str(tmp_path))
    folder.put(path_of(1), data)
    with pytest.raises(WarehouseError, match="delete this one file"):
        newest_manifest(folder)


@pytest.mark.parametrize(
    "altered",
    [
        {"number": "3"},
        {"next_load": None},
        {"next_load": True},
        {"report_time_zone": 5},
        {"report_time_zone": "UTC'; COPY (SELECT 1) TO '/tmp/x'; --"},
        {"report_time_zone": "../../etc/localtime"},
        {"ledger": "../ledger"},
        {"ledger": 7},
        {"ledger": "a" * 5_000},
        {"tables": []},
        {"tables": {"t": 5}},
        {"tables": {"t": "ab"}},
        *(
            {"tables": {"t": [[path, 5]]}}
            for path in (
                "../../etc/passwd",
                "/etc/passwd",
                "tables/./x",
                "tables//x",
                "a\0b",
                "\ud800",
                5,
                ["a"],
                "",
            )
        ),
        {"tables": {"t": [["tables/x", "5"]]}},
        {"tables": {"t": [["tables/x", 5, {}]]}},
        {"tables": {"t": [["tables/x", 5, None, "crc"]]}},
        {"catalog": {"format": 5, "namespace": [], "mark": {}}},
        {"catalog": {"format": "iceberg", "namespace": "a", "mark": "b", "versions": {"t": "x"}}},
        {"unknown": 1},
    ],
    ids=str,
)
def test_values_of_other_types_and_paths_outside_the_warehouse_are_damage(tmp_path, altered):
    """Its paths and its time zone became parts of SQL and of paths of files, whatever they were."""
    folder = open_folder(str(tmp_path))
    folder.put(path_of(1), encode_checked({**decode_checked(MANIFEST.to_json()), **altered}))
    with pytest.raises(WarehouseError, match="delete this one file"):
        newest_manifest(folder)


@pytest.mark.parametrize(
    "zone", ["UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "America/Port-au-Prince", "+08:00"]
)
def test_each_time_zone_is_usable(zone):
    manifest = MANIFEST._replace(report_time_zone=zone)
    assert Manifest.from_json(manifest.to_json(), "here") == manifest


def test_one_that_goes_while_it_is_read_is_not_missed(tmp_path, monkeypatch):
    folder = open_folder(str(tmp_path))
    commit_manifest(folder, MANIFEST._replace(number=1))
    read = folder.read

    def replaced(path):
        if path == path_of(1):
            commit_manifest(folder, MANIFEST._replace(number=2))
            folder.delete(path)
        return read(path)

    monkeypatch.setattr(folder, "read", replaced)
    assert newest_manifest(folder) == MANIFEST._replace(number=2)
