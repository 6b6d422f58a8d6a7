"""No test may fail because a machine is busy: tests wait for facts, and compare no clock with a limit.

What is looked for: an assertion about the time that passed on a real clock; a sleep after which an assertion expects that
something has happened by then; and a limit below a second for what has to succeed. A limit that is meant to
pass stands in a `with` that expects or allows the error, or in a test with `virtual_time`.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NOT_TESTED = {"attacks", "soak", "mutants", "support", "fuzz", "differential"}
"""Folders that measure, or whose code is not a test."""

CLOCKS = {
    ("time", name)
    for name in ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns")
}
SLEEPS = {("time", "sleep"), ("asyncio", "sleep"), ("anyio", "sleep")}
LIMITS = {
    "timeout_ms": 1_000,
    "limit_ms": 1_000,
    "timeout": 1,
    "within": 1,
    "within_seconds": 1,
    "timeout_seconds": 1,
}
"""Arguments that limit a wait, also as the end of a longer name -> the least value that a busy machine keeps."""
EXPECTING = {"raises", "suppress"}
SUSPECT = re.compile(
    rf"\.(?:time|sleep|{'|'.join(name for _, name in sorted(CLOCKS))})\(|(?:{'|'.join(LIMITS)}) ?="
)
"""Any text that is looked for has a part like this: most files have none and need not be parsed."""

ALLOWED = {
    # Every connection that it tries fails at its limit.
    "unit/remoting/test_client.py::test_a_connection_that_is_not_made_in_time_fails",
    # Nothing happens then, whatever the machine does: the opposite of a limit.
    "unit/http/test_console_process.py::test_it_is_ended_when_nobody_has_asked_for_a_while",
}


def name_of(node: ast.expr) -> tuple[str, str] | None:
    """`(module, function)` of a call such as `time.monotonic()`."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
    ):
        return node.func.value.id, node.func.attr
    return None


def is_clock(node: ast.AST) -> bool:
    """Whether a real clock is read, also that of a loop: `asyncio.get_running_loop().time()`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    is_loop = isinstance(owner, ast.Name) and owner.id == "loop"
    is_loop |= isinstance(owner, ast.Call) and getattr(owner.func, "attr", "").endswith("_loop")
    return name_of(node) in CLOCKS or (node.func.attr == "time" and is_loop)


def depends(node: ast.AST, clocked: set[str]) -> bool:
    return any(
        is_clock(inner) or (isinstance(inner, ast.Name) and inner.id in clocked) for inner in ast.walk(node)
    )


def compares(node: ast.expr, clocked: set[str]) -> bool:
    """Whether a value of a clock is less or more than something; that it grew is no limit."""
    limits = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return any(
        isinstance(inner, ast.Compare)
        and any(isinstance(each, limits) for each in inner.ops)
        and depends(inner, clocked)
        for inner in ast.walk(node)
    )


def timed_assertions(function: ast.AST) -> Iterator[int]:
    clocked: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and depends(node.value, clocked):
            clocked |= {
                name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
    yield from (
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and compares(node.test, clocked)
    )


def is_sleep(statement: ast.stmt) -> bool:
    """Whether a statement only sleeps for real; a sleep of 0 is a turn of the loop."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    value = value.value if isinstance(value, ast.Await) else value
    if value is None or name_of(value) not in SLEEPS:
        return False
    assert isinstance(value, ast.Call)
    return not (isinstance(value.args[0], ast.Constant) and value.args[0].value == 0)


def asserted_sleeps(function: ast.AST) -> Iterator[int]:
    for node in ast.walk(function):
        for block in (getattr(node, name, []) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list):
                yield from (
                    first.lineno
                    for first, second in pairwise(block)
                    if is_sleep(first) and isinstance(second, ast.Assert)
                )


def short_limits(node: ast.AST) -> Iterator[int]:
    """Lines with a limit that a busy machine may not keep, outside what expects that it passes."""
    if isinstance(node, ast.With | ast.AsyncWith):
        names = {getattr(getattr(item.context_expr, "func", None), "attr", "") for item in node.items}
        if names & EXPECTING:
            return
    if isinstance(node, ast.Call):
        for argument in node.keywords:
            least = max(
                (
                    value
                    for name, value in LIMITS.items()
                    if argument.arg and (argument.arg == name or argument.arg.endswith(f"_{name}"))
                ),
                default=0,
            )
            value = argument.value.value if isinstance(argument.value, ast.Constant) else None
            if isinstance(value, int | float) and 0 < value < least:
                yield node.lineno
    for inner in ast.iter_child_nodes(node):
        yield from short_limits(inner)


def is_virtual(function: ast.AST) -> bool:
    return any(map(names_virtual_time, getattr(function, "decorator_list", [])))


def is_all_virtual(module: ast.Module) -> bool:
    """Whether the module marks all of its tests: `pytestmark = virtual_time`."""
    return any(
        isinstance(each, ast.Assign)
        and [getattr(target, "id", "") for target in each.targets] == ["pytestmark"]
        and names_virtual_time(each.value)
        for each in module.body
    )


def names_virtual_time(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "virtual_time"


def found_in(source: str) -> list[str]:
    """The tests of a file that depend on real time, each with the line."""
    found: list[str] = []
    if not SUSPECT.search(source):
        return found
    module = ast.parse(source)
    if is_all_virtual(module):
        return found
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_virtual(node):
            lines = [*timed_assertions(node), *asserted_sleeps(node)]
            if node.name.startswith("test_") and isinstance(node, ast.AsyncFunctionDef):
                lines += short_limits(node)
            found += [f"{node.name}:{line}" for line in lines]
    return found


def test_no_test_depends_on_real_time():
    found = [
        f"{path.relative_to(TESTS)}::{place}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).parts[0] not in NOT_TESTED and path != Path(__file__)
        for place in found_in(path.read_text())
    ]
    assert [each for each in found if each.rpartition(":")[0] not in ALLOWED] == []
    assert {each.rpartition(":")[0] for each in found} >= ALLOWED


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("begun = time.monotonic()\n    work()\n    assert time.monotonic() - begun < 5", 1),
        ("begun = time.perf_counter()\n    took = time.perf_counter() - begun\n    assert took <= LIMIT", 1),
        ("begun = loop.time()\n    assert asyncio.get_running_loop().time() - begun > 1", 1),
        ("time.sleep(0.1)\n    assert is_done()", 1),
        ("await asyncio.sleep(PAUSE)\n    assert is_done()", 1),
        ("await client.ask(timeout_ms=60)", 1),
        ("await eventually(fact, within_seconds=0.06)", 1),
        ("registrar(client, register_broker_timeout_ms=20)", 1),
        ("assert clock.monotonic() - begun < 5", 0),
        ("await asyncio.sleep(0)\n    assert is_done()", 0),
        ("await world.sleep(9)\n    assert is_done()", 0),
        ("time.sleep(0.1)\n    work()", 0),
        ("with pytest.raises(TimeoutError):\n        await client.ask(timeout_ms=60)", 0),
        ("await client.ask(timeout_ms=60_000)", 0),
        ("clock = time.time()\n    assert clock == clock", 0),
    ],
)  # fmt: skip
def test_each_kind_is_found(body, count):
    assert len(found_in(f"async def test_it():\n    {body}\n")) == count
    assert found_in(f"@virtual_time\nasync def test_it():\n    {body}\n") == []
    assert found_in(f"pytestmark = virtual_time\nasync def test_it():\n    {body}\n") == []
