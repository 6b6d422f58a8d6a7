"""Every test asserts something: one that only runs code passes whatever that code answers.

What counts as an assertion: an `assert`, `pytest.raises`, `pytest.warns`, `pytest.fail`, an `assert_...` method of a
mock, or a call of a helper of the tests that is named `assert_...` or `check_...`, `eventually` or `until`. That these
helpers can fail is a rule, too.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.documents.statements import statements

TESTS = Path(__file__).parent

OF_PYTEST = {"raises", "warns", "fail"}
WAITING = {"eventually", "until"}
"""They fail when what they wait for does not come true in time."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions(path: Path) -> tuple[Function, ...]:
    """Every function and method of a file, nested ones included."""
    return tuple(node for node in statements(ast.parse(path.read_text())) if isinstance(node, Function))


@cache
def helpers() -> dict[str, tuple[Function, ...]]:
    """Functions of the tests whose name says that they assert: name -> those of the name."""
    found: dict[str, tuple[Function, ...]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for function in functions(path):
            if function.name in WAITING or function.name.startswith(("assert_", "check_")):
                found[function.name] = (*found.get(function.name, ()), function)
    return found


def called(node: ast.AST) -> Iterator[str]:
    """Names of what is called anywhere inside; of a method its own name."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            function = inner.func
            if isinstance(function, ast.Name):
                yield function.id
            elif isinstance(function, ast.Attribute):
                yield function.attr


def asserts(node: ast.AST) -> bool:
    """Whether something inside can make a test fail because a value is not the expected one."""
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node)) or any(
        name in OF_PYTEST or name.startswith("assert_") or name in helpers() for name in called(node)
    )


def can_fail(node: ast.AST) -> bool:
    """Whether it asserts, raises by itself or has a time limit."""
    raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    return asserts(node) or raises or "timeout" in called(node)


def test_every_test_asserts_something():
    silent = [
        f"{path.relative_to(TESTS)}::{function.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for function in functions(path)
        if function.name.startswith("test_") and not asserts(function)
    ]
    assert silent == []


def test_a_helper_that_is_named_as_an_assertion_can_fail():
    tame = [name for name, found in helpers().items() for function in found if not can_fail(function)]
    assert tame == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert x", True),
        ("with pytest.raises(ValueError): x()", True),
        ("mock.assert_called_once()", True),
        ("await eventually(lambda: x)", True),
        ("x()", False),
        ("check_crc32(x)", False),  # a function of the sources, not a helper of the tests
    ],
)
def test_what_counts_as_an_assertion(body, expected):
    assert asserts(ast.parse(f"async def test_it():\n    {body}")) is expected
