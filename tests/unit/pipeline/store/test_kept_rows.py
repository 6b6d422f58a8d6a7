"""Where kept rows are, by the master of the session; that they survive is in tests/spark/test_lost_executors.py."""

from types import SimpleNamespace
from typing import Any

import pytest

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.kept_rows import keep_rows


class Rows:
    """A DataFrame that notes how it is kept."""

    schema = "k bigint"

    def __init__(self, master: str | None) -> None:
        self.kept: list[str] = []
        conf = SimpleNamespace(get=lambda name, default: master if master is not None else default)
        self.sparkSession = SimpleNamespace(conf=conf, read=self)
        self.write = self

    def localCheckpoint(self, *, eager: bool) -> str:  # noqa: N802 -- Spark's name
        self.kept.append("in executors")
        return "rows"

    def mode(self, name: str) -> "Rows":
        assert name == "error"
        return self

    def parquet(self, path: str) -> str:
        self.kept.append(path)
        return "rows"

    def __getattribute__(self, name: str) -> Any:
        if name == "schema":
            return lambda *_: self
        return super().__getattribute__(name)


@pytest.mark.parametrize("master", ["local", "local[1]", "local[*]", "local[2, 4]"])
def test_in_one_process_rows_are_kept_in_memory(tmp_path, master):
    rows = Rows(master)
    assert keep_rows(open_folder(str(tmp_path)), 7, rows) == "rows"  # type: ignore[arg-type, comparison-overlap]
    assert rows.kept == ["in executors"]


@pytest.mark.parametrize(
    "master", ["local-cluster[2,1,1024]", "spark://h:7077", "yarn", "k8s://https://h", "", None, "localhost"]
)
def test_elsewhere_rows_are_kept_where_no_executor_takes_them_along(tmp_path, master):
    rows = Rows(master)
    keep_rows(open_folder(str(tmp_path)), 7, rows)  # type: ignore[arg-type]
    written, read = rows.kept
    assert written == read
    assert written.startswith(f"file://{tmp_path}/staging/7-")
