"""Nobody but the tables themselves changes a row (docs/decisions/0004): a search of the syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

SOURCES = Path(__file__).parents[1] / "src" / "namekeeper"
TABLE_MODULES = {"route/tables.py", "route/live.py", "route/topic_index.py"}
"""The modules that may change rows."""

TABLES = {
    "topic_queue_table",
    "topic_index",
    "broker_addr_table",
    "cluster_addr_table",
    "broker_live_table",
    "filter_server_table",
    "topic_queue_mapping_info_table",
}
ROW_FIELDS = set(BrokerLiveInfo.__struct_fields__) - {"channel"}
COUNTERS = {"gen"}
CHANGING = {
    "add", "clear", "discard", "hear", "note_arrival", "pop", "popitem", "put", "remember", "remove",
    "setdefault", "update",
}  # fmt: skip
"""Methods that change a table, an index, a row or the memory of bodies."""


class Writers(ast.NodeVisitor):
    """Collects the lines on which one function, or a module outside of its functions, changes a table."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.aliases: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self.aliases = self.aliases, set()
        self.generic_visit(node)
        self.aliases = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._check_target(target)
            if isinstance(target, ast.Name) and self._is_table(node.value):
                self.aliases.add(target.id)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._check_target(node.target)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._check_target(target)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr in CHANGING
            and self._is_table(function.value)
        ):
            self.lines.append(node.lineno)
        self.generic_visit(node)

    def _check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._check_target(element)
        elif isinstance(target, ast.Subscript):
            if self._is_table(target.value):
                self.lines.append(target.lineno)
        elif isinstance(target, ast.Attribute):
            of_self = isinstance(target.value, ast.Name) and target.value.id == "self"
            if target.attr in TABLES or (target.attr in ROW_FIELDS | COUNTERS and not of_self):
                self.lines.append(target.lineno)

    def _is_table(self, node: ast.expr) -> bool:
        """Whether an expression is a table, or a part of one."""
        if isinstance(node, ast.Attribute):
            return node.attr in TABLES or node.attr == "applied_bodies"
        if isinstance(node, ast.Name):
            return node.id in self.aliases
        if isinstance(node, ast.Subscript):
            return self._is_table(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in {"get", "values", "items"} and self._is_table(node.func.value)
        return False


def writers(text: str) -> list[int]:
    """The lines of a module that change a table."""
    found = Writers()
    found.visit(ast.parse(text))
    return found.lines


def modules() -> Iterator[str]:
    """Every module that can get hold of the tables."""
    for package in ("route", "processor", "app", "journal", "answers", "http", "remoting"):
        for path in sorted((SOURCES / package).rglob("*.py")):
            yield path.relative_to(SOURCES).as_posix()


def test_only_the_tables_change_their_rows():
    searched = set(modules()) - TABLE_MODULES
    assert len(searched) > 100
    found = {module: lines for module in searched if (lines := writers((SOURCES / module).read_text()))}
    assert found == {}, "lines that change a table: describe the change as an event for RouteTables.apply"


@pytest.mark.parametrize("module", sorted(TABLE_MODULES))
def test_the_modules_of_the_tables_are_there(module):
    assert (SOURCES / module).is_file()


def test_the_tables_have_the_names_that_are_searched_for():
    assert vars(RouteTables()).keys() >= TABLES | COUNTERS


@pytest.mark.parametrize(
    "line",
    [
        "tables.topic_queue_table[name] = rows",
        "del tables.broker_addr_table[name]",
        "self._tables.cluster_addr_table.pop(name, None)",
        "tables.topic_index.discard(topics, name)",
        "edit.tables.broker_live_table.put(event, None)",
        "tables.topic_queue_mapping_info_table.get(topic).clear()",
        "tables.topic_queue_mapping_info_table[topic][name] = info",
        "table = tables.filter_server_table\ntable.update(servers)",
        "table = tables.filter_server_table\ntable[key] = servers",
        "live.applied_bodies.clear()",
        "live.heard_at_ms = now.mono_ms",
        "live.silence_ms, other = 0, 1",
        "tables.gen += 1",
        "tables.broker_addr_table = {}",
    ],
)
def test_a_write_is_found(line):
    assert len(writers(line)) == 1
    assert len(writers("def f():\n" + "\n".join(f"    {part}" for part in line.splitlines()))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "rows = tables.topic_queue_table.get(name)",
        "tables.apply(event)",
        "table = tables.broker_addr_table.keys()\nother.update(table)",
        "self.channel_id = 3",
        "names = dict(tables.cluster_addr_table)\nnames.pop(name)",
    ],
)
def test_a_read_is_none(line):
    assert writers(line) == []
