"""Which engine answers."""

import sys
from pathlib import Path

import pytest

from namekeeper.pipeline.answers import engines
from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.answers.engines import open_tables
from namekeeper.pipeline.answers.warehouse import open_warehouse
from namekeeper.pipeline.errors import PipelineError, WarehouseError
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.manifest import Catalog, Manifest, commit_manifest


def no_spark():
    raise PipelineError("Spark is asked for")


def test_files_are_read_without_spark(tmp_path: Path):
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}))
    assert isinstance(open_tables(str(tmp_path), no_spark), DuckTables)
    assert isinstance(open_tables(open_warehouse(str(tmp_path)), no_spark), DuckTables)


def test_tables_in_a_catalog_are_read_by_spark(tmp_path: Path):
    catalog = Catalog("iceberg", "nk.namekeeper", "mark")
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}, catalog))
    with pytest.raises(PipelineError, match="Spark is asked for"):
        open_tables(str(tmp_path), no_spark)


def test_where_duckdb_is_not_installed_spark_reads_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}))
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(PipelineError, match="Spark is asked for"):
        open_tables(str(tmp_path), no_spark)


def test_where_there_is_no_warehouse_nothing_is_started(tmp_path: Path):
    with pytest.raises(WarehouseError, match="is no warehouse"):
        open_tables(str(tmp_path), no_spark)


def test_the_way_without_spark_does_not_import_it():
    import subprocess

    code = (
        "import sys; from namekeeper.pipeline.answers import daily, duck_tables, engines, topics;"
        "from namekeeper.pipeline.report import query;"
        "print(sorted({'pyspark', 'pyarrow', 'py4j', 'pandas', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
