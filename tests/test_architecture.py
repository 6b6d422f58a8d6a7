"""The shape of the code: tests beside modules, names that are public, sizes, imports."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.support.documents.statements import statements

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "namekeeper"
TESTS = ROOT / "tests"

MODULES = sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py"))
PACKAGES = [module for module in MODULES if module.endswith("__init__.py")]

TESTED_ELSEWHERE = {
    "cli/commands/pipeline_archive.py": (
        "a line about the segments that go",
        "tests/unit/pipeline/test_archive.py",
    ),
    "lookup_cache/answer_store.py": (
        "protocols; who decides what is dropped has the tests",
        "tests/unit/processor/test_forgetting.py",
    ),
    "common/expected.py": ("values; what they make true is a law", "tests/property/test_incidents_law.py"),
    "answers/incidents/causes.py": (
        "a step of the table; all of them are its law",
        "tests/property/test_incidents_law.py",
    ),
    "answers/incidents/deletions.py": ("a step of the table, too", "tests/property/test_incidents_law.py"),
    "answers/incidents/states.py": ("a step of the table, too", "tests/property/test_incidents_law.py"),
    "answers/incidents/report.py": (
        "the value that the command prints",
        "tests/unit/cli/commands/test_incidents.py",
    ),
    "mcp/values.py": ("values; the tools that make them have the tests", "tests/unit/mcp/test_tools.py"),
    "pipeline/answers/spark_tables.py": ("asks tables that Spark holds", "tests/spark/test_answers.py"),
    "pipeline/gold/build.py": (
        "the steps on Spark; the steps themselves have theirs",
        "tests/spark/test_gold.py",
    ),
    "pipeline/gold/engine.py": (
        "a protocol and a value; who keeps it has the tests",
        "tests/unit/pipeline/gold/test_steps.py",
    ),
    "pipeline/report/specification.py": (
        "values; who asks the questions has the tests",
        "tests/unit/pipeline/report/test_query.py",
    ),
    "__main__.py": (
        "a door to the command line; tests of processes go through it",
        "tests/process/running.py",
    ),
    "cli/demo/command.py": ("CI runs the command, and looks at how it ends", ".ci/run"),
    "cli/demo/history.py": ("a part of the demo", ".ci/run"),
    "cli/demo/incident.py": ("a part of the demo", ".ci/run"),
    "cli/demo/servers.py": ("a part of the demo", ".ci/run"),
    "cli/demo/show.py": ("a part of the demo", ".ci/run"),
    "clock.py": (
        "two calls of the system; every server that runs as a process uses it",
        "tests/process/test_start.py",
    ),
    "journal/queue/messages.py": (
        "plain values; the writer makes them and the journal handles them",
        "tests/unit/journal/disk/test_writer.py",
    ),
    "journal/recording/source.py": (
        "functions of the server; the recorder is made with them",
        "tests/unit/journal/recording/test_recorder.py",
    ),
    "pipeline/ingest/facts.py": (
        "SQL; each table is compared with a plain loop",
        "tests/spark/test_ingest.py",
    ),
    "pipeline/ingest/checksum.py": ("SQL; Spark compares lines by it", "tests/spark/test_ingest.py"),
    "pipeline/ingest/batch.py": ("needs Spark", "tests/spark/test_ingest.py"),
    "pipeline/ingest/repair.py": ("needs Spark", "tests/spark/test_ingest.py"),
    "pipeline/ingest/rebuilding.py": ("needs Spark", "tests/spark/test_run.py"),
    "pipeline/ingest/records.py": ("needs Spark", "tests/spark/test_ingest.py"),
    "pipeline/ingest/staging.py": ("needs Spark", "tests/spark/test_ingest.py"),
}
"""Modules that no test of their package imports: why, and the file that goes through them instead."""

MAX_LINES = 500
"""Of a module. One idea may need this much; a longer module holds two."""

FRAGMENT_LINES = 80
"""A module of at most so many lines with one importer is a fragment, unless `FRAGMENTS` has the reason."""

FRAGMENTS = {
    "answers/from_rows.py": "pure; the command that asks a warehouse is the edge",
    "answers/refusals.py": "one of the kinds of facts of an explanation, beside the others",
    "answers/replayed.py": "values of a whole state, as the other modules of answers give values; the command prints them",
    "answers/what_if.py": "pure; the tool of assistants reads journals",
    "console/difference.py": "compares two states; the views know the queries of the page",
    "console/evidence_links.py": "finds names in texts; the views know the queries of the page",
    "journal/reading/block_check.py": "believes no summary of a block, as every other reader does; `verify` lists what is wrong",
    "journal/reading/intact_records.py": "refuses what every other reader passes over; the caller keeps the rows",
    "journal/reading/last_heard.py": "follows the times of heartbeats; the caller keeps the rows",
    "notifications/metrics.py": "Prometheus text; what sends messages knows no metric",
    "pipeline/ingest/time_order.py": "pure; the run opens the segments",
    "remoting/tls_turns.py": "counts, without sockets or tasks; the handshake has both",
    "broker/system_topics.py": "data: the topics of each release of RocketMQ; the registrar knows no release",
    "cli/main.py": "the entry point of the scripts; it imports nothing but the command that was asked for",
    "journal/contract/narrow.py": "cuts bytes before they are decoded; the decoder knows no bytes",
    "journal/recording/checkpoint.py": "makes a checkpoint of a snapshot; the recorder makes records of events",
    "journal/recording/lookups.py": "makes records of counts; the recorder decides when",
    "messages/queue_specs.py": "caches of the process with limits of their own; both forms of a body use them",
    "pipeline/checks/files.py": "one of the checks of a warehouse, beside the others",
    "pipeline/checks/journals.py": "one of the checks of a warehouse, beside the others",
    "pipeline/duck_sql.py": "a translator of SQL, without a connection",
    "pipeline/entry/ddl.py": "statements for the catalog of a user; the command line has the options",
    "pipeline/gold/concurrency.py": "threads, without Spark",
    "pipeline/gold/gold_graph.py": "which queries there are and their order, without an engine",
    "pipeline/ingest/checksum.py": "a text of SQL, without Spark",
    "pipeline/ingest/few_records.py": "the way of few records; batch.py has the way of many, and chooses",
    "pipeline/ingest/rebuilding.py": "makes a lost ledger again, which a usual run must not do",
    "pipeline/ingest/sorting.py": "decides without Spark what is clean; the batch runs on Spark",
    "pipeline/little.py": "decides by sizes, without Spark, what the settings of a run are",
    "pipeline/package.py": "makes the zip, which needs no Spark",
    "pipeline/remote.py": "asks a socket; Spark itself would try for ten minutes",
    "pipeline/report/query.py": "questions to a warehouse; the command line has the options",
    "pipeline/report/sections/flaps.py": "one section of the report, beside the others",
    "pipeline/report/sections/topics.py": "one section of the report, beside the others",
    "pipeline/report/sections/unknown_topics.py": "one section of the report, beside the others",
    "remoting/self_signed.py": "imports a library for certificates, which a server with certificates never loads",
}
"""Small modules that only one module imports, and why each is a module."""

PASSED_ON = {"wire/fastjson.py": {"DialectError"}}
"""Public names that a module has from a neighbour: what reading raises belongs to who offers the reading."""

PUBLIC_FACES = {
    "broker/__init__.py": "tests/unit/broker/test_public_face.py",
    "client/__init__.py": "tests/unit/client/test_public_face.py",
}
"""Packages from which programs import: their names are loaded when they are used. Who tests that."""

PRINTING = {
    "app/logs.py": "says on stderr what can't be logged",
    "app/run.py": "the boot line, for which scripts wait",
}
"""Modules outside the command line that print."""

IMPORT_ALL = """
import importlib, sys
for modules in (sys.argv[1:], sys.argv[:0:-1]):
    for name in [name for name in sys.modules if name.split(".")[0] == "namekeeper"]:
        del sys.modules[name]
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            print(f"{module}: {type(error).__name__}: {error}")
"""
"""Imports all modules, and from the start again in reverse; what others wrote stays loaded."""


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse((SOURCES / module).read_text())


def dotted(module: str) -> str:
    parts = ["namekeeper", *module.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported_by_tests(folder: Path) -> frozenset[str]:
    """What the tests of one folder import."""
    return frozenset(name for path in folder.glob("*.py") for name in imports_of(ast.parse(path.read_text())))


def is_tested(module: str) -> bool:
    """Whether a test of its package imports it, or has its name: commands are imported when they are run."""
    path = Path(module)
    folder = TESTS / "unit" / path.parent
    return dotted(module) in imported_by_tests(folder) or (folder / f"test_{path.name}").is_file()


def imports_of(tree: ast.Module) -> set[str]:
    """Modules that it imports anywhere; of `from a import b` both a and a.b, as b may be a module."""
    names: set[str] = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@cache
def importers() -> dict[str, set[str]]:
    """Module -> modules that import it."""
    found: dict[str, set[str]] = {dotted(module): set() for module in MODULES}
    for module in MODULES:
        for name in imports_of(tree_of(module)) & found.keys() - {dotted(module)}:
            found[name].add(module)
    return found


def imported_packages(module: str) -> set[str]:
    return {name.split(".")[0] for name in imported_modules(module)}


def imported_modules(module: str) -> set[str]:
    """What it imports when it runs: not what only type checkers see."""
    names: set[str] = set()
    tree = tree_of(module)
    unseen = {
        id(node) for block in statements(tree) if is_for_type_checkers(block) for node in statements(block)
    }
    for node in (node for node in statements(tree) if id(node) not in unseen):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
    return names


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def bound_names(module: str) -> set[str]:
    """Names that the module itself makes; what it imports belongs to others."""
    names: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def public_names(module: str) -> list[str] | None:
    """What `__all__` lists; None without one."""
    for node in tree_of(module).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                return [str(name) for name in ast.literal_eval(node.value)]
    return None


def prints(module: str) -> bool:
    if "print" not in (SOURCES / module).read_text():
        return False
    calls = (node.func for node in ast.walk(tree_of(module)) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Name) and func.id == "print" for func in calls)


def lines_of(module: str) -> int:
    return (SOURCES / module).read_text().count("\n")


def test_every_module_is_tested_in_its_package_or_has_a_reason():
    """Tests follow ideas: a test module may be about several modules, or about a part of one."""
    without = {module for module in MODULES if module not in PACKAGES and not is_tested(module)}
    assert without == set(TESTED_ELSEWHERE)


def test_a_small_module_with_one_importer_has_a_reason():
    """Otherwise it is a part of its importer, and belongs there."""
    fragments = {
        module
        for module in MODULES
        if module not in PACKAGES
        and lines_of(module) <= FRAGMENT_LINES
        and len(importers()[dotted(module)]) == 1
    }
    assert fragments == set(FRAGMENTS)


def test_the_elsewhere_is_there():
    tests = [*(test for _, test in TESTED_ELSEWHERE.values()), *PUBLIC_FACES.values()]
    assert [test for test in tests if not (ROOT / test).is_file()] == []


def test_a_package_itself_holds_no_code():
    """So that nothing inside it is imported by way of it, and there is nothing to test."""
    for module in set(PACKAGES) - set(PUBLIC_FACES):
        docstring, *others = tree_of(module).body
        assert isinstance(docstring, ast.Expr)
        assert all(isinstance(node, (ast.Assign, ast.AnnAssign)) for node in others), module


def test_every_module_says_what_it_is_for():
    assert [module for module in MODULES if not ast.get_docstring(tree_of(module))] == []


def test_every_module_lists_what_is_public_and_its_own():
    wrong = {}
    for module in set(MODULES) - set(PUBLIC_FACES):
        names = public_names(module)
        foreign = None if names is None else set(names) - bound_names(module) - PASSED_ON.get(module, set())
        if foreign or names is None or len(set(names)) != len(names):
            wrong[module] = foreign
    assert wrong == {}


def test_every_module_can_be_imported_from_either_end():
    """That it may be the first one follows: no imports go in a circle, see `make layers`."""
    command = [sys.executable, "-W", "error", "-c", IMPORT_ALL, *map(dotted, MODULES)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_modules_are_small():
    assert {module: lines_of(module) for module in MODULES if lines_of(module) > MAX_LINES} == {}


def test_nobody_prints_but_the_command_line():
    assert {module for module in MODULES if prints(module) and not module.startswith("cli/")} == set(PRINTING)


def test_only_the_pipeline_imports_spark_and_nobody_tests():
    """The server installs and starts without the pipeline, and without what tries it out."""
    spark = {"pyspark", "py4j", "pyarrow", "pandas", "jinja2", "duckdb"}
    for module in MODULES:
        found = imported_packages(module)
        assert not found & {"tests", "benchmarks"}, module
        assert module.startswith("pipeline/") or not found & spark, module


def test_the_common_package_imports_the_standard_library_only():
    for module in MODULES:
        if module.startswith("common/"):
            others = {name for name in imported_modules(module) if not name.startswith("namekeeper.common")}
            assert {name.split(".")[0] for name in others} <= sys.stdlib_module_names, module


def test_the_pipeline_imports_nothing_of_ours_but_the_common_package():
    """So that it runs from one zip where only pyspark and pyarrow are (docs/decisions/0017)."""
    for module in MODULES:
        if module.startswith("pipeline/"):
            ours = {name for name in imported_modules(module) if name.split(".")[0] == "namekeeper"}
            ours.discard("namekeeper")  # its version; the zip has that module too
            assert all(name.startswith(("namekeeper.pipeline", "namekeeper.common")) for name in ours), (
                module,
                ours,
            )


def test_the_architecture_page_names_every_package():
    page = (ROOT / "docs" / "discussion" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`.*`) \| [^|]* \|$", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {path.parent.name for path in SOURCES.glob("*/__init__.py")}
