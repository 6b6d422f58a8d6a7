"""`namekeeper sql` on a warehouse of a few files."""

import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

pytest.importorskip("duckdb")

from namekeeper.cli.commands import sql as module
from namekeeper.cli.commands.sql import sql
from namekeeper.cli.failure import CommandRefused
from namekeeper.pipeline.answers.duck_tables import DuckTables
from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import Catalog, DataFile, Manifest, commit_manifest

NAMES = ["plain", "tab\tand; semicolon", "esc\x1b[31m"]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three topics, each writable for so many ms as its place, on days of Berlin."""
    folder = tmp_path_factory.mktemp("warehouse")
    path = "tables/topic_availability_daily/0.parquet"
    (folder / path).parent.mkdir(parents=True)
    rows = [
        {"day": "2026-03-01", "cluster": "c", "topic": name, "writable_ms": place}
        for place, name in enumerate(NAMES)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / path)
    tables = {"topic_availability_daily": [DataFile(path, 1)]}
    commit_manifest(open_folder(str(folder)), Manifest(1, 2, "Europe/Berlin", "", tables))
    return str(folder)


def ask(warehouse: str, *words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(sql, ["--warehouse", warehouse, *words], input=stdin)


def test_a_table_is_aligned_and_safe_for_a_terminal(warehouse: str):
    done = ask(warehouse, "SELECT topic, writable_ms, unknown_ms FROM topic_availability_daily ORDER BY 2")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "topic                writable_ms  unknown_ms",
        "-------------------  -----------  ----------",
        "plain                0            -",
        "tab\\tand; semicolon  1            -",
        "esc\\x1b[31m          2            -",
    ]


def test_a_table_for_people_is_bounded(warehouse: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "SHOWN", 2)
    done = ask(warehouse, "FROM topic_availability_daily")
    assert len(done.stdout.splitlines()) == 2 + 2
    assert "the first 2 rows" in done.stderr
    assert ask(warehouse, "SELECT topic FROM topic_availability_daily LIMIT 2").stderr == ""


def test_json_is_a_line_for_each_row(warehouse: str):
    query = "SELECT topic, [1, 2] AS some, NULL AS none FROM topic_availability_daily ORDER BY writable_ms"
    done = ask(warehouse, query, "--format", "json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [{"topic": name, "some": [1, 2], "none": None} for name in NAMES]
    assert "\x1b" not in done.stdout


def test_csv_has_the_values_as_they_are(warehouse: str):
    query = (
        "SELECT topic, writable_ms, [1] AS l, NULL AS n FROM topic_availability_daily ORDER BY 2 DESC LIMIT 1"
    )
    done = ask(warehouse, query, "--format", "csv")
    assert done.stdout == "topic,writable_ms,l,n\nesc\x1b[31m,2,[1],\n"


def test_arrow_is_a_stream(warehouse: str):
    done = ask(
        warehouse, "SELECT topic FROM topic_availability_daily ORDER BY writable_ms", "--format", "arrow"
    )
    assert pa.ipc.open_stream(done.stdout_bytes).read_all().to_pylist() == [{"topic": name} for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_parameter_and_never_text_of_the_query(warehouse: str, name: str):
    query = "SELECT writable_ms FROM topic_availability_daily WHERE topic = $topic"
    done = ask(warehouse, query, "--arg", f"topic={name}", "--format", "csv")
    assert done.stdout == f"writable_ms\n{NAMES.index(name)}\n"


def test_a_time_is_shown_in_the_zone_of_the_warehouse(warehouse: str):
    done = ask(warehouse, "SELECT timestamp_millis(1772366400000) AS t", "--format", "csv")
    assert done.stdout == "t\n2026-03-01 13:00:00+01:00\n"


def test_all_tables_and_views_are_there_also_those_without_rows(warehouse: str):
    listed = ask(warehouse, "SHOW TABLES", "--format", "csv").stdout.splitlines()
    assert set(listed) == {"name", *ENTRY_VIEWS, *GOLD, *FACTS}
    counts = [f"(SELECT count(*) FROM {name}) AS {name}" for name in ("incident", *ENTRY_VIEWS)]
    done = ask(warehouse, f"SELECT {', '.join(counts)}", "--format", "json")
    assert json.loads(done.stdout) == {
        "incident": 0,
        **dict.fromkeys(ENTRY_VIEWS, 0),
        "dim_topic": len(NAMES),
    }


def test_a_query_may_come_from_stdin(warehouse: str):
    assert ask(warehouse, "-", "--format", "csv", stdin="SELECT 1 AS one").stdout == "one\n1\n"


WRITING = [
    "COPY topic_availability_daily TO '{path}'",
    "EXPLAIN ANALYZE COPY topic_availability_daily TO '{path}'",
    "ATTACH '{path}'",
    "EXPORT DATABASE '{path}'",
    "CREATE TABLE t (a INT)",
    "SELECT 1; COPY topic_availability_daily TO '{path}'",
    "SET threads = 1",
    "",
]


@pytest.mark.parametrize("query", WRITING)
def test_only_one_query_that_reads_is_run(warehouse: str, query: str, tmp_path: Path):
    done = ask(warehouse, query.format(path=tmp_path / "written"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "not one query that only reads" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_text('{path}')",
        "FROM read_csv('{path}')",
        "FROM '{path}'",
        "FROM read_blob('/dev/zero')",
        "FROM sniff_csv('{path}')",
        "FROM glob('{folder}/*')",
        "FROM glob('{warehouse}/../*')",
        "FROM enable_logging(level = 'trace', storage = 'file', storage_path = '{folder}/logs')",
        "FROM enable_profiling(save_location = '{folder}/profile')",
        "WITH w AS (COPY (SELECT 1) TO '{folder}/w') FROM w",
        "WITH w AS (INSERT INTO incident (cluster) VALUES ('c') RETURNING *) FROM w",
        "WITH w AS (DELETE FROM topic_availability_daily RETURNING *) FROM w",
        "FROM read_text('http://127.0.0.1:1/')",
    ],
)
@pytest.mark.parametrize("form", ["table", "arrow"])
def test_a_query_reads_no_other_file_and_writes_none(warehouse: str, query: str, form: str, tmp_path: Path):
    other = tmp_path / "other.csv"
    other.write_text("secret\n")
    text = query.format(path=other, folder=tmp_path, warehouse=warehouse)
    done = ask(warehouse, text, "--format", form)
    assert (done.exit_code, done.stdout) == (2, "")
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_a_query_sees_no_variable_of_the_process(warehouse: str):
    done = ask(warehouse, "FROM args")
    assert done.exit_code == 2
    assert "args does not exist" in done.stderr


def test_a_shell_answers_all_queries_with_the_same_settings(warehouse: str):
    query = "SELECT count(*) AS n FROM topic_availability_daily;\n"
    assert ask(warehouse, "--shell", stdin=query * 2).stdout.count("3") == 2
    assert "locked" in ask(warehouse, "FROM enable_logging('QueryLog')").stderr


@pytest.mark.parametrize(
    ("query", "said", "form"),
    [
        ("SELEC 1", "syntax error", "table"),
        ("SELECT nope FROM incident", "nope", "json"),
        ("FROM incidenz", "incident", "csv"),
        ("SELECT error('no')", "no", "table"),
        ("SELECT topic::INT FROM topic_availability_daily", "plain", "json"),
        ("SELECT topic::INT FROM topic_availability_daily", "plain", "arrow"),
        ("SELECT $x", "x", "arrow"),
    ],
)
def test_a_query_that_fails_is_refused_with_its_reason(warehouse: str, query: str, said: str, form: str):
    done = ask(warehouse, query, "--format", form)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_a_shell_goes_on_after_an_error(warehouse: str):
    done = ask(
        warehouse, "--shell", stdin="SELECT 1 AS a;\nSELECT nope;\n\n;\nSELECT\n2 AS b;\nSELECT 3 AS c"
    )
    assert done.exit_code == 0
    assert done.stdout.split() == ["a", "-", "1", "b", "-", "2", "c", "-", "3"]
    assert "nope" in done.stderr


class Terminal(SimpleNamespace):
    """The stdin or stdout of a person."""

    def isatty(self) -> bool:
        return True


class Interrupted:
    """Tables whose first query is ended by Ctrl-C."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def select(self, query: str, _args: object) -> object:
        self.asked.append(query)
        if len(self.asked) == 1:
            raise KeyboardInterrupt

        class Found(list):
            columns = ("a",)

        return Found([(2,)])


def test_ctrl_c_ends_a_query_of_a_person_and_not_the_shell(monkeypatch: pytest.MonkeyPatch, capsys):
    lines = ["SELECT 1;", "SELECT", "2;"]

    def read(_prompt: str) -> str:
        if not lines:
            raise EOFError
        return lines.pop(0)

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setattr(module.sys, "stdin", Terminal())
    tables = Interrupted()
    module._ask_for_queries(tables)
    assert tables.asked == ["SELECT 1;\n", "SELECT\n2;\n"]
    assert capsys.readouterr().out == "a\n-\n2\n"


def test_ctrl_c_ends_a_shell_that_reads_a_file(warehouse: str, monkeypatch: pytest.MonkeyPatch):
    tables = Interrupted()
    monkeypatch.setattr(DuckTables, "select", lambda _self, *words: tables.select(*words))
    done = ask(warehouse, "--shell", stdin="SELECT 1;\nSELECT 2;\n")
    assert done.exit_code != 0
    assert tables.asked == ["SELECT 1;\n"]


def test_a_stream_of_arrow_is_not_for_a_terminal(monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patched:
        patched.setattr(module.sys, "stdout", Terminal())
        with pytest.raises(CommandRefused, match="not for a terminal"):
            module._write_arrow(None, "SELECT 1", {})


@pytest.mark.parametrize("words", [["SELECT 1", "--shell"], []])
def test_a_query_or_a_shell_is_asked_for(warehouse: str, words: list[str]):
    done = ask(warehouse, *words)
    assert done.exit_code == 2
    assert "give a query, or --shell" in done.stderr


def test_a_warehouse_that_is_not_there_is_refused(tmp_path: Path):
    done = ask(str(tmp_path / "none"), "SELECT 1")
    assert done.exit_code == 2
    assert "namekeeper pipeline run" in done.stderr


def test_tables_in_a_catalog_are_for_spark(tmp_path: Path):
    catalog = Catalog("iceberg", "nk.namekeeper", "mark")
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}, catalog))
    done = ask(str(tmp_path), "SELECT 1")
    assert done.exit_code == 2
    assert "ask Spark" in done.stderr
